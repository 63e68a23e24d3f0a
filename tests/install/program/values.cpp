// SPDX-License-Identifier: Apache-2.0
// A weight pruned 2:4, compressed and multiplied as mma.sp of an A100 does it; the instructions
// that a GPU has.
#include <cstdio>
#include <sptcsim/values.h>

int main() {
  using namespace sptcsim;
  constexpr DataType kF16 = DataType::kF16;
  Matrix<Word> weight(16, 64);  // [m, k]: 1, 2, 3, 4, 1, 2, 3, 4, ..
  for (std::size_t row = 0; row < weight.rows(); ++row) {
    for (std::size_t col = 0; col < weight.cols(); ++col) {
      weight(row, col) = from_double(static_cast<double>(col % 4 + 1), kF16);
    }
  }
  const CompressedMatrix sparse = compress(prune_by_magnitude(weight, kF16), kF16);
  const Matrix<Word> b(64, 8, from_double(0.5, kF16));  // [k, n]
  const Arithmetic arithmetic = gemm_arithmetic("A100", kF16, true);
  const Matrix<Word> d = gemm(arithmetic, sparse, b);  // [m, n], f32
  std::printf("%s: %g, 2:4 keeps %zu of %zu\n", arithmetic.instruction.ptx_name().c_str(),
              to_double(d(0, 0), DataType::kF32), sparse.compressed_k(), sparse.logical_k);
  std::printf("%zu instructions\n", instructions(find_target("H100")).size());
  try {
    arithmetic_of("A100", "mma.m16n8k17.f32.f16.f16.f32");
  } catch (const InputError& error) {
    std::printf("refused: %s\n", error.what());
    return to_double(d(15, 7), DataType::kF32) == 56.0 ? 0 : 1;  // 16 groups of (3 + 4) / 2
  }
  return 1;
}
