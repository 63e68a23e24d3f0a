// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/launch_conditions.h"

#include "models/base/error.h"
#include "models/base/text.h"

#include <array>
#include <charconv>
#include <cstddef>

namespace sptc::kernels {
namespace {

constexpr std::array<std::string_view, 3> kLaunchModes{"stream", "graph", "eager"};
constexpr std::array<std::string_view, 2> kFp8Accumulations{"fast", "promoted"};
constexpr std::array<std::string_view, 2> kAlgorithms{"default", "best"};
// K before N, n-major before m-major. What says nothing of B has K contiguous.
constexpr std::array<std::string_view, 4> kLayouts{"Kc/n-major", "Kc/m-major", "Nc/n-major", "Nc/m-major"};
constexpr std::array<std::string_view, 3> kL2States{"cold", "warm", "rotate:N"};
constexpr std::string_view kRotate = "rotate:";

}  // namespace

std::string L2State::name() const {
  return kind == Kind::kRotate ? std::string(kRotate) + std::to_string(weights)
                               : std::string(kL2States[static_cast<std::size_t>(kind)]);
}

std::string_view OperandLayout::name() const {
  return kLayouts[(k_contiguous ? 0U : 2U) + (n_major ? 0U : 1U)];
}

std::string_view name(LaunchMode mode) {
  return kLaunchModes[static_cast<std::size_t>(mode)];
}

std::string_view name(Algorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

L2State parse_l2_state(std::string_view what, std::string_view word) {
  if (word.starts_with(kRotate)) {
    const std::string_view digits = word.substr(kRotate.size());
    int weights = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), weights);
    if (error != std::errc() || end != digits.data() + digits.size() || weights < 1 ||
        weights > L2State::kMostWeights) {
      throw base::InputError(std::string(what) + ": '" + std::string(digits) +
                             "' weights cannot take turns; rotate:N has an N from 1 to " +
                             std::to_string(L2State::kMostWeights));
    }
    return {L2State::Kind::kRotate, weights};
  }
  return {static_cast<L2State::Kind>(base::place_of_name(what, word, kL2States)), 1};
}

LaunchMode parse_launch_mode(std::string_view what, std::string_view word) {
  return static_cast<LaunchMode>(base::place_of_name(what, word, kLaunchModes));
}

Algorithm parse_algorithm(std::string_view what, std::string_view word) {
  return word == "heuristic" ? Algorithm::kHeuristic
                             : static_cast<Algorithm>(base::place_of_name(what, word, kAlgorithms));
}

Fp8Accumulation parse_fp8_accumulation(std::string_view what, std::string_view word) {
  return static_cast<Fp8Accumulation>(base::place_of_name(what, word, kFp8Accumulations));
}

OperandLayout parse_layout(std::string_view what, std::string_view word) {
  if (word == "n-major" || word == "m-major") {
    return {true, word == "n-major"};
  }
  const std::size_t index = base::place_of_name(what, word, kLayouts);
  return {index < 2, index % 2 == 0};
}

}  // namespace sptc::kernels
