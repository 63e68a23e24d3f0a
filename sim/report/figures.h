// SPDX-License-Identifier: Apache-2.0
//
// What results consist of. Text, JSON, CSV, HTML and Python walk these lists, so that none of them lacks a figure: a
// new one is a row of a list and nothing else.
#pragma once

#include "sim/run/pass_kind.h"
#include "sim/run/run_result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sptc::report {

using FigureValue = std::variant<std::int64_t, double, bool, std::string>;

template <typename Result>
struct Figure {
  std::string group;         ///< key of the object that holds it, "kernel"; empty: of none
  std::string key;           ///< in that object
  std::string_view unit;     ///< "us", "uJ", "bytes"; empty: a ratio, a word or a number of things
  std::string_view meaning;  ///< what a reader is told
  std::function<std::optional<FigureValue>(const Result&)> value;  ///< absent where it is not known

  /// "kernel.stages", "cycles".
  std::string path() const { return group.empty() ? key : group + "." + key; }
};
template <typename Result>
using Figures = std::vector<Figure<Result>>;

/// Figures of an operation, whichever its weights: what was asked.
const Figures<run::OperationResult>& asked_figures();
/// The same, dense beside sparse and, where its user asks why, sentences.
const Figures<run::OperationResult>& operation_figures(bool explained);
/// Sums over the network.
const Figures<run::VariantTotals>& total_figures();
/// The same, sparse against dense.
const Figures<run::Totals>& total_comparison_figures();

/// A pass of the network under an engine.
struct Pass {
  const run::InferenceTotals* totals = nullptr;
  std::int64_t inputs = 0;  ///< 0: not known
  run::PassKind kind;       ///< tokens, where it has some
};
const Figures<Pass>& pass_figures();

/// What a report says of a launch: kernel, time, traffic, energy; where its user asks why, stalls, gains of twice a
/// resource, events behind the energies; the check of its values.
const Figures<run::VariantResult>& variant_figures(bool explained);

/// Figures of each rail of the board in turn; none where the energy file names none.
Figures<run::EnergyResult> rail_figures(const run::EnergyResult& energy);

/// Calls `visit` with each of `figures` that `result` has, and its value.
template <typename Result, typename Visit>
void visit_figures(const Figures<Result>& figures, const Result& result, const Visit& visit) {
  for (const Figure<Result>& figure : figures) {
    if (const std::optional<FigureValue> value = figure.value(result)) {
      visit(figure, *value);
    }
  }
}

/// Text with as many digits as tell the value from its neighbours, or with `digits`.
std::string figure_text(const FigureValue& value, std::optional<int> digits = std::nullopt);

}  // namespace sptc::report
