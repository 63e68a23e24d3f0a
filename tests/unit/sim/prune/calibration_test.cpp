// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/calibration.h"

#include "sim/io/tensor_file.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace sptc::prune {
namespace {

class CalibrationFile : public testing::Test {
 protected:
  /// A matrix [rows, k] of weights.
  static LayerLayout layer(std::int64_t k) { return {8, 1, k, k}; }

  /// Elements 0, 1, 2, ..
  static io::Tensor counting(const std::string& name, std::vector<std::int64_t> shape) {
    io::Tensor tensor{name, "F32", std::move(shape), {}};
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    std::iota(values.begin(), values.end(), 0.0F);
    tensor.bytes.resize(values.size() * sizeof(float));
    if (!values.empty()) {
      std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    }
    return tensor;
  }

  Calibration of(const std::vector<io::Tensor>& tensors) const {
    io::write_safetensors(path(), tensors);
    return Calibration(path());
  }
  std::filesystem::path path() const { return temporary_.path() / "x.safetensors"; }

  /// What is wrong with the one tensor as the inputs of a layer.
  std::string error_of(const io::Tensor& tensor, const LayerLayout& layout) const {
    Calibration calibration = of({tensor});
    return support::input_error_of([&] { calibration.inputs("a", layout, false, {}); });
  }

 private:
  const support::TemporaryDirectory temporary_;
};

using Row = std::vector<float>;
Row row_of(const base::Matrix<float>& matrix, std::size_t row) {
  return {matrix.row(row).begin(), matrix.row(row).end()};
}

TEST_F(CalibrationFile, NoFileHasInputsOfNoLayer) {
  Calibration none{std::filesystem::path()};
  EXPECT_EQ(none.inputs("a", layer(4), true, {}), nullptr);
  EXPECT_TRUE(none.files().empty());
}

TEST_F(CalibrationFile, InputsAreCalledAsTheirWeightOrWithoutItsEnding) {
  Calibration calibration = of({counting("a", {2, 3, 4}), counting("b.weight", {1, 4})});
  EXPECT_EQ(calibration.files(), std::vector{path()});
  const base::Matrix<float>* const a = calibration.inputs("a.weight", layer(4), true, {});
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->rows(), 6U);  // samples of all axes but the last
  EXPECT_EQ(row_of(*a, 5), (Row{20, 21, 22, 23}));
  EXPECT_EQ(calibration.inputs("b.weight", layer(4), true, {})->rows(), 1U);
  EXPECT_EQ(calibration.inputs("b", layer(4), false, {}), nullptr);
  EXPECT_EQ(support::input_error_of([&] { calibration.inputs("b.weigth", layer(4), true, {}); }),
            path().string() +
                ": unknown tensor 'b.weigth' (nearest valid: 'b.weight'; allowed: a, "
                "b.weight)");
}

TEST_F(CalibrationFile, ChannelsComeInTheOrderThatIsAskedFor) {
  Calibration calibration = of({counting("a", {2, 4})});
  const std::vector<std::size_t> order{3, 0, 2, 1};
  const base::Matrix<float>* const a = calibration.inputs("a", layer(4), true, order);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(row_of(*a, 0), (Row{3, 0, 2, 1}));
  EXPECT_EQ(row_of(*a, 1), (Row{7, 4, 6, 5}));
}

TEST_F(CalibrationFile, WhatIsNoMatrixOfInputsIsRefused) {
  const std::string must_be = path().string() +
                              ": 'a' must be floating-point inputs [samples, 4] of a layer that "
                              "is a matrix";
  io::Tensor integers = counting("a", {2, 4});
  integers.dtype = "I32";
  EXPECT_EQ(error_of(integers, layer(4)), must_be);
  EXPECT_EQ(error_of(counting("a", {2, 8}), layer(4)), must_be);
  EXPECT_EQ(error_of(counting("a", {}), layer(4)), must_be);
  EXPECT_EQ(error_of(counting("a", {2, 4}), {8, 9, 4, 36, 1, 9}), must_be);  // of 3 x 3 filters
  EXPECT_EQ(error_of(counting("a", {3, 0, 4}), layer(4)), path().string() + ": 'a' has no sample");
  io::Tensor broken = counting("a", {2, 4});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(broken.bytes.data() + 5 * sizeof nan, &nan, sizeof nan);
  EXPECT_EQ(error_of(broken, layer(4)), "tensor 'a': element 5 is NaN; weights that are pruned must be finite");
}

}  // namespace
}  // namespace sptc::prune
