// SPDX-License-Identifier: Apache-2.0
#include "sim/network/wide_tensors.h"

#include "sim/network/kernel_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::network {
namespace {

using workload::VectorKind;

constexpr double kElements = 64.0 * 128;

workload::VectorOperation vector(const char* name, VectorKind kind, std::size_t after) {
  workload::VectorOperation op;
  op.name = name;
  op.kind = kind;
  op.rows = op.input_rows = 64;
  op.columns = 128;
  op.tensors = workload::info(kind).tensors;
  op.after = after;
  return op;
}

/// A GEMM, a residual, a norm, and another GEMM.
struct Layer {
  std::vector<workload::Operation> gemms{2};
  std::vector<workload::VectorOperation> vectors{vector("gelu", VectorKind::kGelu, 1),
                                                 vector("sum", VectorKind::kResidual, 1),
                                                 vector("norm", VectorKind::kLayerNorm, 1)};
  EngineSpec engine;

  Layer() {
    for (workload::Operation& op : gemms) {
      op.name = &op == gemms.data() ? "first" : "second";
      op.shape = {128, 64, 128};
    }
    engine.wide = {VectorKind::kResidual, VectorKind::kLayerNorm};
  }
};

TEST(WidenTensors, NothingChangesWhereTheEngineHasNone) {
  Layer layer;
  layer.engine.wide.clear();
  widen_tensors(layer.engine, layer.gemms, layer.vectors);
  EXPECT_EQ(layer.vectors.size(), 3U);
  EXPECT_EQ(layer.vectors.back().output_bits, 0);
}

TEST(WidenTensors, AConversionStandsBeforeAGemm) {
  Layer layer;
  widen_tensors(layer.engine, layer.gemms, layer.vectors);
  ASSERT_EQ(layer.vectors.size(), 4U);
  EXPECT_EQ(layer.vectors[0].output_bits, 16);
  EXPECT_EQ(layer.vectors[1].input_bits, 16);
  EXPECT_EQ(layer.vectors[1].output_bits, 32);
  EXPECT_EQ(layer.vectors[2].input_bits, 32);
  EXPECT_EQ(layer.vectors[3].name, "second.input");
  EXPECT_EQ(layer.vectors[3].input_bits, 32);
  EXPECT_EQ(layer.vectors[3].output_bits, 16);
  EXPECT_EQ(layer.vectors[3].after, 1U);

  const Network network{layer.gemms, layer.vectors, layer.engine};
  const std::vector<PlannedKernel> kernels = plan_kernels(network);
  ASSERT_EQ(kernels.size(), 6U);
  const KernelBytes sum = bytes_of(kernels[2], network);
  EXPECT_DOUBLE_EQ(sum.recent, 2 * kElements);
  EXPECT_DOUBLE_EQ(sum.earlier, 4 * kElements);
  EXPECT_DOUBLE_EQ(sum.written, 4 * kElements);
  const KernelBytes conversion = bytes_of(kernels[4], network);
  EXPECT_DOUBLE_EQ(conversion.recent, 4 * kElements);
  EXPECT_DOUBLE_EQ(conversion.written, 2 * kElements);
}

TEST(WidenTensors, AChainWritesBothTypes) {
  Layer layer;
  FusionRule chain;
  chain.operations = {VectorKind::kResidual, VectorKind::kLayerNorm, VectorKind::kCopy};
  layer.engine.rules.push_back(chain);
  widen_tensors(layer.engine, layer.gemms, layer.vectors);
  ASSERT_EQ(layer.vectors.size(), 3U);
  EXPECT_EQ(layer.vectors[2].output_bits, 32 + 16);
  const Network network{layer.gemms, layer.vectors, layer.engine};
  const std::vector<PlannedKernel> kernels = plan_kernels(network);
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_DOUBLE_EQ(bytes_of(kernels[2], network).written, 6 * kElements);
}

}  // namespace
}  // namespace sptc::network
