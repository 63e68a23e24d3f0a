# SPDX-License-Identifier: Apache-2.0
"""mma, matmul, identify, step_rules and crosscheck return what the C++ functions return, bit for bit."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import numpy as np
import sptcsim
from model_pruning_test import write_safetensors
from sptcsim._arrays import as_tf32

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

TRACES = pathlib.Path(__file__).parent.parent.parent / "traces"
GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "numerics"
DENSE = "m16n8k16.f32.f16.f16.f32"


def operands(m, k, n, dtype=np.float16, seed=1):
    random = np.random.default_rng(seed)
    return random.standard_normal((m, k)).astype(dtype), random.standard_normal((k, n)).astype(dtype)


def raw(array):
    return array.view(f"u{array.itemsize}")


class Mma(unittest.TestCase):
    def golden(self, architecture, arch, suffix, profile):
        files = sorted((GOLDEN / architecture).glob("mma.*.A.npy"))
        self.assertTrue(files)
        seen = 0
        for file in files:
            name = file.name.removesuffix(".A.npy")
            a, b, c, d = (raw(np.load(file.with_name(f"{name}.{x}.npy"))) for x in "ABCD")
            if a.ndim != 3 or not name.endswith(suffix):
                continue
            ours = sptcsim.mma(name.removeprefix("mma."), a, b, c, arch=arch, profile=profile)
            np.testing.assert_array_equal(raw(ours), d, name)
            seen += d.size
        return seen

    def test_words_of_mma_sim_on_ampere_come_out(self):
        self.assertGreater(self.golden("Ampere", "sm_80", ".f16.f16.f32", "mma-sim"), 1000)

    def test_words_of_the_program_come_out_for_a_sparse_instruction(self):
        a, b = operands(16, 32, 8)
        compressed = sptcsim.compress(sptcsim.prune(a))
        name = "mma.sp.m16n8k32.f32.f16.f16.f32"
        ours = sptcsim.mma(name, compressed.values, b, metadata=compressed.metadata())
        with tempfile.TemporaryDirectory() as directory:
            def path(stem):
                return os.path.join(directory, stem + ".npy")
            np.save(path("a"), raw(compressed.values)[None])
            np.save(path("b"), raw(b)[None])
            np.save(path("e"), compressed.metadata().words[None])
            subprocess.run([os.environ["SPTCSIM"], "mma", "--arch", "A100", "--instruction", name, "--a", path("a"), "--b",
                            path("b"), "--metadata", path("e"), "--out", path("d")], check=True)
            np.testing.assert_array_equal(raw(ours)[None], np.load(path("d")))

    def test_block_scaled_instructions_take_scales(self):
        name = "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.f32.e2m1.e2m1.f32.ue4m3"
        (row,) = [row for row in sptcsim.instructions("sm_120") if row.scale_type == "ue4m3" and not row.sparse]
        self.assertEqual((row.block_scaled, row.scale_block, row.rules.scaled_window), (True, 16, "mma-sim"))
        ones = np.full((16, 64), 0x2, np.uint8), np.full((64, 8), 0x2, np.uint8)
        scales = np.full((16, 4), 0x38, np.uint8), np.full((4, 8), 0x40, np.uint8)  # 1 and 2
        d = sptcsim.mma(name, *ones, arch="sm_120", a_scales=scales[0], b_scales=scales[1])
        np.testing.assert_array_equal(d, np.full((16, 8), 128, np.float32))
        if ml_dtypes is not None:
            typed = [scale.view(ml_dtypes.float8_e4m3fn) for scale in scales]
            np.testing.assert_array_equal(
                sptcsim.mma(name, *ones, arch="sm_120", a_scales=typed[0], b_scales=typed[1]), d)
        with self.assertRaisesRegex(sptcsim.InputError, "needs scales of A and B"):
            sptcsim.mma(name, *ones, arch="sm_120")
        with self.assertRaisesRegex(sptcsim.InputError, r"the scales of A must be \[1, 16, 4\]"):
            sptcsim.mma(name, *ones, arch="sm_120", a_scales=scales[0][:, :2], b_scales=scales[1])

    def test_metadata_means_the_same_in_every_layout(self):
        a, b = operands(16, 32, 8)
        compressed = sptcsim.compress(sptcsim.prune(a))
        name = "mma.sp.m16n8k32.f32.f16.f16.f32"
        expected = sptcsim.mma(name, compressed.values, b, metadata=compressed.metadata())
        lanes = compressed.metadata("ptx", instruction_k=32, selector=1)
        np.testing.assert_array_equal(sptcsim.mma(name, compressed.values, b, metadata=lanes), expected)
        np.testing.assert_array_equal(
            sptcsim.mma(name, compressed.values, b, metadata=lanes.words, layout="lanes", selector=1), expected)

    def test_both_spellings_of_a_sparse_instruction(self):
        a, b = operands(16, 32, 8)
        compressed = sptcsim.compress(sptcsim.prune(a))
        rest = ".m16n8k32.f32.f16.f16.f32"
        plain, ordered = "mma.sp" + rest, "mma.sp::ordered_metadata" + rest
        expected = sptcsim.mma(plain, compressed, b, arch="sm_120")
        np.testing.assert_array_equal(sptcsim.mma(ordered, compressed, b, arch="sm_120"), expected)
        places = np.tile(np.arange(16, dtype=np.uint32) // 2 * 4 + np.arange(16, dtype=np.uint32) % 2, (16, 1))
        places[3, :2] = 2, 1
        sptcsim.mma(plain, compressed.values, b, metadata=places, layout="indices")
        with self.assertRaisesRegex(sptcsim.InputError, "row 3: the indices 2 and 1 of a group do not rise"):
            sptcsim.mma(ordered, compressed.values, b, metadata=places, layout="indices")

    def test_what_compress_returns_is_a_sparse_a(self):
        a, b = operands(16, 32, 8)
        compressed = sptcsim.compress(sptcsim.prune(a))
        name = "mma.sp.m16n8k32.f32.f16.f16.f32"
        expected = sptcsim.mma(name, compressed.values, b, metadata=compressed.metadata())
        np.testing.assert_array_equal(sptcsim.mma(name, compressed, b), expected)
        np.testing.assert_array_equal(sptcsim.matmul(compressed, b, sparse=True), expected)
        self.assertTrue(sptcsim.identify(compressed, b, None, expected).matches)
        for given in (compressed, {"array": compressed}, {"array": compressed, "order": "row"}):
            self.assertTrue(sptcsim.crosscheck({"a": given, "b": b, "d": expected}).bit_exact)
        with self.assertRaisesRegex(sptcsim.InputError, "a dense instruction takes no metadata"):
            sptcsim.crosscheck({"a": compressed, "b": b, "d": expected, "sparse": False})

    def test_the_operand_that_is_wrong_is_named(self):
        a, b = operands(16, 32, 8)
        name = "mma.sp.m16n8k32.f32.f16.f16.f32"
        compressed = sptcsim.compress(sptcsim.prune(a))
        for call, sentence in (
                (lambda: sptcsim.mma(name, a, b, metadata=compressed.metadata()), r"^A: .* give compress\(A\)"),
                (lambda: sptcsim.mma(name, a, b), r"^A: .* give compress\(A\)"),
                (lambda: sptcsim.mma(DENSE, a[:, :8], b[:16]), "^A: .* takes all 16 elements of a row of A, not 8"),
                (lambda: sptcsim.mma(DENSE, compressed, b), r"^A is Compressed, .* give decompress\(A\)"),
                (lambda: sptcsim.matmul(compressed, b), "^A is Compressed: sparse=True runs it")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                call()

    def test_a_matrix_is_a_batch_of_one(self):
        a, b = operands(16, 16, 8)
        np.testing.assert_array_equal(sptcsim.mma(DENSE, a[None], b[None])[0], sptcsim.mma(DENSE, a, b))

    def test_the_step_of_ampere_adds_eight_products(self):
        rules = sptcsim.step_rules(DENSE, arch="A100")
        self.assertEqual((rules.products_per_step, rules.fraction_bits, rules.rounding), (8, 24, "toward-zero"))
        self.assertEqual(sptcsim.step_rules(DENSE, arch="sm_90").products_per_step, 16)

    def test_an_unknown_shape_names_the_near_ones(self):
        with self.assertRaisesRegex(sptcsim.InputError, "sm_80 has no .*m16n8k15.*near ones"):
            sptcsim.step_rules("m16n8k15.f32.f16.f16.f32")


class Identify(unittest.TestCase):
    def test_the_instruction_that_made_d_is_among_the_matches(self):
        a, b = operands(16, 16, 8)
        found = sptcsim.identify(a, b, None, sptcsim.mma(DENSE, a, b, arch="H100"))
        self.assertEqual(found.elements, 128)
        self.assertIn("hopper", [match.arch for match in found.matches])
        self.assertNotIn("volta", [match.arch for match in found.matches])


class Conversion(unittest.TestCase):
    def test_float32_becomes_tf32_as_cvt_rna_does(self):
        for word, expected in ((0x3F801000, 0x3F802000), (0xBF801000, 0xBF802000), (0x3F803000, 0x3F804000),
                               (0x3F800FFF, 0x3F800000), (0x3FFFF000, 0x40000000), (0x00001000, 0x00002000),
                               (0x7F7FF000, 0x7F800000), (0xFF800000, 0xFF800000), (0x7F800001, 0x7FFFFFFF),
                               (0xFFFFFFFF, 0x7FFFFFFF), (0x80000000, 0x80000000)):
            array = np.array([[word]], np.uint32).view(np.float32)
            self.assertEqual(int(raw(as_tf32(array))[0, 0]), expected, hex(word))


class Matmul(unittest.TestCase):
    def test_a_gemm_of_one_instruction_is_the_instruction(self):
        for dtype, name in ((np.float16, DENSE), (np.float32, "m16n8k8.f32.tf32.tf32.f32"),
                            (np.int8, "m16n8k32.s32.s8.s8.s32")):
            k = int(name.split("k")[1].split(".")[0])
            a, b = operands(16, k, 8)
            a, b = (a * 9).astype(dtype), (b * 9).astype(dtype)
            np.testing.assert_array_equal(raw(sptcsim.matmul(a, b)), raw(sptcsim.mma(name, a, b)), name)

    def test_sparse_weights_run_the_sparse_instruction(self):
        a, b = operands(16, 32, 8)
        pruned = sptcsim.prune(a)
        compressed = sptcsim.compress(pruned)
        expected = sptcsim.mma("mma.sp.m16n8k32.f32.f16.f16.f32", compressed.values, b, metadata=compressed.metadata())
        for sparse in (True, "2:4"):
            np.testing.assert_array_equal(sptcsim.matmul(pruned, b, sparse=sparse), expected)

    def test_strides_do_not_change_a_bit(self):
        a, b = operands(70, 96, 45)
        expected = sptcsim.matmul(a, b)
        for other_a, other_b in ((np.asfortranarray(a), np.asfortranarray(b)), (np.repeat(a, 2, 1)[:, ::2], b),
                                 (a[::-1][::-1], b[:, ::-1][:, ::-1])):
            np.testing.assert_array_equal(sptcsim.matmul(other_a, other_b), expected)

    def test_an_accumulator_starts_the_sum(self):
        a, b = operands(16, 16, 8)
        c = np.random.default_rng(2).standard_normal((16, 8)).astype(np.float32)
        np.testing.assert_array_equal(sptcsim.matmul(a, b, c), sptcsim.mma(DENSE, a, b, c))

    def test_d_is_rounded_to_nearest_even(self):
        a, b = operands(32, 64, 16)
        np.testing.assert_array_equal(sptcsim.matmul(a, b, d_dtype="f16"), sptcsim.matmul(a, b).astype(np.float16))

    def test_doubles_are_a_chain_of_fused_operations(self):
        a, b = operands(3, 1, 2, np.float64)
        np.testing.assert_array_equal(sptcsim.matmul(a, b), a @ b)

    def test_two_threads_may_call_at_once(self):
        a, b = operands(256, 256, 256)
        expected, results = sptcsim.matmul(a, b), []
        callers = [threading.Thread(target=lambda: results.append(sptcsim.matmul(a, b))) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        self.assertEqual(len(results), 4)
        for result in results:
            np.testing.assert_array_equal(result, expected)

    def test_pieces_between_which_ctrl_c_is_seen_change_no_bit(self):
        random = np.random.default_rng(3)
        a, b = random.integers(-4, 5, (257, 4096), np.int8), random.integers(-4, 5, (4096, 8192), np.int8)
        expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.int32)  # exact: below 2^24
        np.testing.assert_array_equal(sptcsim.matmul(a, b, c=np.ones((257, 8192), np.int32)), expected + 1)
        pruned = sptcsim.prune(a)
        np.testing.assert_array_equal(sptcsim.matmul(pruned, b, sparse=True),
                                      (pruned.astype(np.float32) @ b.astype(np.float32)).astype(np.int32))

    def test_a_matrix_that_breaks_the_pattern_is_refused_by_its_place(self):
        with self.assertRaisesRegex(sptcsim.InputError, "row 0, group 0"):
            sptcsim.matmul(np.ones((16, 32), np.float16), np.ones((32, 8), np.float16), sparse=True)

    def test_bad_arguments_are_refused_in_one_sentence(self):
        a, b = operands(16, 16, 8)
        for call, sentence in (
                (lambda: sptcsim.matmul(a, b[:3]), r"A is \[16, 16\] and B is \[3, 8\]"),
                (lambda: sptcsim.matmul(a[0], b), r"A must have 2 axes, not the shape \[16\]"),
                (lambda: sptcsim.mma("mma.m16n8k16.f32.f16.f16.f32", a, None), "^B is missing$"),
                (lambda: sptcsim.matmul(a, b, split_k=10**400), "split_k must be an integer from 1 to 2147483647, not 1000"),
                (lambda: sptcsim.matmul(a, b, split_k=10**5000), "not a value of type int$|not 1000"),
                (lambda: sptcsim.matmul(a[:0], b), r"A: the shape \[0, 16\] has no element"),
                (lambda: sptcsim.matmul(a, b, sparse="1:2"), "sparse must be False, True or \"2:4\" for f16"),
                (lambda: sptcsim.matmul(a, b, d_dtype="s32"), "d_dtype must be f32, f16 or bf16 for f16"),
                (lambda: sptcsim.matmul(a, b, dtype="f17"), "unknown type 'f17'"),
                (lambda: sptcsim.matmul(a, b, split_k=0), "split_k must be an integer from 1 to 2147483647, not 0"),
                (lambda: sptcsim.matmul(a, b, threads=0), "threads must be an integer from 1 to 4096"),
                (lambda: sptcsim.matmul(a, b, arch="a1000"), "unknown architecture 'a1000'"),
                (lambda: sptcsim.matmul(a, b, split_k=1.5), "split_k must be an integer"),
                (lambda: sptcsim.matmul(a, b, threads=True), "threads must be an integer from 1 to 4096, not True"),
                (lambda: sptcsim.mma(DENSE, a, b.T), "rows of A|B must be"),
                (lambda: sptcsim.mma(3, a, b), "an instruction must be a word, not int"),
                (lambda: sptcsim.mma(DENSE, a, b, arch=3), "an architecture is a name or an Architecture here, not int"),
                (lambda: sptcsim.step_rules(None), "an instruction must be a word, not NoneType"),
                (lambda: sptcsim.instructions(None), "an architecture is a name or an Architecture here, not NoneType"),
                (lambda: sptcsim.identify(a, b, None, None), "D must be an array of NumPy"),
                (lambda: sptcsim.mma(DENSE, a, b, grouping=1), "grouping must be a word, not int"),
                (lambda: sptcsim.mma(DENSE, a, b, profile=None), "profile must be a word, not NoneType"),
                (lambda: sptcsim.mma(DENSE, a, b, None, np.zeros((16, 2), np.uint16)), "is dense and takes no metadata"),
                (lambda: sptcsim.step_rules(DENSE, profile=1), "profile must be a word, not int"),
                (lambda: sptcsim.identify(a, b, None, np.zeros((16, 8), np.float32), profile=1), "profile must be a word"),
                (lambda: sptcsim.matmul(a, b, sparse=np.ones(2)), "sparse must be False, True or \"2:4\" for f16"),
                (lambda: sptcsim.matmul(sptcsim.prune(a), b, sparse=True, arch="V100"), "cannot run 2:4 f16: its selector"),
                (lambda: sptcsim.matmul(np.ma.masked_array(a), b), "A: a masked array must be filled first"),
                (lambda: sptcsim.crosscheck({"architecture": "A100", "a": a, "b": b, "d": a @ b, "types": {1j}}),
                 "^kernel: set is nothing that JSON has$"),
                (lambda: sptcsim.crosscheck(3), "a kernel is a dict or the path of a file, not int")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                call()


class Interrupted(unittest.TestCase):
    """Ctrl-C ends a call that takes long, and the interpreter goes on."""

    def interrupt(self, call):
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            call()
            timer.join()  # a machine that is faster than thought
            time.sleep(1)
        timer.join()

    def test_matmul_and_searches(self):
        ones = np.ones((8192, 8192), np.float16)
        self.interrupt(lambda: sptcsim.matmul(ones, ones))
        a, b = operands(1024, 4096, 1024)
        self.interrupt(lambda: sptcsim.permutation_search(a))
        self.interrupt(lambda: sptcsim.crosscheck({"architecture": "A100", "types": {"a": "f16"}, "a": a, "b": b,
                                                   "d": np.ones((1024, 1024), np.float32)}))
        np.testing.assert_array_equal(sptcsim.matmul(a[:16, :16], b[:16, :8]),
                                      sptcsim.mma(DENSE, a[:16, :16], b[:16, :8]))


class Crosscheck(unittest.TestCase):
    def test_a_kernel_that_is_right_is_bit_exact(self):
        a, b = operands(32, 64, 16)
        kernel = {"architecture": "A100", "types": {"a": "f16"}, "a": a, "b": b, "d": sptcsim.matmul(a, b)}
        self.assertTrue(sptcsim.crosscheck(kernel).bit_exact)

    def test_arrays_say_their_types(self):
        a, b = operands(32, 64, 16)
        self.assertTrue(sptcsim.crosscheck({"a": a, "b": b, "d": sptcsim.matmul(a, b, d_dtype="f16")}).bit_exact)
        a, b = (sptcsim.prune(a) * 8).astype(np.int8), (b * 8).astype(np.int8)
        self.assertTrue(sptcsim.crosscheck({"sparse": True, "a": a, "b": b, "d": sptcsim.matmul(a, b)}).bit_exact)

    @unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
    def test_so_do_those_of_ml_dtypes(self):
        a, b = operands(32, 64, 16, ml_dtypes.bfloat16)
        self.assertTrue(sptcsim.crosscheck({"a": a, "b": b, "d": sptcsim.matmul(a, b, d_dtype="bf16")}).bit_exact)

    def test_metadata_comes_in_every_layout(self):
        a, b = operands(64, 128, 16)
        compressed = sptcsim.compress(sptcsim.prune(a))
        kernel = {"sparse": True, "a": compressed.values, "b": b, "d": sptcsim.matmul(sptcsim.prune(a), b, sparse=True)}
        for metadata in (compressed.metadata(), compressed.metadata("cutlass"), compressed.metadata("nibbles"),
                         compressed.metadata("marlin"), compressed.metadata("ptx", instruction_k=32, selector=1)):
            self.assertTrue(sptcsim.crosscheck({**kernel, "metadata": metadata}).bit_exact, metadata)
        words = compressed.metadata("cutlass").words
        self.assertTrue(sptcsim.crosscheck({**kernel, "metadata": {"array": words, "layout": "cutlass"}}).bit_exact)
        wrong = sptcsim.crosscheck({**kernel, "metadata": words})
        self.assertEqual([fit.cause for fit in wrong.fitting], ["metadata-layout"])

    def test_what_a_simulation_saves_is_a_kernel_that_is_right(self):
        with tempfile.TemporaryDirectory() as directory:
            operands, results, page = (os.path.join(directory, name) for name in ("o.npz", "d.npz", "page.html"))
            for fidelity in ("analytic", "timing"):
                sptcsim.gemm(64, 32, 128, fidelity=fidelity, save_operands=operands, save_d=results)
                for launch in ("gemm", "gemm.sparse"):
                    self.assertTrue(sptcsim.crosscheck(operands, d=results, launch=launch).bit_exact)
            saved = np.load(operands)
            self.assertEqual(saved["gemm.sparse.metadata"].shape, (64, 8))
            self.assertEqual(saved["gemm.sparse.a"].dtype, np.float16)
            d = np.load(results)["gemm.sparse.d"]
            self.assertTrue(np.array_equal(
                d, sptcsim.matmul(saved["gemm.sparse.pruned_a"], saved["gemm.b"], sparse="2:4")))
            d[32:, 16:] = 0
            result = sptcsim.crosscheck(operands, d=d, launch="gemm.sparse", html=page)
            self.assertEqual([fit.cause for fit in result.fitting], ["zero-region"])
            place = result.places[0]
            self.assertEqual((list(place.rows[0]), list(place.columns[0])), ([32, 63], [16, 31]))
            self.assertEqual((place.tile.row, place.tile.column), (1, 1))
            with open(page, encoding="utf-8") as file:
                self.assertIn("rows 32 to 63 x columns 16 to 31", file.read())

    def test_names_that_are_not_ascii_are_those_that_numpy_reads(self):
        with tempfile.TemporaryDirectory() as directory:
            trace, operands = (os.path.join(directory, name) for name in ("w.json", "o.npz"))
            with open(trace, "w", encoding="utf-8") as file:
                json.dump({"schema": "gemm-workload/0.1", "name": "w", "default_dtype": "f16", "ops": [
                    {"name": "Schlüssel", "kind": "gemm", "m": 16, "n": 16, "k": 32, "weight_operand": "A",
                     "prunable_2_4": True}]}, file)
            sptcsim.run(trace, fidelity="analytic", save_operands=operands)
            self.assertIn("Schlüssel.a", np.load(operands).files)

    @unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
    def test_matmul_has_the_arithmetic_of_the_kernels_of_the_gpu(self):
        rng = np.random.default_rng(3)
        a, b = (rng.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((64, 256), (256, 64)))
        name = "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"
        c = np.zeros((64, 64), np.float32)
        for k in range(0, 256, 32):
            c = sptcsim.mma(name, a[:, k:k + 32], b[k:k + 32], c, arch="H100")
        self.assertTrue((sptcsim.matmul(a, b, arch="H100").view(np.uint32) == c.view(np.uint32)).all())
        self.assertTrue(sptcsim.crosscheck({"a": a, "b": b, "d": c, "architecture": "H100"}).bit_exact)

    def test_arguments_stand_for_those_of_the_command_line(self):
        a, b = operands(32, 128, 16)
        d = sptcsim.matmul(a, b, split_k=2, arch="H100")
        with tempfile.TemporaryDirectory() as directory:
            for name, array in (("a", a), ("b", b), ("d", d)):
                np.save(os.path.join(directory, name + ".npy"), array)
            path = pathlib.Path(directory, "kernel.json")
            path.write_text(json.dumps({"schema": "sptcsim-kernel/0.1", "types": {"a": "f16"},
                                        **{name: {"file": name + ".npy"} for name in "abd"}}))
            for kernel in (path, {"a": a, "b": b, "d": d}):
                self.assertFalse(sptcsim.crosscheck(kernel).bit_exact)
                right = sptcsim.crosscheck(kernel, arch="H100", k_order="split_k=2", instruction="m16n8k16.f32.f16.f16.f32")
                self.assertEqual((right.bit_exact, right.arch), (True, "sm_90"))
                near = sptcsim.crosscheck(kernel, arch=sptcsim.load("H100"), tolerance="rel:1e-3")
                self.assertEqual((near.bit_exact, near.tolerance.is_right), (False, True))
                for arguments, sentence in (({"tolerance": "4"}, "must be ulps:N or rel:X, not '4'"),
                                            ({"tolerance": 4}, "tolerance must be a word, not int"),
                                            ({"k_order": "split_k"}, "must be KEY=VALUE"),
                                            ({"instruction": "m16n8k7"}, "instruction: "),
                                            ({"arch": "A1000"}, "'A1000'")):
                    with self.assertRaisesRegex(sptcsim.InputError, sentence):
                        sptcsim.crosscheck(kernel, **arguments)

    def test_tensors_of_files_are_named(self):
        a, b = operands(32, 64, 16)
        with tempfile.TemporaryDirectory() as directory:
            weights, arrays = (os.path.join(directory, name) for name in ("x.safetensors", "x.npz"))
            write_safetensors(weights, {"fc.weight": a, "other": b})
            np.savez(arrays, b=b, other=a)
            kernel = {"types": {"a": "f16"}, "a": {"file": weights, "tensor": "fc.weight"},
                      "b": {"file": os.path.relpath(arrays), "tensor": "b"}, "d": sptcsim.matmul(a, b)}
            self.assertTrue(sptcsim.crosscheck(kernel).bit_exact)
            with self.assertRaisesRegex(sptcsim.InputError, "/a/tensor: unknown tensor 'fc'"):
                sptcsim.crosscheck({**kernel, "a": {"file": weights, "tensor": "fc"}})

    def test_words_about_files_need_a_file(self):
        with self.assertRaisesRegex(sptcsim.InputError, "launch= needs a kernel file"):
            sptcsim.crosscheck({}, launch="gemm")
        with self.assertRaisesRegex(sptcsim.InputError, "save-d saves a single simulation, not a comparison"):
            sptcsim.compare(TRACES / "bert_base.json", ["A100"], fidelity="analytic", save_d="d.npz")


if __name__ == "__main__":
    unittest.main()
