// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_crosscheck.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sptc::check::kernel {

std::string_view advice(std::string_view cause) {
  using Advice = std::pair<std::string_view, std::string_view>;
  static constexpr std::array kAdvice{
      Advice{"zero-region", "the grid, and the test that lets a CTA leave early at an edge"},
      Advice{"unwritten-region", "the grid, and the predicate of the stores of D"},
      Advice{"missing-k", "the bounds of the main loop and its epilogue over the last stages"},
      Advice{"doubled-k", "the bounds of the main loop, and which slice starts where"},
      Advice{"duplicated-k-tile", "the wait before a stage is read: cp.async.wait_group, mbarrier"},
      Advice{"exchanged-k-tiles", "which stage of shared memory a k-tile is written to and read"},
      Advice{"permuted-k-tiles", "the stage indices of A and B: one runs ahead of the other"},
      Advice{"k-order", "the order of the main loop; harmless where only rounding differs"},
      Advice{"split-k", "nothing, where slices are meant: declare k_order, or give --k-order"},
      Advice{"stream-k", "nothing, where tiles share their K: bits then hang on the grid"},
      Advice{"reduction-order", "the order in which slices add: semaphores, or the last kernel"},
      Advice{"c-place", "whether C goes into the accumulators or the epilogue"},
      Advice{"architecture", "the GPU that ran the kernel: --arch names another"},
      Advice{"instruction", "the instruction in SASS (cuobjdump): --instruction names another"},
      Advice{"sparse-grouping", "the instruction in SASS; the grouping is this simulator's guess"},
      Advice{"accumulator", "the type of the accumulators"},
      Advice{"rounding", "flags of the compiler, and conversions of the accumulators"},
      Advice{"no-tensor-core", "whether mma is in the SASS at all"},
      Advice{"operand-layout", "row and column major of the operands: .row.col, transa, transb"},
      Advice{"operand-type", "the types in the instruction's name, and casts of pointers"},
      Advice{"leading-dimension", "lda, ldb: the stride in elements, not in bytes"},
      Advice{"metadata-layout", "how metadata is reordered before the kernel (sptcsim convert)"},
      Advice{"metadata-selector", "the last operand of mma.sp: which lanes hold metadata"},
      Advice{"metadata-indices", "the order of bits in the words of metadata"},
      Advice{"metadata-words", "loads of metadata: their stage, and which word of a register"},
      Advice{"metadata-rows", "rows of metadata of a warp: groups of 8, halves of 16"},
      Advice{"metadata-encoder", "values and metadata must come from one compressor"},
      Advice{"metadata-nibble", "the compressor at this group"},
      Advice{"value-rows", "rows of values of A: their order against metadata"},
      Advice{"negative-zero", "the compressor's test for zero"},
      Advice{"pruning", "which weights are kept, and along which axis"},
      Advice{"permuted-rows", "which row of D a lane stores"},
      Advice{"duplicated-rows", "which row of D a lane stores"},
      Advice{"permuted-columns", "which column of D a lane stores"},
      Advice{"duplicated-columns", "which column of D a lane stores"},
      Advice{"moved-tile", "the map from CTAs to tiles (swizzle of the grid)"},
      Advice{"transposed-tile", "rows and columns in the stores of D"},
      Advice{"transposed-fragments", "ldmatrix: .trans is missing, or too much"},
      Advice{"permuted-fragments", "addresses of fragments in one stage of shared memory"},
      Advice{"swizzle", "the swizzle of shared memory: stores and loads must agree"},
      Advice{"uncleared-accumulator", "a persistent kernel must clear accumulators for each tile"},
      Advice{"scale", "scales of quantised operands: missing, twice, or along another axis"},
      Advice{"d-type", "conversions between the accumulators and D"},
      Advice{"epilogue", "the epilogue: alpha, beta, C, bias, activation"},
      Advice{"bit-of-d", "memory errors, or two stores to one word"},
      Advice{"bit-of-a", "memory errors of A"},
      Advice{"bit-of-b", "memory errors of B"}};
  const auto* const found = std::ranges::find(kAdvice, cause, &Advice::first);
  return found == kAdvice.end() ? std::string_view() : found->second;
}

}  // namespace sptc::check::kernel
