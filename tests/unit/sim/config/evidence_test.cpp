// SPDX-License-Identifier: Apache-2.0
// One rule for the evidence of all shipped numbers (configs/README.md).
#include "sim/config/architecture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace sptc::config {
namespace {

/// What a source says of a number that was not measured on its chip, of the parts of a published
/// sum, of what somebody remembers, and of a physical end that a fit comes near.
constexpr std::array<std::string_view, 8> kAssumed{
    "is assumed",     "assumed to be the same", "as on the ", "taken for ",
    "as fitted for ", "recalled, not read",     "at hand",    "free fit"};

TEST(Evidence, OfWhatASourceCallsAssumedOrTakenFromElsewhereIsAssumed) {
  int found = 0;
  for (const std::string& name : architecture_names()) {
    for (const Parameter& parameter : load_architecture(name).parameters) {
      const bool says_so = std::ranges::any_of(
          kAssumed, [&](std::string_view words) { return parameter.source.find(words) != std::string::npos; });
      if (says_so) {
        EXPECT_EQ(parameter.evidence, "assumed") << name << ' ' << parameter.pointer;
        ++found;
      }
    }
  }
  EXPECT_GT(found, 100);
}

}  // namespace
}  // namespace sptc::config
