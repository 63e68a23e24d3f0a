# SPDX-License-Identifier: Apache-2.0
"""Weights as other packages hold them: read by NumPy from what is documented, and by the packages where they are.

PackagesReadThem needs torch and compressed-tensors; sparse-24-bitmask and marlin-24 are in its versions up to 0.14.
"""
import importlib
import json
import pathlib
import struct
import tempfile
import unittest

import numpy as np
import sptcsim

TYPES = {"F16": "f2", "F32": "f4", "I8": "i1", "U8": "u1", "I16": "i2", "I32": "i4", "I64": "i8", "U16": "u2", "U32": "u4",
         "F8_E4M3": "u1"}
ROWS, K = 128, 512


def write_safetensors(path, tensors):
    """tensors: arrays by name, or pairs of a type and an array."""
    header, data = {}, b""
    for name, value in tensors.items():
        dtype, array = value if isinstance(value, tuple) else (None, value)
        dtype = dtype or next(key for key, code in TYPES.items() if np.dtype(code) == array.dtype)
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(raw[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


class Checkpoint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = np.random.default_rng(11)
        self.codes = self.sparse(self.random.integers(-8, 8, (ROWS, K)).astype("i1"))
        self.scale = self.random.uniform(0.01, 0.1, (ROWS, K // 128)).astype("f2")

    def sparse(self, dense):
        """Two of each four, a few groups with fewer."""
        keep = np.argsort(self.random.random((dense.size // 4, 4)), axis=1) < 2
        return np.where(keep.reshape(dense.shape), dense, 0).astype(dense.dtype)

    def half(self):
        return self.sparse(self.random.standard_normal((ROWS, K)).astype("f2"))

    def convert(self, layout, tensors, **options):
        write_safetensors(self.folder / "in.safetensors", tensors)
        sptcsim.convert_model(self.folder / "in.safetensors", self.folder / "out.safetensors", layout, **options)
        return read_safetensors(self.folder / "out.safetensors")

    def quantised(self, layout, dtype):
        return self.convert(layout, {"fc.weight": self.codes, "fc.weight_scale": self.scale}, dtype=dtype)


def cute_offset(coordinate, modes):
    """Of a layout of CuTe: modes are (extent, stride), the first coordinate the fastest."""
    offset = 0
    for extent, stride in modes:
        offset += coordinate % extent * stride
        coordinate //= extent
    return offset


class WordsThatAreDocumented(Checkpoint):
    def test_a_bitmask(self):
        dense = self.half()
        out = self.convert("sparse-24-bitmask", {"fc.weight": dense})
        mask = np.unpackbits(out["fc.bitmask"], axis=1, count=K, bitorder="little").astype(bool)
        read = np.zeros_like(dense)
        read[mask] = out["fc.compressed"].ravel()
        np.testing.assert_array_equal(read, dense)
        self.assertEqual(out["fc.shape"].tolist(), [[ROWS], [K]])
        self.assertEqual(set(mask.reshape(-1, 4).sum(1)), {2})

    def test_packed_integers(self):
        for dtype, bits in (("s4", 4), (None, 8)):
            out = self.quantised("pack-quantized", dtype)
            words = out["fc.weight_packed"].view("u4")
            codes = np.stack([words >> (bits * i) & (2**bits - 1) for i in range(32 // bits)], -1).reshape(ROWS, -1)
            np.testing.assert_array_equal(codes.astype("i4") - 2**(bits - 1), self.codes)
            self.assertEqual(out["fc.weight_shape"].tolist(), [ROWS, K])
            np.testing.assert_array_equal(out["fc.weight_scale"], self.scale)

    def test_metadata_of_cutlass_3(self):
        """TensorEAtom of sm90_sparse_config.inl for f16 and tiles of 128, as its strides say."""
        out = self.convert("cutlass-sm90", {"fc.weight": self.half()})
        mask = np.zeros((ROWS, K), bool)
        metadata = out["fc.weight.metadata"].ravel()
        for row in range(ROWS):
            for group in range(K // 4):
                offset = (cute_offset(row % 64, [(8, 128), (2, 16), (4, 2048)]) + row // 64 * 64 * 128 +
                          cute_offset(4 * group % 128, [(16, 1), (2, 1024), (4, 32)]) + 4 * group // 128 * ROWS * 128)
                nibble = int(metadata[offset // 8]) >> (offset % 8)  # four bits for four columns
                mask[row, 4 * group + (nibble & 3)] = mask[row, 4 * group + (nibble >> 2 & 3)] = True
        read = np.zeros((ROWS, K), "f2")
        read[mask] = out["fc.weight.values"].ravel()
        np.testing.assert_array_equal(read, read_safetensors(self.folder / "in.safetensors")["fc.weight"])

    def test_four_bit_floats(self):
        packed = self.random.integers(0, 256, (ROWS, K // 2)).astype("u1")
        packed.reshape(-1, 4)[:, 2:] = 0  # pairs of columns, two of four
        packed[packed & 0x77 == 0] = 0
        packed = np.where(packed & 0x07 == 0, packed & 0xF0, packed)
        packed = np.where(packed & 0x70 == 0, packed & 0x0F, packed).astype("u1")  # no zeros with a sign
        tensors = {"fc.weight_packed": packed, "fc.weight_scale": ("F8_E4M3", np.full((ROWS, K // 16), 0x38, "u1")),
                   "fc.weight_global_scale": np.array([8], "f4")}
        out = self.convert("canonical", tensors)
        self.assertEqual(out["fc.weight.values"].shape, (ROWS, K // 2))
        sptcsim.convert_model(self.folder / "out.safetensors", self.folder / "back.safetensors", "nvfp4-pack-quantized")
        np.testing.assert_array_equal(read_safetensors(self.folder / "back.safetensors")["fc.weight_packed"], packed)


def functions_of(*places):
    """The functions "module:name" of compressed-tensors, from the first place that has them; None where none has."""
    for place in places:
        module, names = place.split(":")
        try:
            found = importlib.import_module("compressed_tensors." + module)
            return [getattr(found, name) for name in names.split(",")]
        except (ImportError, AttributeError):
            continue
    return None


class PackagesReadThem(Checkpoint):
    def setUp(self):
        super().setUp()
        try:
            import compressed_tensors  # noqa: F401
            import torch
        except ImportError as error:
            self.skipTest(str(error))
        self.torch = torch

    def functions(self, *places):
        found = functions_of(*places)
        if found is None:
            self.skipTest("this compressed-tensors has no such format")
        return found

    def tensor(self, array):
        return self.torch.from_numpy(array.copy())

    def test_sparse_24_bitmask(self):
        compress, decompress = self.functions(
            "compressors.sparse_compressors.sparse_24_bitmask:sparse24_bitmask_compress,sparse24_bitmask_decompress")
        dense = self.half()
        out = self.convert("sparse-24-bitmask", {"fc.weight": dense})
        read = decompress(self.tensor(out["fc.compressed"]), self.tensor(out["fc.bitmask"]), out["fc.shape"].ravel().tolist())
        np.testing.assert_array_equal(read.numpy(), dense)
        full = np.where(dense.reshape(-1, 4).astype(bool).sum(1, keepdims=True) == 2, dense.reshape(-1, 4), [1, 2, 0, 0])
        full = full.reshape(dense.shape).astype("f2")
        values, mask = compress(self.tensor(full))
        out = self.convert("sparse-24-bitmask", {"fc.weight": full})
        np.testing.assert_array_equal(out["fc.compressed"], values.numpy())
        np.testing.assert_array_equal(out["fc.bitmask"], mask.numpy())
        packed = {"fc.compressed": values.numpy(), "fc.bitmask": mask.numpy(), "fc.shape": np.array([[ROWS], [K]])}
        np.testing.assert_array_equal(self.convert("dense", packed)["fc.weight"], full)

    def test_pack_quantized(self):
        pack, unpack = self.functions(
            "compressors.pack_quantized.helpers:pack_to_int32,unpack_from_int32",
            "compressors.quantized_compressors.pack_quantized:pack_to_int32,unpack_from_int32")
        for dtype, bits in (("s4", 4), (None, 8)):
            out = self.quantised("pack-quantized", dtype)
            np.testing.assert_array_equal(out["fc.weight_packed"], pack(self.tensor(self.codes), bits).numpy())
            read = unpack(self.tensor(out["fc.weight_packed"]), bits, self.torch.Size(out["fc.weight_shape"].tolist()))
            np.testing.assert_array_equal(read.numpy(), self.codes)

    def test_marlin_24(self):
        compress, pack, pack_scales = self.functions(
            "compressors.sparse_quantized_compressors.marlin_24:compress_weight_24,pack_weight_24,pack_scales_24")
        from compressed_tensors.quantization import QuantizationArgs
        for dtype, bits in (("s4", 4), (None, 8)):
            args = QuantizationArgs(num_bits=bits, strategy="group", group_size=128)
            values, meta = compress(self.tensor(self.codes.astype("f2")))
            values = values.t().contiguous()
            scale = pack_scales(self.tensor(self.scale).t().contiguous(), args, values.shape)
            values = pack(values + 2**(bits - 1), args)
            meta = meta.resize_(meta.shape[1] // 2, meta.shape[0] * 2)
            out = self.quantised("marlin-24", dtype)
            np.testing.assert_array_equal(out["fc.weight_packed"], values.numpy())
            np.testing.assert_array_equal(out["fc.meta"], meta.numpy())
            np.testing.assert_array_equal(out["fc.scale_packed"], scale.numpy())
            packed = {"fc.weight_packed": values.numpy(), "fc.meta": meta.numpy(), "fc.scale_packed": scale.numpy()}
            back = self.convert("int-quantized", packed)
            np.testing.assert_array_equal(back["fc.weight"], self.codes)
            np.testing.assert_array_equal(back["fc.weight_scale"], self.scale)

    def test_nvfp4(self):
        unpack, = self.functions("compressors.nvfp4.helpers:unpack_fp4_from_uint8",
                                 "compressors.quantized_compressors.nvfp4_quantized:unpack_fp4_from_uint8")
        packed = np.tile(np.array([0x21, 0x93, 0, 0], "u1"), (ROWS, K // 8))
        tensors = {"fc.weight_packed": packed, "fc.weight_scale": ("F8_E4M3", np.full((ROWS, K // 16), 0x38, "u1")),
                   "fc.weight_global_scale": np.array([8], "f4")}
        values = self.convert("canonical", tensors)["fc.weight.values"]
        numbers = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
        read = unpack(self.tensor(packed), ROWS, K, self.torch.float32).numpy()
        np.testing.assert_array_equal(numbers[values].reshape(ROWS, -1, 4), read.reshape(ROWS, -1, 8)[:, :, :4])

    def test_torch_reads_its_layout(self):
        try:
            from torch.sparse._semi_structured_conversions import sparse_semi_structured_to_dense_cutlass
        except ImportError as error:
            self.skipTest(str(error))
        for dense in (self.half(), self.codes):
            out = self.convert("pytorch", {"fc.weight": dense})
            read = sparse_semi_structured_to_dense_cutlass(self.tensor(out["fc.weight.values"]),
                                                           self.tensor(out["fc.weight.metadata"]))
            np.testing.assert_array_equal(read.numpy(), dense)


if __name__ == "__main__":
    unittest.main()
