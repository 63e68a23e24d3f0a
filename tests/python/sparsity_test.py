# SPDX-License-Identifier: Apache-2.0
"""Pruning, compression and the layouts of metadata."""
import json
import pathlib
import sys
import unittest

import numpy as np
import sptcsim

DATA = pathlib.Path(__file__).parent / "data"
sys.path.insert(0, str(DATA))
from pytorch_metadata import dense_matrix


def weights(m, k, dtype=np.float16):
    return np.random.default_rng(4).standard_normal((m, k)).astype(dtype)


class Prune(unittest.TestCase):
    def test_the_two_largest_of_four_stay(self):
        a = np.array([[1, -3, 2, 0.5, 4, 4, 4, 4]], np.float16)
        np.testing.assert_array_equal(sptcsim.prune(a), [[0, -3, 2, 0, 4, 4, 0, 0]])

    def test_one_of_two_stays_in_tf32(self):
        np.testing.assert_array_equal(sptcsim.prune(np.array([[1, -3, 2, 0.5]], np.float32)), [[0, -3, 2, 0]])

    def test_k_that_is_no_multiple_of_the_group_is_refused(self):
        with self.assertRaisesRegex(sptcsim.InputError, "multiple of"):
            sptcsim.prune(weights(1, 6))

    def test_double_precision_has_no_sparse_instruction(self):
        for function in (sptcsim.prune, sptcsim.compress):
            with self.assertRaisesRegex(sptcsim.InputError, "^A: no sparse instruction has operands of f64"):
                function(weights(4, 8, np.float64))


class Compress(unittest.TestCase):
    def test_decompress_undoes_it(self):
        for dtype in (np.float16, np.float32, np.int8):
            a = sptcsim.prune((weights(32, 64) * 50).astype(dtype))
            compressed = sptcsim.compress(a)
            self.assertEqual(compressed.values.shape, (32, 32))
            np.testing.assert_array_equal(sptcsim.decompress(compressed), a)
            np.testing.assert_array_equal(sptcsim.decompress(compressed.values, compressed.metadata()), a)

    def test_a_group_with_three_non_zeros_is_refused_by_its_place(self):
        with self.assertRaisesRegex(sptcsim.InputError, "row 1, group 0"):
            sptcsim.compress(np.array([[0, 0, 1, 1], [0, 1, 1, 1]], np.float16))

    def test_invalid_metadata_is_refused(self):
        with self.assertRaises(sptcsim.InputError):
            sptcsim.decompress(np.ones((1, 2), np.float16), np.array([[0b0101]], np.uint8))


class Layouts(unittest.TestCase):

    def words_of_others(self):
        """Layout, matrix, and what PyTorch or torchao stores for it."""
        document = json.loads((DATA / "pytorch_metadata.json").read_text())
        self.assertEqual({row["torch"] for row in document["matrices"]}, {"2.1.2", "2.15.0", "torchao 0.7.0"})
        for row in document["matrices"]:
            layout = "marlin" if row["torch"].startswith("torchao") else "pytorch"
            yield layout, dense_matrix(row["dtype"], row["m"], row["k"], row["missing"]), row

    def test_words_of_pytorch_and_of_marlin_come_out(self):
        seen = {"pytorch": 0, "marlin": 0}
        for layout, dense, row in self.words_of_others():
            if not row["missing"]:
                words = sptcsim.compress(dense).metadata(layout).words
                self.assertEqual(words.ravel().tolist(), row["metadata"], row["torch"])
                seen[layout] += 1
        self.assertEqual(seen, {"pytorch": 11, "marlin": 3})

    def test_their_words_are_read_where_groups_lack_elements(self):
        for layout, dense, row in self.words_of_others():
            if row["missing"]:
                bits = 32 if row["dtype"] == "int8" else 16
                words = np.array(row["metadata"], f"u{bits // 8}").reshape(row["m"], -1)
                values = np.array(row["values"], row["dtype"]).reshape(row["m"], -1)
                name = "s8" if row["dtype"] == "int8" else "f16"
                ours = sptcsim.decompress(values, sptcsim.Metadata(words, layout, name))
                np.testing.assert_array_equal(ours, dense, row["torch"])

    def test_lanes_need_the_depth_of_the_instruction(self):
        with self.assertRaisesRegex(sptcsim.InputError, "needs instruction_k"):
            sptcsim.compress(sptcsim.prune(weights(16, 32))).metadata("ptx")

    def test_extents_that_do_not_fill_a_layout_are_refused(self):
        with self.assertRaisesRegex(sptcsim.InputError, "rows of reordered metadata for f16 = 16 must be a multiple of 32"):
            sptcsim.compress(sptcsim.prune(weights(16, 32))).metadata("cutlass")

    def test_depth_and_selector_are_numbers(self):
        metadata = sptcsim.compress(sptcsim.prune(weights(16, 32))).metadata()
        with self.assertRaisesRegex(sptcsim.InputError, "instruction_k must be an integer from 1 to 1024, not 'x'"):
            metadata.convert("ptx", instruction_k="x")
        with self.assertRaisesRegex(sptcsim.InputError, "selector must be an integer from 0 to 3, not 4"):
            metadata.convert("ptx", instruction_k=32, selector=4)

    def test_layouts_have_one_word_each_and_aliases(self):
        metadata = sptcsim.compress(sptcsim.prune(weights(64, 64))).metadata("cutlass")
        for word in ("cutlass", "pytorch", "reordered"):
            self.assertEqual(metadata.convert(word).layout, "cutlass")
        for word in ("ptx", "lanes"):
            self.assertEqual(metadata.convert(word, instruction_k=32).layout, "ptx")
        with self.assertRaisesRegex(sptcsim.InputError, "CUTLASS 3.x has a layout for each architecture: cutlass-sm90"):
            metadata.convert("cutlass3")

    def test_cutlass_3_stores_bytes_of_two_groups(self):
        metadata = sptcsim.compress(sptcsim.prune(weights(64, 128))).metadata("cutlass-sm90")
        self.assertEqual((metadata.words.shape, metadata.words.dtype), ((64, 16), np.uint8))
        canonical = metadata.convert("canonical")
        np.testing.assert_array_equal(canonical.convert("cutlass-sm90").words, metadata.words)
        np.testing.assert_array_equal(canonical.convert("cutlass-sm90-k64").convert("canonical").words, canonical.words)
        # Columns 0 to 15 of row 0, then those of row 8, 128 elements before those of row 1.
        np.testing.assert_array_equal(metadata.words.ravel()[:2].view("u2"), canonical.words[0, :1])
        np.testing.assert_array_equal(metadata.words.ravel()[2:4].view("u2"), canonical.words[8, :1])
        np.testing.assert_array_equal(metadata.words.ravel()[16:18].view("u2"), canonical.words[1, :1])
        with self.assertRaisesRegex(sptcsim.InputError, "rows of CUTLASS 3.x metadata for f16 = 32 must be a multiple of 64"):
            sptcsim.compress(sptcsim.prune(weights(32, 128))).metadata("cutlass-sm90")

    def test_an_unknown_layout_is_refused_with_the_nearest(self):
        with self.assertRaisesRegex(sptcsim.InputError, "unknown metadata layout 'canonicl'.*canonical"):
            sptcsim.compress(sptcsim.prune(weights(16, 32))).metadata("canonicl")


if __name__ == "__main__":
    unittest.main()
