// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/decision.h"
#include "sim/compare/points.h"
#include "sim/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace sptc::compare {
namespace {

using Stage = run::PassKind::Stage;

/// Columns of parts: waiting for the host and the rest are one.
constexpr std::size_t kShownParts = 4;
constexpr const char* kCaseRow = "{:<1} {:<8} {:<12} {:>8} {:>9} {:>8} {:>4} {:>8} {:>4} {:>4} {:>4} {:>5} {:>4} {:>7}";
constexpr const char* kImpossible = "  {:<8} {:<12} impossible ({})\n";

/// Reasons, each told once and called by its number.
using Reasons = std::vector<std::string>;

std::size_t number_of(const std::string& reason, Reasons& reasons) {
  const auto found = std::ranges::find(reasons, reason);
  const auto place = static_cast<std::size_t>(found - reasons.begin());
  if (found == reasons.end()) {
    reasons.push_back(reason);
  }
  return place + 1;
}

std::string number(double value) {
  constexpr double kWhole = 1000;
  return value <= 0 ? "n/a" : value >= kWhole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

/// "e4m3", over GPUs "e4m3 x2", with experts shared out "e4m3 e8".
std::string type_words(const ComparedPoint& point) {
  const char* const how = point.pass.shares_experts ? "e" : "x";
  return report::fitted_name(
      point.pass.gpus > 1 ? fmt::format("{} {}{}", point.type, how, point.pass.gpus) : point.type, 8);
}

/// "batch=8 on h100-sxm5-80gb: a decoding step, 8 users, 80 GiB a GPU".
std::string title_of(const ComparedPoint& point) {
  const run::PassKind& pass = point.pass;
  const std::string what =
      pass.stage == Stage::kDecode ? fmt::format("a decoding step, {} user{}", pass.inputs, pass.inputs == 1 ? "" : "s")
      : pass.stage == Stage::kPrefill ? fmt::format("prefill of {} x {} tokens", pass.inputs, pass.tokens)
      : pass.inputs > 0               ? fmt::format("a pass of {} input{}", pass.inputs, pass.inputs == 1 ? "" : "s")
                                      : "a pass";
  const auto knows = std::find_if(point.candidates.begin(), point.candidates.end(),
                                  [](const Candidate& one) { return one.memory.has_value(); });
  const double capacity = knows == point.candidates.end() ? 0 : knows->memory->capacity;
  const std::string dims = report::fitted_name(point.dims, 60);
  return "\n" +
         report::wrapped(
             fmt::format("{}{}{}: {}{}", dims, dims.empty() ? "" : " on ", report::fitted_name(point.board, 40), what,
                         capacity > 0 ? fmt::format(", {:.0f} GiB a GPU", capacity / run::kGib) : std::string()),
             report::kTextWidth);
}

std::string head_of(const run::PassKind& pass) {
  const std::string unit(pass.unit() == "token" ? "tok" : pass.unit());
  return report::line_of(
      fmt::format(kCaseRow, "", "type", "weights", pass.stage == Stage::kPrefill ? "first" : "latency", unit + "/s",
                  pass.stage == Stage::kDecode ? "per user" : "", "W", "J/" + unit, kPassParts[0].column,
                  kPassParts[1].column, kPassParts[2].column, kPassParts[3].column, "rest", "GiB"));
}

std::string memory_cell(const Candidate& candidate) {
  return candidate.memory ? fmt::format("{:.1f}{}", candidate.memory->total() / run::kGib, candidate.fits() ? " " : "!")
                          : "n/a ";
}

std::string row_of(const Choice& choice, bool is_best) {
  const ComparedPoint& point = *choice.point;
  const Candidate& candidate = *choice.candidate;
  const auto share = [&](double us) {
    return us > 0 ? fmt::format("{:.0f}%", 100 * us / candidate.us) : std::string("-");
  };
  const auto& parts = candidate.part_us;
  double rest = 0;
  for (std::size_t i = kShownParts; i < parts.size(); ++i) {
    rest += parts[i];
  }
  const double rate = choice.per_second();
  const auto users = static_cast<double>(std::max<std::int64_t>(point.pass.inputs, 1));
  return report::line_of(fmt::format(
      kCaseRow, is_best ? "*" : "", type_words(point), candidate.weights(), report::scaled_time(candidate.us),
      number(rate), point.pass.stage == Stage::kDecode ? number(rate / users) : "",
      candidate.watts > 0 ? fmt::format("{:.0f}", candidate.watts) : "n/a",
      candidate.uj > 0 ? fmt::format("{:.3g}", choice.joules_per_unit()) : "n/a", share(parts[0]), share(parts[1]),
      share(parts[2]), share(parts[3]), share(rest), memory_cell(candidate)));
}

std::string rows_of(const ComparedPoint& point, const Decision& decision, Reasons& reasons) {
  if (!point.failure.empty()) {
    return fmt::format(kImpossible, type_words(point), "any", number_of(point.failure, reasons));
  }
  std::string out;
  for (const Choice& choice : choices_of(point)) {
    const Candidate& candidate = *choice.candidate;
    out += candidate.impossible.empty() ? row_of(choice, decision.best == choice)
                                        : fmt::format(kImpossible, type_words(point), candidate.weights(),
                                                      number_of(candidate.impossible, reasons));
  }
  return out;
}

/// What lies between the best and the others.
std::string choice_lines(const Decision& decision) {
  if (!decision.best) {
    return "  nothing fits and runs\n";
  }
  std::string out;
  if (decision.second) {
    out += report::wrapped(fmt::format("* {}: {:.2f}x of the second, {}; {}", decision.best->words(), decision.gain,
                                       decision.second->words(), certainty_words(decision)),
                           report::kTextWidth);
  }
  if (decision.cheapest && decision.cheapest != decision.best) {
    const Choice& cheapest = *decision.cheapest;
    out += report::wrapped(fmt::format("  cheapest: {}, {:.3g} J for each {}", cheapest.words(),
                                       cheapest.joules_per_unit(), cheapest.point->pass.unit()),
                           report::kTextWidth);
  }
  return out;
}

/// Why it is not known how much memory a candidate takes; "": it is, or the board does not say how much it has.
std::string unknown_memory(const ComparedPoint& point) {
  const bool any = std::ranges::any_of(
      point.candidates, [](const Candidate& candidate) { return candidate.is_possible() && !candidate.memory; });
  return any && !point.does_not_fit.empty() ? "it " + point.does_not_fit : "";
}

}  // namespace

std::string decision_text(const BoardComparison& comparison) {
  std::string out =
      report::wrapped(decision_verdict(comparison), report::kTextWidth) + "Numbers: " + comparison.made_by + ".\n";
  Reasons reasons;
  std::set<std::string> unknown;
  for (const Decision& decision : decisions_of(comparison)) {
    const ComparedPoint& first = *decision.points.front();
    out += title_of(first) + head_of(first.pass);
    for (const ComparedPoint* const point : decision.points) {
      out += rows_of(*point, decision, reasons);
      for (const std::string& why : {point->no_energy, unknown_memory(*point)}) {
        if (!why.empty()) {
          unknown.insert(why);
        }
      }
    }
    out += choice_lines(decision);
  }
  out += "\n";
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    out += report::wrapped(fmt::format("({}) {}", i + 1, report::fitted_name(reasons[i], 600)), report::kTextWidth);
  }
  for (const std::string& reason : unknown) {
    out += report::wrapped("n/a: " + reason, report::kTextWidth);
  }
  return out + evidence_text(comparison) +
         report::wrapped(fmt::format("Figures: {}. *: the most per second and GPU that fits. !: more than the memory "
                                     "of the board. 2:4 3/4: of the weights that may be 2:4 three are, the others are "
                                     "faster dense. rest: what lies between, and waiting for the host. x2: layers "
                                     "split over 2 GPUs; e2: experts shared out over 2. 'run' has the layers.",
                                     comparison.scope),
                         report::kTextWidth);
}

}  // namespace sptc::compare
