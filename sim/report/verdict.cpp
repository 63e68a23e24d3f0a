// SPDX-License-Identifier: Apache-2.0
#include "sim/report/verdict.h"

#include "models/numerics/data_type.h"
#include "sim/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace sptc::report {
namespace {

constexpr std::size_t kWidestName = 40;

/// Whether a pass, or without an engine a launch, takes more than the power limit at the lowest clock.
bool exceeds_limit(const run::RunResult& result) {
  bool exceeded = false;
  if (const auto& inference = result.inference) {
    for (const auto* const pass : {&inference->dense, &inference->sparse, &inference->mix}) {
      exceeded = exceeded || (*pass && (*pass)->limit_exceeded);
    }
    return exceeded;
  }
  result.for_each_variant([&](const run::OperationResult& /*op*/, const run::VariantResult& variant, bool /*sparse*/) {
    exceeded = exceeded || (variant.energy && variant.energy->limit_exceeded);
  });
  return exceeded;
}

/// "clock limited by 300 W" of "limited by 300 W, at most boost", and whether even the lowest clock takes more.
std::string clock_words(const run::RunResult& result) {
  for (const auto& [key, value] : result.options) {
    if (key == "clock") {
      return "clock " + value.substr(0, value.find(',')) +
             (exceeds_limit(result) ? ", exceeded even at the lowest clock" : "");
    }
  }
  return "";
}

std::string conditions(const run::RunResult& result) {
  const std::string clock = clock_words(result);
  return fmt::format("{} on {}{}{}{}", fitted_name(result.workload, 2 * kWidestName + 10), result.arch,
                     clock.empty() ? "" : ", ", clock, result.made_by.empty() ? "" : "; " + result.made_by);
}

std::string per_watt(const run::Totals& totals) {
  if (!totals.performance_per_watt_ratio) {
    return "";
  }
  return fmt::format(", {:.2f}x per watt{}", *totals.performance_per_watt_ratio,
                     totals.per_watt_bounds
                         ? fmt::format(" ({:.2f} to {:.2f})", totals.per_watt_bounds->low, totals.per_watt_bounds->high)
                         : "");
}

/// "gains: 1.27x the speed of dense".
std::string gain_words(double speedup) {
  constexpr std::string_view kWords[] = {"loses", "is as fast as dense", "gains"};
  return fmt::format("{}: {:.2f}x the speed of dense", kWords[static_cast<std::size_t>(sign_of_gain(speedup) + 1)],
                     speedup);
}

/// A sentence on whole inferences under an engine; empty where none was asked for.
std::string inference_sentence(const run::RunResult& result) {
  if (!result.inference || (!result.inference->dense && !result.inference->sparse)) {
    return "";
  }
  if (!result.inference->dense || !result.inference->sparse) {
    const bool is_dense = result.inference->dense.has_value();
    const auto& only = is_dense ? result.inference->dense : result.inference->sparse;
    return fmt::format("{} takes {} in one inference under engine {} ({}).", is_dense ? "Dense" : pattern_of(result),
                       scaled_time(only->latency_us), result.inference->engine, conditions(result));
  }
  const run::InferenceTotals& dense = *result.inference->dense;
  const run::InferenceTotals& sparse = *result.inference->sparse;
  return fmt::format("{} {} in one inference under engine {} ({}){}.", pattern_of(result), gain_words(*result.gain()),
                     result.inference->engine, conditions(result),
                     dense.energy_uj && sparse.energy_uj
                         ? fmt::format(", {:.2f}x per watt", *dense.energy_uj / *sparse.energy_uj)
                         : "");
}

std::string gain_sentence(const run::RunResult& result) {
  if (std::string inference = inference_sentence(result); !inference.empty()) {
    return inference;
  }
  const run::Totals& totals = result.totals;
  if (totals.speedup) {
    return fmt::format("{} {} ({}){}.", pattern_of(result), gain_words(*totals.speedup), conditions(result),
                       per_watt(totals));
  }
  const auto& only = totals.dense ? totals.dense : totals.sparse;
  return only ? fmt::format("{} {} ({}).", totals.dense ? "Dense takes" : pattern_of(result) + " takes",
                            scaled_time(only->time_us), conditions(result))
              : "";
}

/// "That is with the kernels that the library's search finds; with its default ones (Kc/n-major) 2:4 runs at 0.71x the
/// speed of dense (closed form)."
std::string path_sentence(const run::RunResult& result) {
  if (!result.path) {
    return "";
  }
  const run::LibraryPath& path = *result.path;
  const bool best = path.algorithm == kernels::Algorithm::kBest;
  const std::string pattern = pattern_of(result);
  const std::string searched = fmt::format("the {} kernels that the library's search finds", pattern);
  const std::string usual = fmt::format("the library's default {} kernels ({})", pattern, path.layout.name());
  if (!path.default_known) {
    return best ? fmt::format("That is with {}; its default ones are not known for this board.", searched)
                : fmt::format(
                      "Which {} kernels the library takes by default is not known for this "
                      "board: that is with those that a heuristic would take.",
                      pattern);
  }
  return fmt::format("That is with {}{}.", best ? searched : usual,
                     path.other_gain ? fmt::format("; with {} {} runs at {:.2f}x the speed of dense (closed "
                                                   "form)",
                                                   best ? usual : searched, pattern, *path.other_gain)
                                     : "");
}

/// "attn.output 1.37x, bound by the L2".
std::string clause(const run::OperationResult& op) {
  const std::string_view bound = bound_of(*op.sparse);
  return fmt::format("{} {:.2f}x{}", fitted_layer(op.name, kWidestName), *op.speedup(),
                     bound.empty() ? "" : fmt::format(" (bound by {})", bound));
}

std::string extremes_sentence(const run::RunResult& result) {
  const run::OperationResult* least = nullptr;
  const run::OperationResult* most = nullptr;
  std::size_t count = 0;
  for (const run::OperationResult& op : result.operations) {
    const auto speedup = op.speedup();
    if (!speedup) {
      continue;
    }
    ++count;
    least = least == nullptr || *speedup < *least->speedup() ? &op : least;
    most = most == nullptr || *speedup > *most->speedup() ? &op : most;
  }
  if (count == 0) {
    return "";
  }
  if (count == 1) {
    const std::string_view dense = bound_of(*least->dense), sparse = bound_of(*least->sparse);
    return dense.empty() || sparse.empty()
               ? ""
               : fmt::format("Bound by: {} (dense), {} ({}).", dense, sparse, least->pattern);
  }
  return fmt::format("Least: {}. Most: {}.", clause(*least), clause(*most));
}

/// "where 'mlp.down' claims 1.39x", of the layer that a measured pair is like.
std::string claim_clause(const run::RunResult& result, const run::MeasuredPair& pair) {
  for (const run::OperationResult& op : result.operations) {
    if (op.speedup() && op.batch == 1 && pair.is_like(op.shape, op.dtype, op.pattern)) {
      return fmt::format(", where {} claims {:.2f}x", fitted_layer(op.name, kWidestName), *op.speedup());
    }
  }
  return "";
}

/// A sentence on too few pairs for a mean: the first ones. Conditions and claims stand behind the last of the pairs
/// that have the same.
std::string few_pairs_sentence(const run::RunResult& result, const run::MeasuredGain& measured) {
  constexpr std::size_t kMost = 3;
  const std::size_t count = measured.pairs.size();
  const std::size_t told = std::min(count, kMost);
  std::string text = fmt::format("{} measured shape{} like these {} too few for a mean error: ", count,
                                 count == 1 ? "" : "s", count == 1 ? "is" : "are");
  const auto common = [&](std::size_t i) {
    return fmt::format(" the speed of dense ({}){}", measured.pairs[i].conditions,
                       claim_clause(result, measured.pairs[i]));
  };
  for (std::size_t i = 0; i < told; ++i) {
    const run::MeasuredPair& pair = measured.pairs[i];
    const std::string behind = common(i);
    const bool goes_on = i > 0 && common(i - 1) == behind;
    text += fmt::format("{}{} x {} x {} in {} {}at {:.2f}x",
                        i == 0    ? ""
                        : goes_on ? ", "
                                  : "; ",
                        pair.shape.m, pair.shape.n, pair.shape.k, numerics::name(pair.dtype), goes_on ? "" : "ran ",
                        pair.gain());
    text += i + 1 < told && common(i + 1) == behind ? "" : behind;
  }
  return text + (count > kMost ? fmt::format("; and {} more.", count - kMost) : ".");
}

/// "On 37 measured shapes like these the gain was off by 8 % on average."
std::string measured_sentence(const run::RunResult& result) {
  const auto& measured = result.measured_gain;
  if (!measured || measured->layers == 0) {
    return "";
  }
  if (!measured->is_known()) {
    return measured->pairs.empty() ? "There are no measured shapes like these." : few_pairs_sentence(result, *measured);
  }
  const std::string like = measured->layers_like == measured->layers
                               ? "these"
                               : fmt::format("{} of these {} layers", measured->layers_like, measured->layers);
  return fmt::format("On {} measured shapes like {} the gain was off by {:.0f} % on average.", measured->pairs.size(),
                     like, measured->mean_error_percent());
}

/// "a100-pcie-80gb", "h100-pcie and 2 more".
std::string boards_of(const run::EvidenceDistance& evidence) {
  const std::size_t more = evidence.boards.size() - 1;
  return evidence.boards.front() + (more > 0 ? fmt::format(" and {} more", more) : "");
}

/// "measured on its chip, GA100 (a100-pcie-80gb)".
std::string nearest_clause(const run::EvidenceDistance& evidence) {
  using enum run::EvidenceDistance::Where;
  const std::string_view words = evidence_words(evidence.where);
  if (evidence.where == kBoard) {
    return std::string(words);
  }
  return evidence.where == kNone
             ? fmt::format("measured {} of its generation, {}", words, evidence.generation)
             : fmt::format("measured {}, {} ({})", words, evidence.where == kChip ? evidence.chip : evidence.generation,
                           boards_of(evidence));
}

}  // namespace

