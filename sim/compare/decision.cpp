// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/decision.h"

#include "sim/report/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace sptc::compare {
namespace {

constexpr double kUsPerSecond = 1e6;
constexpr double kJoulesPerUj = 1e-6;

/// Calls `visit` with each candidate of `decision` that a user can have, and its place. A mix
/// without 2:4 weights is the dense one beside it.
template <typename Visit>
void visit_choices(const BoardComparison& comparison, const Decision& decision, const Visit& visit) {
  for (const std::size_t p : decision.points) {
    const ComparedPoint& point = comparison.points[p];
    for (std::size_t c = 0; c < point.candidates.size(); ++c) {
      const Candidate& candidate = point.candidates[c];
      const bool is_twin = c > 0 && candidate.sparse && candidate.sparse_weights == 0;
      if (candidate.is_possible() && candidate.fits() && !is_twin) {
        visit(point, candidate, Pick{p, c});
      }
    }
  }
}

/// The choice with the largest value above 0, dense before 2:4 where both have it; `without`: not
/// this one.
template <typename Value>
std::optional<Pick> largest(const BoardComparison& comparison, const Decision& decision, const Value& value,
                            const std::optional<Pick>& without = {}) {
  std::optional<Pick> pick;
  double most = 0;
  visit_choices(comparison, decision, [&](const ComparedPoint& point, const Candidate& candidate, const Pick& at) {
    const double of_this = value(point, candidate);
    if (of_this > most && !(without && *without == at)) {
      most = of_this;
      pick = at;
    }
  });
  return pick;
}

const ComparedPoint& point_of(const BoardComparison& comparison, const Pick& pick) {
  return comparison.points[pick.point];
}
const Candidate& candidate_of(const BoardComparison& comparison, const Pick& pick) {
  return point_of(comparison, pick).candidates[pick.candidate];
}
/// What one of its GPUs works off in a second, by which a choice is the best.
double of_each_gpu(const ComparedPoint& point, const Candidate& candidate) {
  return per_second(point, candidate) / point.pass.gpus;
}

double rate_of(const BoardComparison& comparison, const Pick& pick) {
  return of_each_gpu(point_of(comparison, pick), candidate_of(comparison, pick));
}
std::string words_of(const BoardComparison& comparison, const Pick& pick) {
  return choice_words(point_of(comparison, pick), candidate_of(comparison, pick));
}

/// What is best on each board with which dimensions: "on a: e4m3 dense (batch=1, batch=8); on b:
/// bf16 2:4".
std::string choices_by_board(const BoardComparison& comparison, const std::vector<Decision>& decisions) {
  using Choices = std::vector<std::pair<std::string, std::vector<std::string>>>;
  std::vector<std::pair<std::string, Choices>> boards;
  for (const Decision& decision : decisions) {
    const ComparedPoint& first = comparison.points[decision.points.front()];
    auto board = std::find_if(boards.begin(), boards.end(), [&](const auto& row) { return row.first == first.board; });
    if (board == boards.end()) {
      board = boards.emplace(boards.end(), first.board, Choices());
    }
    const std::string words = decision.best ? words_of(comparison, *decision.best) : "nothing";
    Choices& choices = board->second;
    auto choice = std::find_if(choices.begin(), choices.end(), [&](const auto& row) { return row.first == words; });
    if (choice == choices.end()) {
      choice = choices.emplace(choices.end(), words, std::vector<std::string>());
    }
    choice->second.push_back(first.dims);
  }
  std::vector<std::string> clauses;
  for (const auto& [board, choices] : boards) {
    std::vector<std::string> parts;
    for (const auto& [words, dims] : choices) {
      parts.push_back(choices.size() == 1 ? words : fmt::format("{} ({})", words, fmt::join(dims, "; ")));
    }
    clauses.push_back(fmt::format("on {} {}", board, fmt::join(parts, ", ")));
  }
  return fmt::format("{}", fmt::join(clauses, "; "));
}

/// "68 % of its time are GEMMs" of the part that takes most.
std::string largest_part(const Candidate& candidate) {
  const auto largest_us = std::max_element(candidate.part_us.begin(), candidate.part_us.end());
  const auto place = static_cast<std::size_t>(largest_us - candidate.part_us.begin());
  return fmt::format("{:.0f} % of its time: {}", 100 * *largest_us / candidate.us, kPassParts[place].words);
}

std::string rate_words(double per_second) {
  constexpr double kWithoutTenths = 100;
  return fmt::format("{:.{}f}", per_second, per_second < kWithoutTenths ? 1 : 0);
}

/// The fastest choice of all boards and dimensions, and why.
std::string fastest_sentence(const BoardComparison& comparison, const std::vector<Decision>& decisions) {
  const Decision* fastest = nullptr;
  for (const Decision& decision : decisions) {
    if (decision.best &&
        (fastest == nullptr || rate_of(comparison, *decision.best) > rate_of(comparison, *fastest->best))) {
      fastest = &decision;
    }
  }
  if (fastest == nullptr) {
    return "";
  }
  const ComparedPoint& point = point_of(comparison, *fastest->best);
  const Candidate& candidate = candidate_of(comparison, *fastest->best);
  const double joules = joules_per_unit(point, candidate);
  const double rate = of_each_gpu(point, candidate);
  const bool any_faster = std::ranges::any_of(comparison.points, [rate](const ComparedPoint& one) {
    return std::ranges::any_of(one.candidates, [&](const Candidate& other) {
      return other.is_possible() && !other.fits() && of_each_gpu(one, other) > rate;
    });
  });
  return fmt::format(
      " Fastest of all{}: {} on {}, {} {}{} per second{}{}; {}.", any_faster ? " that fit" : "",
      choice_words(point, candidate), place_words(point), rate_words(per_second(point, candidate)), point.pass.unit(),
      point.pass.unit() == "pass" ? "es" : "s", joules > 0 ? fmt::format(", {:.3g} J for each", joules) : "",
      fastest->second ? fmt::format(", {:.2f}x of {}", fastest->gain, words_of(comparison, *fastest->second)) : "",
      largest_part(candidate));
}

/// Whether dense weights of the same type would be faster than `pick`, which is 2:4, but do not fit.
bool stands_in_for_dense(const BoardComparison& comparison, const Pick& pick) {
  const Candidate& sparse = candidate_of(comparison, pick);
  return std::ranges::any_of(point_of(comparison, pick).candidates, [&](const Candidate& dense) {
    return !dense.sparse && dense.is_possible() && !dense.fits() && dense.us < sparse.us;
  });
}

/// The cases in which 2:4 is the fastest, or would not be if dense weights fitted, and what it gains over dense weights
/// of the same type.
std::string sparsity_sentence(const BoardComparison& comparison, const std::vector<Decision>& decisions) {
  std::size_t wins = 0;
  std::size_t decided = 0;
  std::size_t in_place_of_dense = 0;
  for (const Decision& decision : decisions) {
    const bool is_sparse = decision.best && candidate_of(comparison, *decision.best).sparse;
    decided += decision.best ? 1 : 0;
    wins += is_sparse ? 1 : 0;
    in_place_of_dense += is_sparse && stands_in_for_dense(comparison, *decision.best) ? 1 : 0;
  }
  const ComparedPoint* most = nullptr;
  for (const ComparedPoint& point : comparison.points) {
    if (const auto gain = point.total.gain(); gain && (most == nullptr || *gain > *most->total.gain())) {
      most = &point;
    }
  }
  if (most == nullptr || decided == 0) {
    return "";
  }
  const std::string why = in_place_of_dense == 0 ? ""
                          : in_place_of_dense == wins
                              ? ", as dense weights do not fit"
                              : fmt::format(", in {} of them as dense weights do not fit", in_place_of_dense);
  return fmt::format(
      " 2:4 is the {} in {} of {} cases{}; it is at best {:.2f}x as fast as dense weights of "
      "the same type ({} on {}).",
      why.empty() ? "fastest" : "choice", wins, decided, why, *most->total.gain(), most->type, place_words(*most));
}

/// How many choices are surer than the error of gains.
std::string certainty_sentence(const std::vector<Decision>& decisions) {
  std::size_t compared = 0;
  std::size_t alike = 0;
  std::size_t unknown = 0;
  const Decision* only = nullptr;
  for (const Decision& decision : decisions) {
    if (decision.second) {
      const std::optional<bool> apart = decision.is_told_apart();
      ++compared;
      alike += apart && !*apart ? 1 : 0;
      unknown += apart ? 0 : 1;
      only = &decision;
    }
  }
  if (compared == 0) {
    return "";
  }
  if (compared == 1) {
    return fmt::format(" How sure: {}.", certainty_words(*only));
  }
  const std::string not_known = unknown > 0 ? fmt::format("; in {} the error of gains is not known", unknown) : "";
  if (unknown == compared) {
    return fmt::format(" How sure: the error of gains is not known in any of {} cases.", compared);
  }
  return alike == 0 ? fmt::format(
                          " How sure: more than the mean error of gains lies between best and "
                          "second in {} of {} cases{}.",
                          compared - unknown, compared, not_known)
                    : fmt::format(
                          " How sure: of {} cases best and second cannot be told apart in {}, since "
                          "less lies between them than the mean error of gains{}.",
                          compared, alike, not_known);
}

}  // namespace

