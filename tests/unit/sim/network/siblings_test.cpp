// SPDX-License-Identifier: Apache-2.0
#include "sim/network/siblings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::sim {
namespace {

Operation weight(const std::string& name, std::int64_t m, const std::string& input) {
  Operation op;
  op.name = name;
  op.shape = {m, 128, 1024};
  op.input = input;
  op.prunable = true;
  return op;
}

VectorOperation vector(VectorKind kind, std::size_t after) {
  VectorOperation op;
  op.kind = kind;
  op.after = after;
  return op;
}

TEST(Siblings, QueriesKeysAndValuesAreOneGemm) {
  std::vector<Operation> gemms{weight("q", 1024, "x"), weight("k", 256, "x"), weight("v", 256, "x"),
                               weight("o", 1024, "y")};
  std::vector<VectorOperation> vectors{vector(VectorKind::kBias, 1), vector(VectorKind::kBias, 2),
                                       vector(VectorKind::kBias, 3),
                                       vector(VectorKind::kResidual, 4)};
  merge_siblings(load_engine("tensorrt"), gemms, vectors);
  ASSERT_EQ(gemms.size(), 2U);
  EXPECT_EQ(gemms[0].shape, (GemmShape{1536, 128, 1024}));
  EXPECT_EQ(gemms[1].name, "o");
  EXPECT_EQ(vectors[0].after, 1U);
  EXPECT_EQ(vectors[2].after, 1U);
  EXPECT_EQ(vectors[3].after, 2U);
}

TEST(Siblings, OtherInputsAndWhatStandsBetweenKeepThemApart) {
  const EngineSpec engine = load_engine("tensorrt");
  std::vector<Operation> other{weight("a", 1024, "x"), weight("b", 1024, "y")};
  std::vector<VectorOperation> none;
  merge_siblings(engine, other, none);
  EXPECT_EQ(other.size(), 2U);
  std::vector<Operation> unknown{weight("a", 1024, ""), weight("b", 1024, "")};
  merge_siblings(engine, unknown, none);
  EXPECT_EQ(unknown.size(), 2U);
  std::vector<Operation> gated{weight("gate", 1024, "x"), weight("up", 1024, "x")};
  std::vector<VectorOperation> silu{vector(VectorKind::kSilu, 1)};
  merge_siblings(engine, gated, silu);
  EXPECT_EQ(gated.size(), 2U);
}

TEST(Siblings, WithoutARuleNothingChanges) {
  std::vector<Operation> gemms{weight("q", 1024, "x"), weight("k", 1024, "x")};
  std::vector<VectorOperation> none;
  merge_siblings(load_engine("pytorch"), gemms, none);
  EXPECT_EQ(gemms.size(), 2U);
}

}  // namespace
}  // namespace sptc::sim
