// SPDX-License-Identifier: Apache-2.0
//
// The cycles of an instruction alone: those that the microbenchmark with one warp and one chain
// measures, of which the issue and the write of the scoreboard are no part.
#include "models/mma/catalogue.h"
#include "sim/config/architecture.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"
#include "sim/report/show/element_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace sptc::report::show {
namespace {

InstructionCycles cycles_on(const char* board, const char* instruction) {
  const auto cycles = instruction_cycles(config::load_architecture(board).gpu, mma::parse_instruction(instruction));
  EXPECT_TRUE(cycles);
  return cycles.value_or(InstructionCycles{});
}

TEST(InstructionCycles, StagesFollowEachOtherAndStepsWaitForTheAccumulator) {
  const InstructionCycles cycles = cycles_on("a100-sxm4-80gb", "mma.sp.m16n8k32.f32.f16.f16.f32");
  EXPECT_EQ(cycles.board, "a100-sxm4-80gb");
  const auto find = [&](std::string_view stage, int step) {
    return *std::find_if(cycles.spans.begin(), cycles.spans.end(),
                         [&](const StageSpan& span) { return span.stage == stage && span.step == step; });
  };
  EXPECT_EQ(cycles.spans.size(), 9U);  // a fetch, and four stages of each of the two steps
  EXPECT_EQ(find("fetch", 0).end, find("select", 0).begin);
  EXPECT_LE(find("select", 0).end, find("multiply", 0).begin);
  EXPECT_EQ(find("multiply", 0).end, find("align_add", 0).begin);
  EXPECT_EQ(find("align_add", 0).end, find("round", 0).begin);
  EXPECT_EQ(find("round", 0).end, find("multiply", 1).begin);
  EXPECT_LT(find("round", 1).end, cycles.done + 1);
}

TEST(InstructionCycles, AnInstructionOfTwoIsNotShown) {
  const gpu::GpuSpec gpu = config::load_architecture("h100-sxm5-80gb").gpu;
  EXPECT_FALSE(instruction_cycles(gpu, mma::parse_instruction("m16n8k32.f32.e4m3.e4m3.f32")));
  EXPECT_FALSE(instruction_cycles(gpu, mma::parse_instruction("wgmma.m64n8k16.f32.f16.f16")));
}

}  // namespace
}  // namespace sptc::report::show
