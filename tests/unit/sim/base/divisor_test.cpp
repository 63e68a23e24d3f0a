// SPDX-License-Identifier: Apache-2.0
#include "sim/base/divisor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace sptc::base {
namespace {

TEST(Divisor, DividesAsTheProcessorDoes) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> numbers{0, 1, 2, 3, kMost, kMost - 1, kMost / 2, kMost / 2 + 1};
  std::uint64_t random = 1;
  for (int i = 0; i < 300; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    numbers.push_back(random >> (i % 64));
  }
  for (const std::uint64_t by : numbers) {
    if (by == 0) {
      continue;
    }
    const Divisor divisor(by);
    for (const std::uint64_t number : numbers) {
      // Itself, and the numbers around a multiple.
      for (const std::uint64_t at : {number, number / by * by, number / by * by - 1}) {
        ASSERT_EQ(divisor.quotient(at), at / by) << at << " / " << by;
        ASSERT_EQ(divisor.remainder(at), at % by) << at << " % " << by;
      }
    }
  }
}

}  // namespace
}  // namespace sptc::base
