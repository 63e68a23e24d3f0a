# SPDX-License-Identifier: Apache-2.0
"""What arrays the package takes, and what it makes of them."""
import unittest

import numpy as np
import sptcsim

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


class DlPackOnly:
    """An array of which nothing but DLPack is known."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Arrays(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(3)
        self.a = random.standard_normal((16, 16)).astype(np.float16)
        self.b = random.standard_normal((16, 8)).astype(np.float16)
        self.d = sptcsim.matmul(self.a, self.b)

    def test_dlpack_arrays_are_taken(self):
        np.testing.assert_array_equal(sptcsim.matmul(DlPackOnly(self.a), DlPackOnly(self.b)), self.d)

    def test_bits_are_taken_where_their_type_is_named(self):
        np.testing.assert_array_equal(sptcsim.matmul(self.a.view(np.uint16), self.b.view(np.uint16), dtype="f16"), self.d)

    def test_what_is_no_operand_is_refused_by_name(self):
        for a, b, sentence in (
                (self.a, self.b.tolist(), "^B must be an array of NumPy, DLPack or torch, not list$"),
                (self.a.astype(">f2"), self.b, "^A: elements of >f2 are in the byte order of another machine$"),
                (self.a.astype(np.complex64), self.b, "^A: elements of complex64 are no operands of a tensor core"),
                (self.a, self.b.astype(np.float32), "^B: elements must be float16 or uint16 for f16, not float32$")):
            with self.assertRaisesRegex(sptcsim.InputError, sentence):
                sptcsim.matmul(a, b)

    @unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
    def test_types_of_ml_dtypes_are_taken_and_given(self):
        for dtype, name in ((ml_dtypes.bfloat16, "bf16"), (ml_dtypes.float8_e4m3fn, "e4m3"),
                            (ml_dtypes.float8_e5m2, "e5m2")):
            a, b = self.a.astype(dtype), self.b.astype(dtype)
            size = np.dtype(f"u{a.itemsize}")
            np.testing.assert_array_equal(sptcsim.matmul(a, b, arch="L40S"),
                                          sptcsim.matmul(a.view(size), b.view(size), arch="L40S", dtype=name))
            self.assertEqual(sptcsim.prune(a).dtype, a.dtype)
        self.assertEqual(sptcsim.matmul(self.a, self.b, d_dtype="bf16").dtype, ml_dtypes.bfloat16)


if __name__ == "__main__":
    unittest.main()
