// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_table.h"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace sptc::sweep {
namespace {

constexpr std::string_view kEnergyTotal = "_energy_uj_total";

/// Less is better. Its parts are what it consists of where constants leave it open.
struct Objective {
  const SweepColumn* column;
  bool is_area = false;
  Columns parts;  ///< null: no row has it
};

Objective objective_of(const SweepTable& table, const SweepColumn& column) {
  Objective objective{&column, column.name == "area_mm2", {}};
  if (objective.is_area) {
    for (const energy::AreaConstant& constant : energy::kAreaConstants) {
      objective.parts.push_back(table.find_total(fmt::format("area_mm2_{}", constant.name)));
    }
  } else if (column.name.ends_with(kEnergyTotal)) {
    const std::string variant = column.name.substr(0, column.name.size() - kEnergyTotal.size());
    for (const std::string_view part : energy::kEnergyPartNames) {
      objective.parts.push_back(table.find_total(fmt::format("{}_energy_uj_{}", variant, part)));
    }
  }
  return objective;
}

/// Compares rows by their objectives, at all values of the constants.
class CostComparison {
 public:
  CostComparison(const SweepTable& table, const CostSets& sets, const Columns& objectives)
      : sets_(sets), columns_(objectives), amounts_(sets.factors.size()) {
    for (const SweepColumn* column : objectives) {
      objectives_.push_back(objective_of(table, *column));
    }
    const auto found_axes = std::views::transform(sets.axes, [&](const auto& axis) { return table.find(axis); });
    const Columns axes(found_axes.begin(), found_axes.end());
    std::vector<std::string> values(axes.size());
    for (std::size_t row = 0; row < table.rows; ++row) {
      for (std::size_t i = 0; i < axes.size(); ++i) {
        values[i] = axes[i] == nullptr ? "" : table.text(*axes[i], row);
      }
      const auto found = sets.set_of.find(values);
      set_of_.push_back(found == sets.set_of.end() ? nullptr : &sets.sets[found->second]);
    }
  }

  /// Whether `a` is no worse than `b` at every value and better at the stated ones.
  bool beats_always(std::size_t a, std::size_t b) {
    return beats(columns_, a, b) && std::ranges::all_of(objectives_, [&](const Objective& objective) {
             return excess(objective, b, a).low >= 0;
           });
  }

  bool are_equal(std::size_t a, std::size_t b) {
    return std::ranges::all_of(objectives_, [&](const Objective& objective) {
      const energy::Bounds bounds = excess(objective, a, b);
      return bounds.low == 0 && bounds.high == 0;
    });
  }

  /// Whether `a` may be no worse than `b` in each objective, and better in one.
  bool may_beat(std::size_t a, std::size_t b) {
    bool better = false;
    for (const Objective& objective : objectives_) {
      const double most = excess(objective, b, a).high;
      if (most < 0) {
        return false;
      }
      better = better || most > 0;
    }
    return better;
  }

 private:
  /// How much `a` costs more than `b`.
  energy::Bounds excess(const Objective& objective, std::size_t a, std::size_t b) {
    if (objective.parts.empty() || set_of_[a] == nullptr || set_of_[b] == nullptr) {
      const double more = objective.column->numbers[a] - objective.column->numbers[b];
      const double stated = objective.column->more_is_better() ? -more : more;
      return {stated, stated};
    }
    std::ranges::fill(amounts_, 0);
    // Part by part, so that equal rows differ by nothing: sums of several parts are rounded.
    for (std::size_t part = 0; part < objective.parts.size(); ++part) {
      for (const auto& [row, sign] : {std::pair(a, 1.0), std::pair(b, -1.0)}) {
        const SweepColumn* const column = objective.parts[part];
        const double amount = column == nullptr || !column->numeric ? 0 : column->numbers[row];
        if (!std::isnan(amount)) {
          const CostSets::Set& set = *set_of_[row];
          amounts_[static_cast<std::size_t>(objective.is_area ? set.area[part] : set.energy[part])] += sign * amount;
        }
      }
    }
    return sum_bounds(sets_.factors, amounts_);
  }

  const CostSets& sets_;
  const Columns& columns_;  ///< of the objectives
  std::vector<Objective> objectives_;
  std::vector<const CostSets::Set*> set_of_;  ///< of each row; null: none
  std::vector<double> amounts_;
};

void add_front(const std::vector<std::size_t>& rows, const std::set<std::size_t>& stated, CostComparison& costs,
               std::vector<FrontRow>& front) {
  const std::vector<FrontPlace> places = unbeaten(
      rows, [&](auto a, auto b) { return costs.are_equal(a, b); },
      [&](auto a, auto b) { return costs.beats_always(a, b); });
  bool certain = false;
  for (const auto& [row, first] : places) {
    if (row == first) {  // those that follow and cost the same share what is found
      const auto may_beat = [&, at = row](const FrontPlace& other) {
        return other.row == other.first && other.row != at && costs.may_beat(other.row, at);
      };
      certain = stated.contains(row) && std::ranges::none_of(places, may_beat);
    }
    front.push_back({row, stated.contains(row), certain});
  }
}

}  // namespace

std::vector<FrontRow> front_within_ranges(const SweepTable& table, const Columns& objectives) {
  const std::vector<std::size_t> at_stated = pareto_front(table, objectives);
  const std::set<std::size_t> stated(at_stated.begin(), at_stated.end());
  std::vector<FrontRow> front;
  if (table.costs.sets.empty()) {
    for (const std::size_t row : at_stated) {
      front.push_back({row, true, true});
    }
    return front;
  }
  CostComparison costs(table, table.costs, objectives);
  for (const std::vector<std::size_t>& rows : rows_by_workload(table, objectives)) {
    add_front(rows, stated, costs, front);
  }
  return front;
}

std::vector<FrontGroup> equal_rows(const SweepTable& table, const Columns& objectives,
                                   const std::vector<FrontRow>& front) {
  const SweepColumn* const workload = table.find("workload");
  std::map<std::vector<double>, std::size_t> places;
  std::vector<FrontGroup> groups;
  for (const FrontRow& one : front) {
    std::vector<double> key{one.stated ? 1.0 : 0.0, one.certain ? 1.0 : 0.0};
    if (workload != nullptr) {
      key.push_back(workload->numbers[one.row]);
    }
    for (const SweepColumn* objective : objectives) {
      key.push_back(objective->numbers[one.row]);
    }
    const auto [place, added] = places.try_emplace(std::move(key), groups.size());
    if (added) {
      groups.push_back({{}, one.stated, one.certain});
    }
    groups[place->second].rows.push_back(one.row);
  }
  return groups;
}

}  // namespace sptc::sweep
