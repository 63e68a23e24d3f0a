// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_table.h"

#include "sim/io/text_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

namespace sptc::sweep {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr double kNoWord = -1;

/// Fills a column row by row; it turns into words when it meets one.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(SweepColumn& column) : column_(column) {}

  void add(const Statement& rows, int index) {
    const Statement::Type type = rows.type(index);
    if (type == Statement::Type::kText && column_.numeric) {
      column_.numeric = false;
      for (double& number : column_.numbers) {
        number = std::isnan(number) ? kNoWord : place_of(fmt::format("{}", number));
      }
    }
    const bool nothing = type == Statement::Type::kNull;
    column_.numbers.push_back(column_.numeric ? (nothing ? kNothing : rows.real(index))
                              : nothing       ? kNoWord
                                              : place_of(std::string(rows.text(index))));
  }

 private:
  double place_of(const std::string& word) {
    const auto [found, added] = places_.try_emplace(word, column_.words.size());
    if (added) {
      column_.words.push_back(word);
    }
    return static_cast<double>(found->second);
  }

  SweepColumn& column_;
  std::unordered_map<std::string, std::size_t> places_;  ///< of words
};

SweepColumn::Role role_of(const std::string& name, const std::set<std::string>& axes) {
  using Role = SweepColumn::Role;
  return name == "position"    ? Role::kPosition
         : name == "status"    ? Role::kStatus
         : name == "reason"    ? Role::kReason
         : axes.contains(name) ? Role::kAxis
                               : Role::kTotal;
}

/// Orders by the first objective in which they differ, the better one first.
bool comes_before(const Columns& objectives, std::size_t a, std::size_t b) {
  for (const SweepColumn* objective : objectives) {
    const double sign = objective->more_is_better() ? -1 : 1;
    const double left = sign * objective->numbers[a];
    const double right = sign * objective->numbers[b];
    if (left != right) {
      return left < right;
    }
  }
  return false;
}

/// Values of an axis in its order, and in how many groups each is as good as the best one.
using BestCounts = std::map<double, std::pair<std::string, std::size_t>>;

/// Counts the best of `rows`, which differ in `axis` alone: those within kTie of the best are as good.
void count_best(const SweepTable& table, const SweepColumn& axis, const SweepColumn& figure,
                const std::vector<std::size_t>& rows, BestCounts& counts) {
  const bool more = figure.more_is_better();
  const auto worse = [&](std::size_t a, std::size_t b) {
    return more ? figure.numbers[a] < figure.numbers[b] : figure.numbers[a] > figure.numbers[b];
  };
  const double best = figure.numbers[*std::ranges::max_element(rows, worse)];
  for (const std::size_t row : rows) {
    const double number = figure.numbers[row];
    if ((more ? best / number : number / best) <= kTie) {
      auto& [text, count] = counts[axis.numbers[row]];
      text = table.text(axis, row);
      ++count;
    }
  }
}

/// The value that is best most often, or a tie: "tie: 54, 108" of two, else "tie: 54 to 216".
std::string best_values(const BestCounts& counts) {
  std::size_t most = 0;
  for (const auto& [key, value] : counts) {
    most = std::max(most, value.second);
  }
  std::vector<std::string> best;
  for (const auto& [key, value] : counts) {
    if (value.second == most) {
      best.push_back(value.first);
    }
  }
  return best.size() == 1 ? best.front() : "tie: " + best.front() + (best.size() == 2 ? ", " : " to ") + best.back();
}

