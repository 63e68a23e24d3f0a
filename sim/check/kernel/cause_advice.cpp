// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_crosscheck.h"

#include <algorithm>

namespace sptc::check::kernel {

std::string_view advice(std::string_view cause) {
  using Advice = std::pair<std::string_view, std::string_view>;
  static constexpr auto kAdvice = std::to_array<Advice>({
      {"zero-region", "the grid, and the test that lets a CTA leave early at an edge"},
      {"unwritten-region", "the grid, and the predicate of the stores of D"},
      {"missing-k", "the trip count of the main loop, the drain of the last stages, the range of each slice"},
      {"overrun-k", "loads of the last k-tile: their predicate, or the zero fill of cp.async (src-size)"},
      {"doubled-k", "the bounds of the main loop, and which slice starts where"},
      {"duplicated-k-tile", "the wait before a stage is read: cp.async.wait_group, mbarrier, __syncthreads"},
      {"exchanged-k-tiles", "which stage of shared memory a k-tile is written to and read"},
      {"permuted-k-tiles", "the stage indices of A and B: one runs ahead of the other"},
      {"k-order", "the order of the main loop; harmless where only rounding differs"},
      {"split-k", "nothing, where split-K is meant: declare k_order, or give --k-order split_k=N"},
      {"rounded-k-tiles", "where the sum waits between k-tiles: in D or shared memory, of D's type"},
      {"stream-k", "nothing, where tiles share their K: bits then depend on the number of CTAs"},
      {"reduction-order", "the order in which slices add: semaphores, or the last kernel"},
      {"c-place", "whether C goes into the accumulators or the epilogue"},
      {"architecture", "the GPU that ran the kernel: --arch names another"},
      {"instruction", "the instruction in SASS (cuobjdump): --instruction names another"},
      {"sparse-grouping", "the instruction in SASS; the grouping is this simulator's guess"},
      {"accumulator", "the type of the accumulators"},
      {"rounding", "--arch and --instruction; where both are right, please report it"},
      {"no-tensor-core", "whether mma is in the SASS at all"},
      {"operand-layout", "row and column major of the operands: .row.col, transa, transb"},
      {"operand-type", "the types in the instruction's name, and casts of pointers"},
      {"leading-dimension", "lda, ldb, ldc, ldd: strides in elements, not in bytes"},
      {"pointer-offset", "the address of A: an offset in elements or bytes, an alignment"},
      {"metadata-layout", "how metadata is reordered before the kernel (sptcsim convert)"},
      {"metadata-selector", "the last operand of mma.sp: which lanes hold metadata"},
      {"metadata-indices", "the order of bits in the words of metadata"},
      {"metadata-words", "loads of metadata: which stage, and which half of a register"},
      {"metadata-rows", "which lane holds the metadata of which row: g in the low half of a word, g + 8 in the high"},
      {"metadata-encoder", "values and metadata must come from one compressor"},
      {"metadata-nibble", "the compressor at this group"},
      {"value-rows", "rows of values of A: their order against metadata"},
      {"negative-zero", "the compressor's test for zero"},
      {"pruning", "which weights are kept, and along which axis"},
      {"permuted-rows", "which row of D a lane stores, or of A it loads"},
      {"duplicated-rows", "which row of D a lane stores, or of A it loads"},
      {"permuted-columns", "which column of D a lane stores, or of B it loads"},
      {"duplicated-columns", "which column of D a lane stores, or of B it loads"},
      {"moved-tile", "the map from CTAs to tiles (swizzle of the grid)"},
      {"transposed-tile", "rows and columns in the stores of D"},
      {"transposed-fragments", "ldmatrix: .trans is missing, or too much"},
      {"permuted-fragments", "addresses of fragments in one stage of shared memory"},
      {"swizzle", "the swizzle of shared memory: stores and loads must agree"},
      {"uncleared-accumulator", "a persistent kernel must clear accumulators for each tile"},
      {"c-lines", "which row and column of C a lane loads"},
      {"nan-bits", "nothing: a host, or another instruction, writes NaN with other bits"},
      {"zero-sign", "nothing, unless signs of zero count: the epilogue, max(x, 0), alpha"},
      {"operand-rounding", "nothing, where operands are meant to be rounded: give the rounded ones as A and B"},
      {"scale", "scales of quantised operands: missing, twice, or along another axis"},
      {"d-type", "conversions between the accumulators and D"},
      {"c-type", "the type of C: f32 that is loaded or converted as f16 or bf16"},
      {"epilogue", "the epilogue: alpha, beta, C, bias, activation"},
      {"bit-of-d", "memory errors, or two stores to one word"},
      {"bit-of-a", "A on the device: copy it back and compare"},
      {"bit-of-b", "B on the device: copy it back and compare"},
  });
  const auto* const found = std::ranges::find(kAdvice, cause, &Advice::first);
  return found == kAdvice.end() ? std::string_view() : found->second;
}

}  // namespace sptc::check::kernel
