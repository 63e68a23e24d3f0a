// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/cost_sets.h"
#include "sim/sweep/results_file.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::sweep {

/// The ratio up to which two figures count as equally good: half a percent.
inline constexpr double kTie = 1.005;

/// One column of the results, for all rows. Equal cells have equal numbers.
struct SweepColumn {
  enum class Role { kPosition, kStatus, kReason, kAxis, kTotal };
  std::string name;
  Role role = Role::kTotal;
  bool numeric = true;  ///< no row holds a word
  /// Of each row; NaN where there is none. Where the column is not numeric, a place in `words`, or
  /// -1.
  std::vector<double> numbers;
  std::vector<std::string> words;  ///< in the order of their appearance

  /// Of totals: whether more is better (speedup, tflops, accuracy), as the name says.
  bool more_is_better() const;
};

/// Results of a sweep without the JSON of each run.
struct SweepTable {
  SweepEntries entries;
  CostSets costs;  ///< empty: results of a program that did not say
  std::vector<SweepColumn> columns;
  std::size_t rows = 0;
  std::size_t failures = 0;
  std::size_t missing = 0;  ///< points of the sweep that have no row

  /// The column `name`; null where there is none.
  const SweepColumn* find(std::string_view name) const;
  /// The same of totals: an axis may have the name of one.
  const SweepColumn* find_total(std::string_view name) const;
  /// Whether row `row` has results.
  bool done(std::size_t row) const;
  /// The cell as text; empty where there is none.
  std::string text(const SweepColumn& column, std::size_t row) const;
};

/// The columns that say between what a total lies as the constants of energy and area do; null
/// where none does.
struct RangeColumns {
  const SweepColumn* low = nullptr;
  const SweepColumn* high = nullptr;
};
RangeColumns range_of(const SweepTable& table, const SweepColumn& total);

SweepTable read_sweep_table(const std::filesystem::path& results);

/// The totals of a trade-off: time, then energy and area where the results have them, else
/// accuracy; of the sparse variant where it was simulated, else of the dense one.
std::vector<const SweepColumn*> default_objectives(const SweepTable& table);

/// Of each workload the rows that have all of `objectives`, ascending by the first one, then by the
/// others: no row beats one that comes before it.
std::vector<std::vector<std::size_t>> rows_by_workload(
    const SweepTable& table, const std::vector<const SweepColumn*>& objectives);

/// Whether row `a` is at least as good as `b` in all of `objectives`, and better in one: there, of
/// figures above 0, the worse one is more than `tie` times the better one.
bool beats(const std::vector<const SweepColumn*>& objectives, std::size_t a, std::size_t b,
           double tie = 1);

/// Something that holds of two rows.
using RowRelation = std::function<bool(std::size_t a, std::size_t b)>;

/// A row on a front, and the first of those that are equal to it.
struct FrontPlace {
  std::size_t row = 0, first = 0;
};

/// The rows that no other one of `rows` beats. One that beats another comes before it in `rows`,
/// and equal ones follow one another.
std::vector<FrontPlace> unbeaten(const std::vector<std::size_t>& rows, const RowRelation& are_equal,
                                 const RowRelation& beats);

/// Rows that no other row of the same workload beats. Rows without a value for one of `objectives`
/// are left out. Ascending by workload, then by the first objective.
std::vector<std::size_t> pareto_front(const SweepTable& table,
                                      const std::vector<const SweepColumn*>& objectives);

/// What changing one axis alone does to one figure: rows that are equal in all other axes form a
/// group, and of each group the ratio of the largest to the smallest figure counts.
struct Sensitivity {
  const SweepColumn* axis = nullptr;
  const SweepColumn* figure = nullptr;
  std::size_t groups = 0;    ///< of at least two rows; none: the axis never changes alone
  double typical_ratio = 1;  ///< geometric mean over the groups
  double largest_ratio = 1;
  /// That most groups have the best figure at, or within half a percent of it; of several a tie.
  std::string best_value;
};

/// Of every axis with more than one value (the workload apart) on every objective and the speed-up.
std::vector<Sensitivity> sensitivities(const SweepTable& table);

}  // namespace sptc::sweep
