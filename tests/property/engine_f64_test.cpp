// SPDX-License-Identifier: Apache-2.0
#include "models/base/random.h"
#include "models/batched/gemm.h"
#include "models/mma/dot_step.h"
#include "tests/property/engine_target.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

namespace sptc::batched {
namespace {

// Bit patterns of every kind: arbitrary, near one another (sums cancel), subnormal.
std::uint64_t any_f64(const base::RandomStream& random, std::uint64_t index, std::uint64_t style) {
  const std::uint64_t bits = random.bits(index);
  switch (style) {
    case 0:
      return bits;
    case 1:
      return std::bit_cast<std::uint64_t>(random.normal(index));
    case 2:
      return bits & 0x800FFFFFFFFFFFFFU;
    default:
      return (bits & 0x800000000000000FU) | 0x3FF0000000000000U;
  }
}

TEST(EngineF64, EqualsThePlainChainOnAnyBitsOnEveryTarget) {
  for (const std::int64_t target : supported_targets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const base::RandomStream random(seed);
      const std::size_t m = 1 + random.below(1, 9);
      const std::size_t n = 1 + random.below(2, 40);
      const std::size_t k = random.below(3, 300);
      base::Matrix<std::uint64_t> a(m, k);
      base::Matrix<std::uint64_t> b(n, k);
      base::Matrix<std::uint64_t> c(m, n);
      std::uint64_t index = 100;
      for (base::Matrix<std::uint64_t>* matrix : {&a, &b, &c}) {
        const std::uint64_t style = random.below(index, 4);
        for (std::size_t i = 0; i < matrix->size(); ++i) {
          matrix->data()[i] = any_f64(random, ++index, style);
        }
      }
      const base::Matrix<std::uint64_t> d = gemm_f64(a, b, &c, 2);
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          const std::uint64_t plain = mma::f64_dot(a.row(i), b.row(j), c(i, j));
          ASSERT_EQ(d(i, j), plain) << "seed " << seed << " at " << i << ", " << j;
        }
      }
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

TEST(EngineF64, RefusesExtentsThatDoNotFitTogether) {
  using Matrix = base::Matrix<std::uint64_t>;
  const Matrix a(2, 4), b(3, 4);
  for (const std::size_t k : {3, 5}) {
    support::expect_input_error(
        [&] { gemm_f64(a, Matrix(3, k), nullptr); },
        {"operand B holds columns of " + std::to_string(k) + " elements, but A has k = 4"});
  }
  for (const Matrix& c : {Matrix(1, 3), Matrix(3, 3), Matrix(2, 2), Matrix(2, 4)}) {
    support::expect_input_error([&] { gemm_f64(a, b, &c); },
                                {"operand C does not have the extents of D"});
  }
  support::expect_input_error([&] { gemm_f64(a, b, nullptr, 0); },
                              {"threads 0 must be at least 1"});
}

}  // namespace
}  // namespace sptc::batched
