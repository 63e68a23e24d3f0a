// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/cost_sets.h"
#include "sim/sweep/results_file.h"

namespace sptc::sweep {

/// The ratio up to which two figures count as equally good: half a percent.
inline constexpr double kTie = 1.005;

/// One column of the results, for all rows. Equal cells have equal numbers.
struct SweepColumn {
  enum class Role { kPosition, kStatus, kReason, kAxis, kTotal };
  std::string name;
  Role role = Role::kTotal;
  bool numeric = true;  ///< no row holds a word
  /// The number of each row; NaN where there is none. Words have a place in `words`, or -1.
  std::vector<double> numbers;
  std::vector<std::string> words;  ///< in the order of their appearance

  /// Whether more of a total is better (speedup, tflops, accuracy), as the name says.
  bool more_is_better() const;
};

using Columns = std::vector<const SweepColumn*>;

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
  bool done(std::size_t row) const;
  /// The cell as text; empty where there is none.
  std::string text(const SweepColumn& column, std::size_t row) const;
};

/// Between what a total lies as the constants of energy and area do; null where none says it.
struct RangeColumns {
  const SweepColumn* low = nullptr;
  const SweepColumn* high = nullptr;
};
RangeColumns range_of(const SweepTable& table, const SweepColumn& total);

SweepTable read_sweep_table(const std::filesystem::path& results);

/// The totals of a trade-off: time, then energy and area where the results have them, else
/// accuracy; of the sparse variant where it was simulated, else of the dense one.
Columns default_objectives(const SweepTable& table);

/// Rows of each workload that have all `objectives`: no row beats one that comes before it.
std::vector<std::vector<std::size_t>> rows_by_workload(const SweepTable& table, const Columns& objectives);

/// Whether row `a` is at least as good as `b` in all of `objectives`, and better in one: there, of
/// figures above 0, the worse one is more than `tie` times the better one.
bool beats(const Columns& objectives, std::size_t a, std::size_t b, double tie = 1);

using RowRelation = std::function<bool(std::size_t a, std::size_t b)>;

/// A row on a front, and the first of those that are equal to it.
struct FrontPlace {
  std::size_t row = 0, first = 0;
};

/// The rows that no other one of `rows` beats. One that beats another comes before it in `rows`,
/// and equal ones follow one another.
std::vector<FrontPlace> unbeaten(const std::vector<std::size_t>& rows, const RowRelation& are_equal,
                                 const RowRelation& beats);

/// Rows that have all `objectives` and that no other of their workload beats, in that order.
std::vector<std::size_t> pareto_front(const SweepTable& table, const Columns& objectives);

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

/// The effect of every axis with more than one value (the workload apart) on every objective and the speed-up.
std::vector<Sensitivity> sensitivities(const SweepTable& table);

/// A row on the Pareto front of its workload for some values of the constants, within their ranges.
struct FrontRow {
  std::size_t row = 0;
  bool stated = false;   ///< it is for the values that the energy files state
  bool certain = false;  ///< it is for all values
};

/// The front of every workload, in the order of pareto_front(). Two rows are compared with the same values of all
/// constants that they share. No row is certain that another one, at other constants than the stated ones, may beat.
/// Where the results name no constants, all rows are stated and certain.
std::vector<FrontRow> front_within_ranges(const SweepTable& table, const Columns& objectives);

/// Rows of one front that are equal in all objectives: what differs between them changes nothing.
struct FrontGroup {
  std::vector<std::size_t> rows;
  bool stated = false, certain = false;
};

/// Groups in the order in which the first of each stands in `front`.
std::vector<FrontGroup> equal_rows(const SweepTable& table, const Columns& objectives,
                                   const std::vector<FrontRow>& front);

}  // namespace sptc::sweep
