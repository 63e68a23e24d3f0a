// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/decision.h"

#include "sim/report/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace sptc::compare {
namespace {

constexpr double kUsPerSecond = 1e6;
constexpr double kJoulesPerUj = 1e-6;

/// The choice of `decision` with the largest value above 0, dense before 2:4 where both have it, of those that a user
/// can have; `without`: not this one. A mix without 2:4 weights is the dense one beside it.
template <typename Value>
std::optional<Choice> largest(const Decision& decision, const Value& value,
                              const std::optional<Choice>& without = std::nullopt) {
  std::optional<Choice> found;
  double most = 0;
  for (const ComparedPoint* const point : decision.points) {
    for (const Choice& choice : choices_of(*point)) {
      const Candidate& candidate = *choice.candidate;
      const bool is_twin =
          candidate.sparse && candidate.sparse_weights == 0 && &candidate != &point->candidates.front();
      const bool is_allowed = candidate.is_possible() && candidate.fits() && !is_twin && choice != without;
      if (const double of_this = is_allowed ? value(choice) : 0; of_this > most) {
        most = of_this;
        found = choice;
      }
    }
  }
  return found;
}

/// The list of `key` among `lists`, which are in the order in which their keys came.
template <typename Item>
std::vector<Item>& list_of(std::vector<std::pair<std::string, std::vector<Item>>>& lists, const std::string& key) {
  const auto found = std::ranges::find(lists, key, [](const auto& list) { return list.first; });
  return found != lists.end() ? found->second : lists.emplace_back(key, std::vector<Item>()).second;
}

/// What is best on each board with which dimensions: "on a: e4m3 dense (batch=1, batch=8); on b: bf16 2:4".
std::string choices_by_board(const std::vector<Decision>& decisions) {
  using Dims = std::pair<std::string, std::vector<std::string>>;  // of one choice
  std::vector<std::pair<std::string, std::vector<Dims>>> boards;
  for (const Decision& decision : decisions) {
    const ComparedPoint& first = *decision.points.front();
    list_of(list_of(boards, first.board), decision.best ? decision.best->words() : "nothing").push_back(first.dims);
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
        (fastest == nullptr || decision.best->per_second_of_each() > fastest->best->per_second_of_each())) {
      fastest = &decision;
    }
  }
  if (fastest == nullptr) {
    return "";
  }
  const Choice& best = *fastest->best;
  const bool any_faster = std::ranges::any_of(comparison.points, [&](const ComparedPoint& point) {
    return std::ranges::any_of(choices_of(point), [&](const Choice& other) {
      return other.candidate->is_possible() && !other.candidate->fits() &&
             other.per_second_of_each() > best.per_second_of_each();
    });
  });
  const std::string_view unit = best.point->pass.unit();
  const double joules = best.joules_per_unit();
  return fmt::format(" Fastest of all{}: {} on {}, {} {}{} per second{}{}; {}.", any_faster ? " that fit" : "",
                     best.words(), place_words(*best.point), rate_words(best.per_second()), unit,
                     unit == "pass" ? "es" : "s", joules > 0 ? fmt::format(", {:.3g} J for each", joules) : "",
                     fastest->second ? fmt::format(", {:.2f}x of {}", fastest->gain, fastest->second->words()) : "",
                     largest_part(*best.candidate));
}

/// Whether dense weights of the same type would be faster than `choice`, which is 2:4, but do not fit.
bool stands_in_for_dense(const Choice& choice) {
  return std::ranges::any_of(choice.point->candidates, [&](const Candidate& dense) {
    return !dense.sparse && dense.is_possible() && !dense.fits() && dense.us < choice.candidate->us;
  });
}

/// The cases in which 2:4 is the fastest, or would not be if dense weights fitted, and what it gains over dense weights
/// of the same type.
std::string sparsity_sentence(const BoardComparison& comparison, const std::vector<Decision>& decisions) {
  std::size_t wins = 0;
  std::size_t decided = 0;
  std::size_t in_place_of_dense = 0;
  for (const Decision& decision : decisions) {
    const bool is_sparse = decision.best && decision.best->candidate->sparse;
    decided += decision.best ? 1 : 0;
    wins += is_sparse ? 1 : 0;
    in_place_of_dense += is_sparse && stands_in_for_dense(*decision.best) ? 1 : 0;
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
      " 2:4 is the {} in {} of {} cases{}; it is at best {:.2f}x as fast as dense weights of the same type ({} on {}).",
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
  return alike == 0
             ? fmt::format(
                   " How sure: more than the mean error of gains lies between best and second in {} of {} cases{}.",
                   compared - unknown, compared, not_known)
             : fmt::format(
                   " How sure: of {} cases best and second cannot be told apart in {}, since less lies between them "
                   "than the mean error of gains{}.",
                   compared, alike, not_known);
}

}  // namespace

std::optional<bool> Decision::is_told_apart() const {
  if (!second || !error_percent) {
    return std::nullopt;
  }
  return gain > 1 + *error_percent / 100;
}

double Choice::per_second() const {
  return candidate->us > 0 ? kUsPerSecond * point->pass.units() / candidate->us : 0;
}

double Choice::joules_per_unit() const {
  return kJoulesPerUj * candidate->uj * point->pass.gpus / point->pass.units();
}

std::string Choice::words() const {
  const run::PassKind& pass = point->pass;
  return fmt::format(
      "{} {}{}", point->type, candidate->sparse ? "2:4" : "dense",
      pass.gpus > 1 ? fmt::format("{} over {} GPUs", pass.shares_experts ? ", experts" : "", pass.gpus) : "");
}

std::vector<Choice> choices_of(const ComparedPoint& point) {
  std::vector<Choice> choices;
  for (const Candidate& candidate : point.candidates) {
    choices.push_back({&point, &candidate});
  }
  return choices;
}

std::vector<Decision> decisions_of(const BoardComparison& comparison) {
  std::vector<Decision> decisions;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const ComparedPoint& point : comparison.points) {
    const auto [place, is_new] = places.try_emplace({point.dims, point.board}, decisions.size());
    if (is_new) {
      decisions.emplace_back();
    }
    decisions[place->second].points.push_back(&point);
  }
  for (Decision& decision : decisions) {
    decision.best = largest(decision, std::mem_fn(&Choice::per_second_of_each));
    decision.cheapest = largest(decision, [](const Choice& choice) {
      const double joules = choice.joules_per_unit();
      return joules > 0 ? 1 / joules : 0;
    });
    decision.second = largest(decision, std::mem_fn(&Choice::per_second_of_each), decision.best);
    if (decision.second) {
      decision.gain = decision.best->per_second_of_each() / decision.second->per_second_of_each();
      const auto& error = decision.best->point->error_percent;
      const auto& other = decision.second->point->error_percent;
      if (error && other) {
        decision.error_percent = std::max(*error, *other);
      }
    }
  }
  return decisions;
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
  return fmt::format("Choose {} ({}; {}).{}{}{}", choices_by_board(decisions), name, comparison.scope,
                     fastest_sentence(comparison, decisions), sparsity_sentence(comparison, decisions),
                     certainty_sentence(decisions));
}

}  // namespace sptc::compare
