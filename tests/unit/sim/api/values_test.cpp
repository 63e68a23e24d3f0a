// SPDX-License-Identifier: Apache-2.0
#include "models/base/random.h"
#include "models/mma/dot_step.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <sptcsim/values.h>

namespace sptcsim {
namespace {

Matrix<Word> normal(std::size_t rows, std::size_t cols, DataType type, const char* name) {
  const sptc::base::RandomStream random = sptc::base::RandomStream(1).fork(name);
  Matrix<Word> result(rows, cols);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result.data()[i] = from_double(random.normal(i), type);
  }
  return result;
}

TEST(ApiValues, ADenseGemmIsTheDotProductsOfTheInstruction) {
  const Arithmetic arithmetic = arithmetic_of("H100", "mma.m16n8k16.f32.bf16.bf16.f32");
  const Matrix<Word> a = normal(5, 48, DataType::kBf16, "a");
  const Matrix<Word> b = normal(48, 7, DataType::kBf16, "b");
  const Matrix<Word> c = normal(5, 7, DataType::kF32, "c");
  const Matrix<Word> d = gemm(arithmetic, a, b, &c, 2);
  const Matrix<Word> columns = b.transposed();
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      EXPECT_EQ(d(i, j),
                sptc::mma::dense_dot(a.row(i), columns.row(j), c(i, j), arithmetic.instruction, arithmetic.rules));
    }
  }
}

TEST(ApiValues, ASparseGemmMeetsTheRowsOfBThatMetadataNames) {
  for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
    const Arithmetic arithmetic = gemm_arithmetic("A100", type, true);
    const CompressedMatrix a = compress(prune_by_magnitude(normal(4, 128, type, "a"), type), type);
    const Matrix<Word> b = normal(128, 3, type, "b");
    const Matrix<Word> d = gemm(arithmetic, a, b);
    const Matrix<Word> columns = b.transposed();
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        EXPECT_EQ(d(i, j), sptc::mma::sparse_dot(a.values.row(i), a.nibbles.row(i), columns.row(j), 0,
                                                 arithmetic.instruction, arithmetic.rules));
      }
    }
  }
}

TEST(ApiValues, WhatDoesNotFitIsRefused) {
  using sptc::support::expect_input_error;
  expect_input_error([] { gemm_arithmetic("A1000", DataType::kF16, true); }, {"A1000"});
  expect_input_error([] { gemm_arithmetic("V100", DataType::kF16, true); }, {"sm_70"});
  const Arithmetic dense = gemm_arithmetic("A100", DataType::kF16, false);
  expect_input_error([&] { gemm(dense, Matrix<Word>(2, 32), Matrix<Word>(31, 2)); }, {"31"});
}

}  // namespace
}  // namespace sptcsim
