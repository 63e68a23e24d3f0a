// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/training.h"

#include "models/base/shape.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sptc::workload {
namespace {

using Shape = base::GemmShape;

/// fc1 of 256 x 64, a GELU, fc2 of 64 x 256, 32 tokens.
struct Mlp {
  std::vector<Operation> gemms;
  std::vector<VectorOperation> vectors;

  Mlp() {
    for (const auto& [name, shape] : {std::pair("fc1", Shape{256, 32, 64}), {"fc2", Shape{64, 32, 256}}}) {
      Operation op;
      op.name = name;
      op.shape = shape;
      op.prunable = true;
      gemms.push_back(op);
    }
    VectorOperation gelu;
    gelu.name = "gelu";
    gelu.kind = VectorKind::kGelu;
    gelu.rows = gelu.input_rows = 32;
    gelu.columns = 256;
    gelu.after = 1;
    vectors.push_back(gelu);
  }

  /// "fc2.dW* 256x64x32": a star is 2:4.
  std::vector<std::string> step(Training training) {
    add_backward(training, gemms, vectors);
    std::vector<std::string> names;
    for (const Operation& op : gemms) {
      names.push_back(op.name + (op.prunable ? "* " : " ") + std::to_string(op.shape.m) + "x" +
                      std::to_string(op.shape.n) + "x" + std::to_string(op.shape.k));
    }
    return names;
  }
};

using Names = std::vector<std::string>;

TEST(Training, EachWeightHasBothGradients) {
  Mlp mlp;
  EXPECT_EQ(mlp.step(Training::kDense), (Names{"fc1 256x32x64", "fc2 64x32x256", "fc2.dW 64x256x32", "fc2.dX 256x32x64",
                                               "fc1.dW 256x64x32", "fc1.dX 64x32x256"}));
  ASSERT_EQ(mlp.vectors.size(), 2U);
  EXPECT_EQ(mlp.vectors[1].name, "gelu.grad");
  EXPECT_EQ(mlp.vectors[1].after, 4U);
  EXPECT_EQ(mlp.vectors[1].tensors, 2);  // what it read, and the gradient
}

TEST(Training, SparseWeightsReachTwoOfThreeProducts) {
  Mlp mlp;
  EXPECT_EQ(mlp.step(Training::kW24), (Names{"fc1* 256x32x64", "fc2* 64x32x256", "fc2.dW 64x256x32",
                                             "fc2.dX* 256x32x64", "fc1.dW 256x64x32", "fc1.dX* 64x32x256"}));
  Names beside;
  for (const VectorOperation& op : mlp.vectors) {
    if (op.sparse_only) {
      beside.push_back(op.name);
      EXPECT_TRUE(mlp.gemms.at(op.after - 1).prunable) << op.name;
    }
  }
  EXPECT_EQ(beside, (Names{"fc1.select", "fc2.select", "fc2.dW.mask", "fc1.dW.mask"}));
}

TEST(Training, SparseActivationsReachFourOfSixProducts) {
  Mlp mlp;
  EXPECT_EQ(mlp.step(Training::kAct24), (Names{"fc1 256x32x64", "fc2* 32x64x256", "fc2.dW* 256x64x32",
                                               "fc2.dX 256x32x64", "fc1.dW* 256x64x32", "fc1.dX* 32x64x256"}));
  Names beside;
  for (const VectorOperation& op : mlp.vectors) {
    if (op.sparse_only) {
      beside.push_back(op.name);
      EXPECT_TRUE(mlp.gemms.at(op.after - 1).prunable) << op.name;
    }
  }
  EXPECT_EQ(beside, (Names{"fc2.select", "fc2.dW.copy", "fc1.dX.mask"}));
}

TEST(Training, ConvolutionsAndQuantisedWeightsAreRefused) {
  Mlp mlp;
  mlp.gemms[1].storage.weight = numerics::DataType::kS8;
  support::expect_input_error([&] { mlp.step(Training::kDense); }, {"--training", "'fc2'"});
  mlp.gemms[1].storage = {};
  mlp.gemms[0].conv.emplace();
  support::expect_input_error([&] { mlp.step(Training::kDense); }, {"'fc1' is a convolution"});
}

}  // namespace
}  // namespace sptc::workload
