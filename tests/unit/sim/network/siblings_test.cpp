// SPDX-License-Identifier: Apache-2.0
#include "sim/network/siblings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::network {
namespace {

workload::Operation weight(const std::string& name, std::int64_t m, const std::string& input) {
  workload::Operation op;
  op.name = name;
  op.shape = {m, 128, 1024};
  op.input = input;
  op.prunable = true;
  return op;
}

workload::VectorOperation vector(workload::VectorKind kind, std::size_t after) {
  workload::VectorOperation op;
  op.kind = kind;
  op.after = after;
  return op;
}

TEST(Siblings, QueriesKeysAndValuesAreOneGemm) {
  std::vector<workload::Operation> gemms{weight("q", 1024, "x"), weight("k", 256, "x"),
                                         weight("v", 256, "x"), weight("o", 1024, "y")};
  std::vector<workload::VectorOperation> vectors{
      vector(workload::VectorKind::kBias, 1), vector(workload::VectorKind::kBias, 2),
      vector(workload::VectorKind::kBias, 3), vector(workload::VectorKind::kResidual, 4)};
  merge_siblings(load_engine("tensorrt"), gemms, vectors);
  ASSERT_EQ(gemms.size(), 2U);
  EXPECT_EQ(gemms[0].shape, (base::GemmShape{1536, 128, 1024}));
  EXPECT_EQ(gemms[1].name, "o");
  EXPECT_EQ(vectors[0].after, 1U);
  EXPECT_EQ(vectors[2].after, 1U);
  EXPECT_EQ(vectors[3].after, 2U);
}

TEST(Siblings, OtherInputsAndWhatStandsBetweenKeepThemApart) {
  const EngineSpec engine = load_engine("tensorrt");
  std::vector<workload::Operation> other{weight("a", 1024, "x"), weight("b", 1024, "y")};
  std::vector<workload::VectorOperation> none;
  merge_siblings(engine, other, none);
  EXPECT_EQ(other.size(), 2U);
  std::vector<workload::Operation> unknown{weight("a", 1024, ""), weight("b", 1024, "")};
  merge_siblings(engine, unknown, none);
  EXPECT_EQ(unknown.size(), 2U);
  std::vector<workload::Operation> gated{weight("gate", 1024, "x"), weight("up", 1024, "x")};
  std::vector<workload::VectorOperation> silu{vector(workload::VectorKind::kSilu, 1)};
  merge_siblings(engine, gated, silu);
  EXPECT_EQ(gated.size(), 2U);
}

TEST(Siblings, WithoutARuleNothingChanges) {
  std::vector<workload::Operation> gemms{weight("q", 1024, "x"), weight("k", 1024, "x")};
  std::vector<workload::VectorOperation> none;
  merge_siblings(load_engine("pytorch"), gemms, none);
  EXPECT_EQ(gemms.size(), 2U);
}

}  // namespace
}  // namespace sptc::network
