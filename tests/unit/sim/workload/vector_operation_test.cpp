// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/vector_operation.h"

#include "sim/workload/workload.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::workload {
namespace {

Workload parse(const std::string& ops, const NamedDims& dims = {}) {
  return parse_workload_json(R"({"schema": "gemm-workload/0.2", "dims": {"seq": 128}, "ops": [)" + ops + "]}", "w.json",
                             dims);
}

TEST(VectorOperation, StandsBetweenGemmsWithExpressions) {
  const Workload workload = parse(
      R"({"name": "e", "kind": "embedding", "rows": "seq", "columns": 64, "inputs": 3},
         {"name": "g", "m": 64, "n": "seq", "k": 64},
         {"name": "n", "kind": "layer_norm", "rows": "2*seq", "columns": 64, "outputs": 2})",
      {{"seq", 256}});
  ASSERT_EQ(workload.operations.size(), 1U);
  ASSERT_EQ(workload.vectors.size(), 2U);
  EXPECT_EQ(workload.vectors[0].after, 0U);
  EXPECT_EQ(workload.vectors[0].tensors, 3);
  EXPECT_EQ(workload.vectors[1].after, 1U);
  EXPECT_EQ(workload.vectors[1].rows, 512);
  EXPECT_EQ(workload.vectors[1].input_rows, 512);
  EXPECT_EQ(workload.vectors[1].outputs, 2);
}

TEST(VectorOperation, MistakesAreToldWithTheirPlace) {
  support::expect_input_error([] { parse(R"({"name": "x", "kind": "layernorm", "rows": 1, "columns": 1})"); },
                              {"/ops/0/kind", "'layer_norm'"});
  support::expect_input_error([] { parse(R"({"name": "x", "kind": "gelu", "rows": 1})"); }, {"/ops/0", "columns"});
  support::expect_input_error([] { parse(R"({"name": "x", "kind": "gelu", "rows": 1, "columns": 1, "m": 2})"); },
                              {"/ops/0", "unknown key", "'m'"});
  support::expect_input_error(
      [] { parse(R"({"name": "x", "kind": "gelu", "rows": 1, "columns": 1, "causal": true})"); },
      {"/ops/0/causal", "softmax"});
  support::expect_input_error([] { parse(R"({"name": "x", "kind": "gelu", "rows": 0, "columns": 1})"); },
                              {"/ops/0/rows"});
}

TEST(VectorOperation, EveryKindHasARowWithItsName) {
  for (const std::string_view kind : vector_kind_names()) {
    EXPECT_EQ(name(*parse_vector_kind(kind)), kind);
  }
  EXPECT_FALSE(parse_vector_kind("gemm").has_value());
}

using Kinds = std::vector<VectorKind>;

TEST(Epilogue, NamesOfCublasLtSayWhatIsDone) {
  EXPECT_EQ(parse_epilogue("")->operations, Kinds{});
  EXPECT_EQ(parse_epilogue("DEFAULT")->operations, Kinds{});
  EXPECT_EQ(parse_epilogue("RELU_BIAS")->operations, (Kinds{VectorKind::kRelu, VectorKind::kBias}));
  EXPECT_FALSE(parse_epilogue("RELU_BIAS")->writes_mask);
  EXPECT_EQ(parse_epilogue("SWISH_BIAS")->operations, (Kinds{VectorKind::kSilu, VectorKind::kBias}));
  EXPECT_FALSE(parse_epilogue("SOMETHING_NEW"));
}

TEST(Epilogue, AuxiliaryOutputsAndDerivativesMoveATensorOrAMask) {
  EXPECT_TRUE(parse_epilogue("RELU_AUX_BIAS")->writes_mask);
  EXPECT_FALSE(parse_epilogue("RELU_AUX_BIAS")->writes_tensor);
  EXPECT_TRUE(parse_epilogue("GELU_AUX")->writes_tensor);
  EXPECT_TRUE(parse_epilogue("DRELU_BGRAD")->reads_mask);
  EXPECT_TRUE(parse_epilogue("DGELU")->reads_tensor);
  EXPECT_EQ(parse_epilogue("BGRADA")->operations, Kinds{});
}

TEST(Epilogue, TheSumWithCReadsATensor) {
  Recorded recorded;
  recorded.epilogue = "BIAS";
  EXPECT_FALSE(epilogue_of(recorded).reads_tensor);
  recorded.adds_c = true;
  EXPECT_TRUE(epilogue_of(recorded).reads_tensor);
  EXPECT_EQ(epilogue_of(recorded).operations, (Kinds{VectorKind::kBias, VectorKind::kResidual}));
}

TEST(Epilogue, SpecialFunctionsTakeEightSlots) {
  EXPECT_EQ(epilogue_operations(Kinds{}), 0);
  EXPECT_EQ(epilogue_operations(Kinds{VectorKind::kBias, VectorKind::kRelu}), 2);
  EXPECT_EQ(epilogue_operations(Kinds{VectorKind::kGelu}), 8);
  EXPECT_EQ(epilogue_operations(Kinds{VectorKind::kSilu}), 16);
}

}  // namespace
}  // namespace sptc::workload
