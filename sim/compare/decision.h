// SPDX-License-Identifier: Apache-2.0
//
// What to choose of a comparison of types.
#pragma once

#include "sim/compare/comparison.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace sptc::compare {

/// A candidate and the point that it is of. The comparison outlives it.
struct Choice {
  const ComparedPoint* point = nullptr;
  const Candidate* candidate = nullptr;

  /// Tokens, inputs or passes per second of the GPUs together.
  double per_second() const;
  /// The same of one GPU, by which a choice is the best.
  double per_second_of_each() const { return per_second() / point->pass.gpus; }
  /// Joules of all GPUs for a token, an input or a pass; 0: not known.
  double joules_per_unit() const;
  /// "e4m3 2:4 over 2 GPUs", or "e4m3 2:4, experts over 8 GPUs".
  std::string words() const;
  bool operator==(const Choice&) const = default;
};

std::vector<Choice> choices_of(const ComparedPoint& point);

/// The choice of one board with one combination of dimensions.
struct Decision {
  std::vector<const ComparedPoint*> points;
  /// Choices that fit: most tokens (inputs) per second and GPU, the next one, and the fewest joules for each. Nothing
  /// where there is none, or no energy is known.
  std::optional<Choice> best, second, cheapest;
  double gain = 0;  ///< rate of each GPU of the best over that of the second; 0: there is no second
  /// Mean error of gains, the larger one of both; nothing where one is not known.
  std::optional<double> error_percent;

  /// Whether the error of gains is less than what lies between best and second; nothing where that is not known.
  std::optional<bool> is_told_apart() const;
};

/// One for each combination of dimensions and board, in the order of the points.
std::vector<Decision> decisions_of(const BoardComparison& comparison);

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
