// SPDX-License-Identifier: Apache-2.0
// One row of weights pruned 2:4, compressed and multiplied as mma.sp of an A100 does it.
#include <cstdio>
#include <models/mma/dot_step.h>
#include <models/sparsity/compress.h>
#include <models/sparsity/prune.h>

int main() {
  constexpr auto kF16 = sptc::numerics::DataType::kF16;
  const auto instruction = sptc::mma::gemm_instruction(kF16, true);
  sptc::base::Matrix<sptc::numerics::Word> a(1, 32, 0x3C00);  // 1.0
  const auto w = sptc::sparsity::compress(sptc::sparsity::prune_by_magnitude(a, kF16), kF16);
  const std::vector<sptc::numerics::Word> b(32, 0x4000);  // 2.0
  const auto d = sptc::mma::sparse_dot(w.values.row(0), w.nibbles.row(0), b, 0, instruction,
                                       sptc::mma::step_rules("ampere", instruction));
  std::printf("%s: 0x%08x\n", instruction.ptx_name().c_str(), d);
  return d == 0x42000000 ? 0 : 1;  // 16 of 32 products are left: 32.0
}
