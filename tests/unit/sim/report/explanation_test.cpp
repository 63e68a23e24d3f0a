// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explanation.h"

#include "sim/config/architecture.h"
#include "sim/run/gemm_launcher.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::sim {
namespace {

OperationResult timed(const GpuSpec& gpu, const GemmShape& shape) {
  RunOptions options;
  options.fidelity = Fidelity::kAnalytic;
  Operation op;
  op.shape = shape;
  GemmTimer timer(gpu, options);
  OperationResult result;
  result.shape = shape;
  result.dense = timer(op, false);
  result.sparse = timer(op, true);
  return result;
}

testing::AssertionResult says(const OperationResult& op, const std::string& words) {
  const std::string sentence = bottleneck_sentence(op);
  return sentence.find(words) != std::string::npos ? testing::AssertionSuccess()
                                                   : testing::AssertionFailure() << sentence;
}

TEST(Explanation, NamesOperandFetchWhereAPortHoldsMmaBack) {
  GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  EXPECT_TRUE(says(timed(gpu, {4096, 4096, 4096}), "2:4 gains"));
  EXPECT_FALSE(says(timed(gpu, {4096, 4096, 4096}), "operand fetch"));
  gpu.sm.tensor_core.metadata_port_bytes_per_cycle = 5;
  EXPECT_TRUE(says(timed(gpu, {4096, 4096, 4096}), "bound by operand fetch of the tensor cores"));
}

TEST(Explanation, SaysWhatEveryKindOfGemmWaitsFor) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  EXPECT_TRUE(says(timed(gpu, {8192, 8192, 8192}), "dense is bound by tensor cores"));
  EXPECT_TRUE(says(timed(gpu, {8192, 1, 8192}), "dense is bound by DRAM"));
  EXPECT_TRUE(says(timed(gpu, {8192, 1, 8192}), "for 2x it would need DRAM"));
  EXPECT_TRUE(says(timed(gpu, {64, 64, 64}), "2x is out of reach"));
  GpuSpec slow_launch = gpu;
  slow_launch.kernels.launch_us = 100;
  EXPECT_TRUE(says(timed(slow_launch, {64, 64, 64}), "dense is bound by its launch"));
}

}  // namespace
}  // namespace sptc::sim