Sensitivity sensitivity(const SweepTable& table, const SweepColumn& axis, const SweepColumn& figure) {
  Columns others;
  for (const SweepColumn& column : table.columns) {
    if (column.role == SweepColumn::Role::kAxis && &column != &axis) {
      others.push_back(&column);
    }
  }
  std::map<std::vector<double>, std::vector<std::size_t>> groups;
  for (std::size_t row = 0; row < table.rows; ++row) {
    if (!table.done(row) || !(figure.numbers[row] > 0)) {
      continue;
    }
    const auto key = std::views::transform(others, [&](const auto* other) { return other->numbers[row]; });
    groups[{key.begin(), key.end()}].push_back(row);
  }
  Sensitivity result{&axis, &figure, 0, 1, 1, {}};
  double logarithms = 0;
  BestCounts best;
  for (const auto& [key, rows] : groups) {
    if (rows.size() < 2) {
      continue;
    }
    ++result.groups;
    const auto less = [&](std::size_t a, std::size_t b) { return figure.numbers[a] < figure.numbers[b]; };
    const auto [smallest, largest] = std::ranges::minmax_element(rows, less);
    const double ratio = figure.numbers[*largest] / figure.numbers[*smallest];
    logarithms += std::log(ratio);
    result.largest_ratio = std::max(result.largest_ratio, ratio);
    count_best(table, axis, figure, rows, best);
  }
  if (result.groups > 0) {
    result.typical_ratio = std::exp(logarithms / static_cast<double>(result.groups));
    result.best_value = best_values(best);
  }
  return result;
}

}  // namespace