std::optional<bool> Decision::is_told_apart() const {
  if (!second || !error_percent) {
    return std::nullopt;
  }
  return gain > 1 + *error_percent / 100;
}

double per_second(const ComparedPoint& point, const Candidate& candidate) {
  return candidate.us > 0 ? kUsPerSecond * point.pass.units() / candidate.us : 0;
}

double joules_per_unit(const ComparedPoint& point, const Candidate& candidate) {
  return kJoulesPerUj * candidate.uj * point.pass.gpus / point.pass.units();
}

std::vector<Decision> decisions_of(const BoardComparison& comparison) {
  std::vector<Decision> decisions;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < comparison.points.size(); ++i) {
    const ComparedPoint& point = comparison.points[i];
    const auto [place, is_new] = places.try_emplace({point.dims, point.board}, decisions.size());
    if (is_new) {
      decisions.emplace_back();
    }
    decisions[place->second].points.push_back(i);
  }
  for (Decision& decision : decisions) {
    decision.best = largest(comparison, decision, of_each_gpu);
    decision.cheapest = largest(comparison, decision, [](const auto& point, const auto& candidate) {
      const double joules = joules_per_unit(point, candidate);
      return joules > 0 ? 1 / joules : 0;
    });
    decision.second = largest(comparison, decision, of_each_gpu, decision.best);
    if (decision.second) {
      decision.gain = rate_of(comparison, *decision.best) / rate_of(comparison, *decision.second);
      const auto& error = point_of(comparison, *decision.best).error_percent;
      const auto& other = point_of(comparison, *decision.second).error_percent;
      if (error && other) {
        decision.error_percent = std::max(*error, *other);
      }
    }
  }
  return decisions;
}

