# SPDX-License-Identifier: Apache-2.0
"""Models in files against NumPy: what is kept, where it stands, and that permuted channels leave the function alone."""
import json
import pathlib
import struct
import sys
import tempfile
import unittest

import numpy as np
import sptcsim

DATA = pathlib.Path(__file__).parent / "data"
sys.path.insert(0, str(DATA))
from pytorch_metadata import dense_matrix

TYPES = {"F16": "f2", "I8": "i1", "F32": "f4", "U16": "u2", "U32": "u4", "I16": "i2", "I32": "i4", "BOOL": "?"}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, array in tensors.items():
        dtype = next(key for key, value in TYPES.items() if np.dtype(value) == array.dtype)
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(raw[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def two_of_four(a):
    """NumPy's own: the two largest of four, of equals the first."""
    groups = a.reshape(-1, 4)
    rank = np.argsort(np.argsort(-np.abs(groups.astype("f8")), axis=1, kind="stable"), axis=1)
    return np.where(rank < 2, groups, 0).reshape(a.shape)


class Models(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = np.random.default_rng(7)

    def weights(self, *shape):
        return self.random.standard_normal(shape).astype("f4")

    def model(self, **tensors):
        path = self.folder / "model.safetensors"
        write_safetensors(path, tensors)
        return path

    def test_dense_weights_masks_and_the_rest(self):
        a, bias = self.weights(32, 64).astype("f2"), self.weights(32)
        report = sptcsim.prune_model(self.model(a=a, b=bias), self.folder / "o.safetensors", masks=self.folder / "m.safetensors")
        out = read_safetensors(self.folder / "o.safetensors")
        np.testing.assert_array_equal(out["a"], two_of_four(a))
        np.testing.assert_array_equal(out["b"], bias)
        np.testing.assert_array_equal(read_safetensors(self.folder / "m.safetensors")["a"], two_of_four(a) != 0)
        exact = a.astype("f8")
        self.assertAlmostEqual(report.layers[0].energy_kept, (two_of_four(exact)**2).sum() / (exact**2).sum(), places=6)

    def test_filters_are_pruned_along_their_channels(self):
        w = self.weights(4, 8, 3, 3)
        np.savez(self.folder / "w.npz", w=w)
        sptcsim.prune_model(self.folder / "w.npz", self.folder / "o.npz")
        channels_last = np.ascontiguousarray(w.transpose(0, 2, 3, 1))
        np.testing.assert_array_equal(np.load(self.folder / "o.npz")["w"].transpose(0, 2, 3, 1), two_of_four(channels_last))

    def test_transposed_weights_are_pruned_along_their_first_axis(self):
        w = self.weights(64, 32)
        sptcsim.prune_model(self.model(w=w), self.folder / "o.safetensors", transposed="w")
        np.testing.assert_array_equal(read_safetensors(self.folder / "o.safetensors")["w"].T, two_of_four(np.ascontiguousarray(w.T)))

    def test_layouts_are_those_of_compress(self):
        a = self.weights(64, 128).astype("f2")
        compressed = sptcsim.compress(two_of_four(a))
        for layout in ("canonical", "cutlass", "ptx", "marlin"):
            sptcsim.prune_model(self.model(a=a), self.folder / "o.safetensors", layout=layout)
            out = read_safetensors(self.folder / "o.safetensors")
            expected = compressed.metadata(layout, instruction_k=32 if layout == "ptx" else None)
            np.testing.assert_array_equal(out["a.values"], compressed.values)
            np.testing.assert_array_equal(out["a.metadata"], expected.words, layout)

    def test_pytorchs_layouts_are_the_words_that_it_makes_itself(self):
        """Groups that lack elements included, where the old encoder and the new one differ."""
        document = json.loads((DATA / "pytorch_metadata.json").read_text())
        lacking = 0
        for row in document["matrices"]:
            if row["torch"].startswith("torchao"):
                continue
            dense = dense_matrix(row["dtype"], row["m"], row["k"], row["missing"])
            layout = "pytorch-old" if row["torch"] == "2.1.2" else "pytorch"
            dtype = "tf32" if row["dtype"] == "float32" else None
            sptcsim.convert_model(self.model(a=dense), self.folder / "o.safetensors", layout, dtype=dtype)
            out = read_safetensors(self.folder / "o.safetensors")
            words = out["a.metadata"]
            self.assertEqual(words.view(f"u{words.itemsize}").ravel().tolist(), row["metadata"], row["torch"])
            if row["missing"]:
                self.assertEqual(out["a.values"].astype(int).ravel().tolist(), row["values"], row["torch"])
                lacking += 1
        self.assertGreater(lacking, 1)

    def test_conversion_goes_round(self):
        a = two_of_four(self.weights(64, 128).astype("f2"))
        path, first = self.model(a=a), self.folder / "0.safetensors"
        sptcsim.convert_model(path, first, "pytorch-old")
        for index, layout in enumerate(("marlin", "ptx", "pytorch", "cutlass", "canonical", "dense")):
            sptcsim.convert_model(self.folder / f"{index}.safetensors", self.folder / f"{index + 1}.safetensors", layout)
        np.testing.assert_array_equal(read_safetensors(self.folder / "6.safetensors")["a"], a)

    def test_dense_weights_without_the_pattern_are_not_converted(self):
        with self.assertRaisesRegex(sptcsim.InputError, "row 0, group 0"):
            sptcsim.convert_model(self.model(a=self.weights(64, 128).astype("f2")), self.folder / "o.safetensors", "cutlass")
        self.assertFalse((self.folder / "o.safetensors").exists())

    def test_arguments_of_the_wrong_kind_are_refused(self):
        with self.assertRaisesRegex(sptcsim.InputError, "permute must be a word or a list of words, not int"):
            sptcsim.prune_model(self.model(a=self.weights(64, 128)), permute=3)
        with self.assertRaisesRegex(sptcsim.InputError, r"a: the shape \[0, 16\] has no element"):
            sptcsim.permutation_search(np.ones((0, 16)))

    def test_permuted_channels_leave_the_function_alone(self):
        """With 2:4 weights that an order of channels has hidden, nothing need be lost: the function stays exactly."""
        hidden = self.random.permutation(64)
        w1, b1 = self.weights(64, 32), self.weights(64)
        w2 = np.zeros((48, 64), "f4")
        w2[:, hidden] = two_of_four(self.weights(48, 64))
        path = self.model(w1=w1, b1=b1, w2=w2)
        report = sptcsim.prune_model(path, self.folder / "o.safetensors", layers="w2", permute="w1,b1=w2")
        out = read_safetensors(self.folder / "o.safetensors")
        layer = report.layers[0]
        self.assertTrue(layer.permutation.applied)
        self.assertGreater(layer.permutation.magnitude_after, layer.permutation.magnitude_before)
        order = [int(np.flatnonzero((w1 == row).all(1))[0]) for row in out["w1"]]
        self.assertEqual(sorted(order), list(range(64)))
        np.testing.assert_array_equal(out["b1"], b1[order])
        np.testing.assert_array_equal(out["w2"], two_of_four(np.ascontiguousarray(w2[:, order])))

    def test_calibrated_criteria_lose_less_of_the_output(self):
        w = self.weights(64, 128)
        mixing = np.eye(128) + 0.3 * self.random.standard_normal((128, 128))
        x = (self.random.standard_normal((512, 128)) @ mixing * np.exp(self.random.standard_normal(128))).astype("f4")
        write_safetensors(self.folder / "x.safetensors", {"w": x})
        errors = {}
        for criterion in ("magnitude", "wanda", "sparsegpt"):
            report = sptcsim.prune_model(self.model(**{"w.weight": w}), self.folder / "o.safetensors", criterion=criterion,
                                         activations=self.folder / "x.safetensors")
            out = read_safetensors(self.folder / "o.safetensors")["w.weight"]
            self.assertLessEqual(np.count_nonzero(out.reshape(-1, 4), axis=1).max(), 2)
            exact = np.linalg.norm(x @ (w - out).T.astype("f8")) / np.linalg.norm(x @ w.T.astype("f8"))
            errors[criterion] = report.layers[0].output_error
            self.assertAlmostEqual(errors[criterion], exact, places=5)
        self.assertLess(errors["wanda"], errors["magnitude"])
        self.assertLess(errors["sparsegpt"], errors["wanda"])

    def test_wanda_weighs_with_the_norms_of_inputs(self):
        w, x = self.weights(16, 32), self.weights(50, 32)
        write_safetensors(self.folder / "x.safetensors", {"w": x})
        sptcsim.prune_model(self.model(w=w), self.folder / "o.safetensors", criterion="wanda", activations=self.folder / "x.safetensors")
        norms = np.linalg.norm(x.astype("f8"), axis=0).astype("f4")
        kept = two_of_four(np.abs(w) * norms) != 0
        np.testing.assert_array_equal(read_safetensors(self.folder / "o.safetensors")["w"], np.where(kept, w, 0))


class Search(unittest.TestCase):
    def test_an_order_that_loses_nothing_is_found(self):
        random = np.random.default_rng(3)
        a = two_of_four(random.standard_normal((64, 64)).astype("f4"))[:, random.permutation(64)]
        order = sptcsim.permutation_search(a)
        self.assertEqual(sorted(order), list(range(64)))
        kept = np.abs(two_of_four(np.ascontiguousarray(a[:, order]))).sum() / np.abs(a).sum()
        self.assertGreater(kept, np.abs(two_of_four(a)).sum() / np.abs(a).sum() + 0.05)

    def test_a_seed_gives_one_order(self):
        a = np.random.default_rng(1).standard_normal((32, 128))
        np.testing.assert_array_equal(sptcsim.permutation_search(a, seed=5), sptcsim.permutation_search(a, seed=5))


if __name__ == "__main__":
    unittest.main()
