// SPDX-License-Identifier: Apache-2.0
#include "models/base/random.h"
#include "models/batched/f64_gemm.h"
#include "models/mma/f64_dot.h"
#include "tests/property/engine_target.h"

#include <gtest/gtest.h>

#include <bit>

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

}  // namespace
}  // namespace sptc::batched
