// SPDX-License-Identifier: Apache-2.0
#include "models/base/matrix.h"

#include "models/base/error.h"

#include <gtest/gtest.h>

namespace sptc::base {
namespace {

TEST(Matrix, IsRowMajor) {
  Matrix<int> matrix(2, 3);
  matrix(0, 2) = 7;
  matrix(1, 0) = 8;
  EXPECT_EQ(matrix.data()[2], 7);
  EXPECT_EQ(matrix.data()[3], 8);
  EXPECT_EQ(matrix.row(1)[0], 8);
  EXPECT_EQ(matrix.row(0).size(), 3U);
  EXPECT_EQ(matrix.size(), 6U);
}

TEST(Matrix, IsFilledWithTheGivenValue) {
  const Matrix<int> matrix(2, 2, 4);
  EXPECT_EQ(matrix(1, 1), 4);
  EXPECT_TRUE(Matrix<int>().empty());
  EXPECT_TRUE(Matrix<int>(0, 5).empty());
}

TEST(Matrix, TransposesAndBack) {
  Matrix<int> matrix(2, 3);
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t c = 0; c < 3; ++c) {
      matrix(r, c) = static_cast<int>(10 * r + c);
    }
  }
  const Matrix<int> transposed = matrix.transposed();
  EXPECT_EQ(transposed.rows(), 3U);
  EXPECT_EQ(transposed(2, 1), 12);
  EXPECT_EQ(transposed.transposed(), matrix);
}

TEST(Matrix, OfOtherExtentsIsDifferentEvenWithTheSameElements) {
  EXPECT_NE(Matrix<int>(2, 3), Matrix<int>(3, 2));
}

TEST(Ensure, ThrowsInternalErrorWhereTheInvariantDoesNotHold) {
  EXPECT_NO_THROW(ensure(true, "fine"));
  EXPECT_THROW(ensure(false, "broken"), InternalError);
}

}  // namespace
}  // namespace sptc::base
