// SPDX-License-Identifier: Apache-2.0
#include "models/base/units.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace sptc::base {
namespace {

using Cycles = Quantity<struct CyclesTag>;

TEST(Quantity, AddsSubtractsScalesAndCompares) {
  Cycles cycles(5);
  cycles += Cycles(3);
  EXPECT_EQ(cycles, Cycles(8));
  cycles -= Cycles(1);
  EXPECT_EQ((cycles + Cycles(1) - Cycles(2)).count(), 6);
  EXPECT_EQ(3 * Cycles(2), Cycles(2) * 3);
  EXPECT_LT(Cycles(1), Cycles(2));
  EXPECT_EQ(Cycles().count(), 0);
}

TEST(Quantity, OfDifferentThingsDoNotMix) {
  static_assert(!std::is_convertible_v<Cycles, Bytes>);
  static_assert(!std::is_convertible_v<std::int64_t, Cycles>);
  static_assert(!std::is_convertible_v<Cycles, std::int64_t>);
}

}  // namespace
}  // namespace sptc::base
