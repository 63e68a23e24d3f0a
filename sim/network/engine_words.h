// SPDX-License-Identifier: Apache-2.0
//
// Words and limits of an engine file, for its reader and its schema.
#pragma once

#include "sim/network/engine.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::network {

inline constexpr std::array<std::pair<std::string_view, FusionRule::Kind>, 5> kRuleKinds{
    {{"epilogue", FusionRule::Kind::kEpilogue},
     {"conv_epilogue", FusionRule::Kind::kConvolutionEpilogue},
     {"attention", FusionRule::Kind::kAttention},
     {"chain", FusionRule::Kind::kChain},
     {"siblings", FusionRule::Kind::kSiblings}}};
inline constexpr std::array<std::string_view, 2> kScopes{"network", "gemms"};
inline constexpr std::array<std::string_view, 2> kSparseResults{"contiguous", "transposed"};
inline constexpr double kMostOfNumber = 1e5;

inline std::vector<std::string_view> rule_kind_names() {
  std::vector<std::string_view> names;
  names.reserve(kRuleKinds.size());
  for (const auto& [word, unused] : kRuleKinds) {
    names.push_back(word);
  }
  return names;
}

}  // namespace sptc::network