bool SweepColumn::more_is_better() const {
  constexpr std::array<std::string_view, 4> kWords = {"speedup", "flops", "accuracy", "performance"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

const SweepColumn* SweepTable::find(std::string_view name) const {
  const auto found = std::ranges::find_if(columns, [&](const SweepColumn& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

const SweepColumn* SweepTable::find_total(std::string_view name) const {
  const SweepColumn* const column = find(name);
  return column != nullptr && column->role == SweepColumn::Role::kTotal ? column : nullptr;
}

bool SweepTable::done(std::size_t row) const {
  return text(*find("status"), row) == "done";
}

std::string SweepTable::text(const SweepColumn& column, std::size_t row) const {
  const double number = column.numbers[row];
  if (column.numeric) {
    return std::isnan(number) ? "" : fmt::format("{}", number);
  }
  return number < 0 ? "" : column.words[static_cast<std::size_t>(number)];
}

RangeColumns range_of(const SweepTable& table, const SweepColumn& total) {
  constexpr std::string_view kTotal = "_total";
  std::string_view name = total.name;
  if (name.ends_with(kTotal)) {
    name.remove_suffix(kTotal.size());
  }
  const auto end = [&](std::string_view which) -> const SweepColumn* {
    const SweepColumn* const column = table.find_total(fmt::format("{}_{}", name, which));
    return column != nullptr && column->numeric ? column : nullptr;
  };
  const RangeColumns range{end("low"), end("high")};
  return range.low != nullptr && range.high != nullptr ? range : RangeColumns{};
}

SweepTable read_sweep_table(const std::filesystem::path& results) {
  Database database = open_sweep(results);
  SweepTable table;
  table.entries = read_entries(database);
  if (const auto costs = table.entries.texts.find("costs"); costs != table.entries.texts.end()) {
    table.costs = parse_cost_sets(nlohmann::json::parse(costs->second, nullptr, false), database.file());
  }
  if (columns_of(database, "points").empty()) {
    io::refuse("{}: the sweep has not stored a point yet", database.file());
  }
  ResultRows rows(database, points_layout(table.entries.axes));
  const std::set<std::string> axes(table.entries.axes.begin(), table.entries.axes.end());
  std::vector<int> shown;
  for (std::size_t i = 0; i < rows.columns().size(); ++i) {
    const std::string& name = rows.columns()[i];
    if (name != "hash" && name != "notes") {
      shown.push_back(static_cast<int>(i));
    }
  }
  const auto name_of = [&](int column) { return rows.columns()[static_cast<std::size_t>(column)]; };
  std::ranges::stable_partition(shown, [&](int column) { return name_of(column) != "reason"; });
  for (const int column : shown) {
    const SweepColumn::Role role = role_of(name_of(column), axes);
    const bool numeric = role != SweepColumn::Role::kStatus && role != SweepColumn::Role::kReason;
    table.columns.push_back({name_of(column), role, numeric, {}, {}});
  }
  std::vector<ColumnBuilder> builders(table.columns.begin(), table.columns.end());
  while (rows.step()) {
    for (std::size_t i = 0; i < builders.size(); ++i) {
      builders[i].add(rows.row(), shown[i]);
    }
    ++table.rows;
  }
  table.missing = table.entries.missing(table.rows);
  for (std::size_t row = 0; row < table.rows; ++row) {
    table.failures += !table.done(row);
  }
  return table;
}

Columns default_objectives(const SweepTable& table) {
  for (const std::string variant : {"sparse_", "dense_"}) {
    const SweepColumn* const time = table.find_total(variant + "time_us");
    if (time == nullptr) {
      continue;
    }
    Columns objectives{time};
    const auto add_first = [&](std::string_view word) {
      for (const SweepColumn& total : table.columns) {
        if (total.role == SweepColumn::Role::kTotal && total.name.find(word) != std::string::npos &&
            (total.name.starts_with(variant) || total.name == word || total.name.starts_with("total_"))) {
          objectives.push_back(&total);
          return true;
        }
      }
      return false;
    };
    // The whole, not its first part in the alphabet.
    const bool energy = add_first("energy_uj_total") || add_first("energy");
    const bool area = add_first("area_mm2") || add_first("area");
    if (!energy && !area) {
      add_first("accuracy");
    }
    return objectives;
  }
  return {};
}

std::vector<std::vector<std::size_t>> rows_by_workload(const SweepTable& table, const Columns& objectives) {
  const SweepColumn* const workload = table.find("workload");
  std::map<double, std::vector<std::size_t>> of_workload;
  for (std::size_t row = 0; row < table.rows; ++row) {
    const bool whole =
        std::ranges::none_of(objectives, [&](const auto* column) { return std::isnan(column->numbers[row]); });
    if (whole && !objectives.empty() && table.done(row)) {
      of_workload[workload == nullptr ? 0 : workload->numbers[row]].push_back(row);
    }
  }
  std::vector<std::vector<std::size_t>> result;
  for (auto& [number, rows] : of_workload) {
    std::ranges::stable_sort(rows, [&](std::size_t a, std::size_t b) { return comes_before(objectives, a, b); });
    result.push_back(std::move(rows));
  }
  return result;
}

bool beats(const Columns& objectives, std::size_t a, std::size_t b, double tie) {
  bool better = false;
  for (const SweepColumn* objective : objectives) {
    double less = objective->numbers[a];
    double more = objective->numbers[b];
    if (objective->more_is_better()) {
      std::swap(less, more);
    }
    if (less > more) {
      return false;
    }
    better = better || more > tie * less;
  }
  return better;
}

std::vector<FrontPlace> unbeaten(const std::vector<std::size_t>& rows, const RowRelation& are_equal,
                                 const RowRelation& beats) {
  std::vector<FrontPlace> front;
  std::vector<std::size_t> distinct;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t row = rows[i];
    if (i > 0 && are_equal(rows[i - 1], row)) {
      if (!front.empty() && front.back().row == rows[i - 1]) {
        front.push_back({row, front.back().first});
      }
      continue;
    }
    // Most rows are beaten by one that came shortly before.
    const bool beaten =
        std::any_of(distinct.rbegin(), distinct.rend(), [&](std::size_t other) { return beats(other, row); });
    if (!beaten) {
      front.push_back({row, row});
      distinct.push_back(row);
    }
  }
  return front;
}

std::vector<std::size_t> pareto_front(const SweepTable& table, const Columns& objectives) {
  const auto are_equal = [&](auto a, auto b) { return !comes_before(objectives, a, b); };
  const auto beats_row = [&](auto a, auto b) { return beats(objectives, a, b); };
  std::vector<std::size_t> front;
  for (const std::vector<std::size_t>& rows : rows_by_workload(table, objectives)) {
    for (const FrontPlace& place : unbeaten(rows, are_equal, beats_row)) {
      front.push_back(place.row);
    }
  }
  return front;
}

std::vector<Sensitivity> sensitivities(const SweepTable& table) {
  Columns figures = default_objectives(table);
  if (const SweepColumn* speedup = table.find_total("speedup")) {
    figures.push_back(speedup);
  }
  std::vector<Sensitivity> result;
  for (const SweepColumn& axis : table.columns) {
    if (axis.role != SweepColumn::Role::kAxis || axis.name == "workload") {
      continue;
    }
    if (std::set<double>(axis.numbers.begin(), axis.numbers.end()).size() > 1) {
      for (const SweepColumn* figure : figures) {
        result.push_back(sensitivity(table, axis, *figure));
      }
    }
  }
  return result;
}

}  // namespace sptc::sweep
