// SPDX-License-Identifier: Apache-2.0
//
// What to choose of a comparison of types.
#pragma once

#include "sim/compare/comparison.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sptc::compare {

/// A candidate, and where it stands: BoardComparison::points[point].candidates[candidate].
struct Pick {
  std::size_t point = 0, candidate = 0;

  bool operator==(const Pick&) const = default;
};

/// The choice of one board with one combination of dimensions.
struct Decision {
  std::vector<std::size_t> points;  ///< places of its points
  /// Picks of what fits: most tokens (inputs) per second and GPU, the next one, and the fewest
  /// joules for each. Nothing where there is none, or no energy is known.
  std::optional<Pick> best, second, cheapest;
  double gain = 0;  ///< rate of each GPU of the best over that of the second; 0: there is no second
  /// Mean error of gains, the larger one of both; nothing where one is not known.
  std::optional<double> error_percent;

  /// Whether the error of gains is less than what lies between best and second; nothing where that
  /// is not known.
  std::optional<bool> is_told_apart() const;
};

/// One for each combination of dimensions and board, in the order of the points.
std::vector<Decision> decisions_of(const BoardComparison& comparison);

/// Tokens, inputs or passes per second of the GPUs together.
double per_second(const ComparedPoint& point, const Candidate& candidate);
/// Joules of all GPUs for a token, an input or a pass; 0: not known.
double joules_per_unit(const ComparedPoint& point, const Candidate& candidate);

/// "e4m3 2:4 over 2 GPUs", or "e4m3 2:4, experts over 8 GPUs".
std::string choice_words(const ComparedPoint& point, const Candidate& candidate);
/// "h100-sxm5-80gb with batch=8".
std::string place_words(const ComparedPoint& point);
/// How sure the choice is, in a sentence without its end: "the error of gains .. is 14 %, ..".
std::string certainty_words(const Decision& decision);

std::string decision_verdict(const BoardComparison& comparison);
/// The text, in lines of at most 100 characters.
std::string decision_text(const BoardComparison& comparison);
/// One row per candidate.
std::string decision_csv(const BoardComparison& comparison);
/// Adds "type", "tp", "ep", "pass" and "candidates" to the object of `point`.
void add_candidates(const ComparedPoint& point, nlohmann::ordered_json& json);
/// Adds "types" and "decisions" to the object of a comparison.
void add_decisions(const BoardComparison& comparison, nlohmann::ordered_json& json);

}  // namespace sptc::compare