std::string choice_words(const ComparedPoint& point, const Candidate& candidate) {
  return fmt::format("{} {}{}", point.type, candidate.sparse ? "2:4" : "dense",
                     point.pass.gpus > 1
                         ? fmt::format("{} over {} GPUs", point.pass.shares_experts ? ", experts" : "", point.pass.gpus)
                         : "");
}

std::string place_words(const ComparedPoint& point) {
  return point.board + (point.dims.empty() ? "" : " with " + point.dims);
}

std::string certainty_words(const Decision& decision) {
  const std::optional<bool> apart = decision.is_told_apart();
  if (!apart) {
    return "the error of gains so far from measurements is not known";
  }
  return fmt::format("the mean error of gains is {:.0f} %, {}", *decision.error_percent,
                     *apart ? "less than what lies between the two" : "so that the two cannot be told apart");
}

std::string decision_verdict(const BoardComparison& comparison) {
  const std::vector<Decision> decisions = decisions_of(comparison);
  const bool any = std::any_of(decisions.begin(), decisions.end(),
                               [](const Decision& decision) { return decision.best.has_value(); });
  const std::string name = report::fitted_name(comparison.workload, 90);
  if (!any) {
    return fmt::format("Nothing that was asked for fits and runs ({}).", name);
  }
  return fmt::format("Choose {} ({}; {}).{}{}{}", choices_by_board(comparison, decisions), name, comparison.scope,
                     fastest_sentence(comparison, decisions), sparsity_sentence(comparison, decisions),
                     certainty_sentence(decisions));
}

}  // namespace sptc::compare