std::string_view evidence_words(run::EvidenceDistance::Where where) {
  constexpr std::array<std::string_view, 4> kWords{"measured on this board", "on its chip", "on its generation",
                                                   "on none"};
  return kWords[static_cast<std::size_t>(where)];
}

std::string evidence_sentence(const run::EvidenceDistance& evidence, bool has_gains) {
  if (evidence.own_design) {
    return "measured on none, for it is a design of one's own.";
  }
  return fmt::format("{} {}; mean error of gains{}: {}.", numerics::name(evidence.type), nearest_clause(evidence),
                     has_gains ? "" : ", where there are any",
                     evidence.mean_error_percent ? fmt::format("{:.0f} %", *evidence.mean_error_percent) : "not known");
}

Verdict verdict_of(const run::RunResult& result) {
  return {
      gain_sentence(result), path_sentence(result), extremes_sentence(result), measured_sentence(result),
      result.evidence ? "Evidence: " + evidence_sentence(*result.evidence, result.gain().has_value()) : std::string()};
}

std::string_view bound_of(const run::VariantResult& variant) {
  const auto& what_if = variant.explanation.what_if;
  return what_if ? run::name_of(what_if->bound_by()).column : std::string_view();
}

std::string pattern_of(const run::RunResult& result) {
  std::string pattern;
  for (const run::OperationResult& op : result.operations) {
    if (op.sparse && pattern != op.pattern) {
      if (!pattern.empty()) {
        return "sparsity";
      }
      pattern = op.pattern;
    }
  }
  return pattern;
}

std::string sparse_column(const run::RunResult& result) {
  const std::string pattern = pattern_of(result);
  return pattern.empty() ? "sparse" : pattern;
}

int sign_of_gain(double speedup) {
  constexpr double kWorthAWord = 0.02;
  return speedup >= 1 + kWorthAWord ? 1 : speedup <= 1 - kWorthAWord ? -1 : 0;
}

}  // namespace sptc::report
