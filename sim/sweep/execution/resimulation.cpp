// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/execution/resimulation.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/sweep/executors/local_executor.h"
#include "sim/sweep/files/database.h"
#include "sim/sweep/store/result_table.h"
#include "sim/sweep/store/sweep_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace sptc::sweep::execution {
namespace {

using Objectives = std::vector<const analysis::SweepColumn*>;

/// By which factor all objectives of `row` would have to improve so that `other` no longer beats
/// it: 1 where it does not.
double distance(const Objectives& objectives, std::size_t row, std::size_t other) {
  double least = std::numeric_limits<double>::infinity();
  for (const analysis::SweepColumn* objective : objectives) {
    const double mine = objective->numbers[row];
    const double its = objective->numbers[other];
    least = std::min(least, objective->more_is_better() ? its / mine : mine / its);
  }
  return std::max(least, 1.0);
}

std::string timing_name(std::string_view total) {
  return std::string(kTimingPrefix) + std::string(total);
}

bool has_number(const analysis::SweepColumn* column, std::size_t row) {
  return column != nullptr && column->numeric && !std::isnan(column->numbers[row]);
}

/// Of each objective the total of SystemC, or the objective itself where SystemC adds nothing.
Objectives timing_of(const analysis::SweepTable& table, const Objectives& objectives) {
  Objectives result;
  for (const analysis::SweepColumn* objective : objectives) {
    const analysis::SweepColumn* const timing = table.find_total(timing_name(objective->name));
    result.push_back(timing != nullptr ? timing : objective);
  }
  return result;
}

/// Adds what `store` holds, in the file `beside`, to `results`, and removes that file.
void take_in(const std::filesystem::path& results, std::unique_ptr<store::SweepStore> store,
             const std::filesystem::path& beside) {
  const bool any = store->size() > 0;
  if (any) {
    store->finish();
  }
  store.reset();
  if (any) {
    add_timing(results, beside);
  }
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(beside.string() + suffix);
  }
}

}  // namespace

space::SweepSpec as_timing(space::SweepSpec spec) {
  const auto fidelity = spec.options.find("fidelity");
  if (fidelity == spec.options.end() || fidelity->second != "analytic") {
    throw base::InputError(
        "--resimulate has no effect but on a sweep with the option \"fidelity\": \"analytic\": "
        "SystemC simulates the points of others already");
  }
  fidelity->second = "timing";
  spec.document["options"]["fidelity"] = "timing";
  spec.store_operations = false;
  return spec;
}

std::vector<std::uint64_t> points_near_front(const analysis::SweepTable& table, std::size_t most) {
  const Objectives objectives = analysis::default_objectives(table);
  const std::vector<std::size_t> all = analysis::pareto_front(table, objectives);
  const std::set<std::size_t> front(all.begin(), all.end());
  const analysis::SweepColumn* const position = table.find("position");
  const analysis::SweepColumn* const known =
      objectives.empty() ? nullptr : table.find_total(timing_name(objectives.front()->name));
  std::vector<std::tuple<double, std::uint64_t, bool>> near;  // distance, position, known
  for (const std::vector<std::size_t>& rows : analysis::rows_by_workload(table, objectives)) {
    std::vector<std::size_t> of_workload;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_workload),
                 [&](std::size_t row) { return front.contains(row); });
    for (const std::size_t row : rows) {
      double farthest = 1;
      for (const std::size_t other : of_workload) {
        farthest = std::max(farthest, distance(objectives, row, other));
      }
      if (farthest <= 1 + kFidelitiesAgree) {
        // Behind the front those that may come before it.
        near.emplace_back(front.contains(row) ? 0 : farthest,
                          static_cast<std::uint64_t>(position->numbers[row]),
                          has_number(known, row));
      }
    }
  }
  std::sort(near.begin(), near.end());
  std::vector<std::uint64_t> positions;
  for (std::size_t i = 0; i < std::min(near.size(), most); ++i) {
    if (!std::get<2>(near[i])) {
      positions.push_back(std::get<1>(near[i]));
    }
  }
  return positions;
}

SweepProgress simulate_again(const space::SweepPlan& plan, point::PointRunner& runner,
                             const executors::PointLimits& limits,
                             const std::filesystem::path& results, std::size_t most,
                             std::size_t jobs, const store::SweepStore::Options& options,
                             const std::atomic<bool>& stop,
                             const std::function<void(const SweepProgress&)>& report) {
  const space::SweepPlan again(as_timing(plan.spec()), plan.version());
  const std::filesystem::path beside = io::behind_link(results).string() + ".timing";
  if (std::filesystem::exists(beside)) {  // of a process that was killed
    take_in(results, std::make_unique<store::SweepStore>(beside, again, options), beside);
  }
  const std::vector<std::uint64_t> positions =
      points_near_front(analysis::read_sweep_table(results), most);
  if (positions.empty()) {
    return {};
  }
  auto store = std::make_unique<store::SweepStore>(beside, again, options);
  executors::LocalExecutor executor(again, runner, limits, jobs);
  const SweepProgress progress =
      run_points(again, runner, limits, positions, *store, executor, stop, report);
  take_in(results, std::move(store), beside);
  return progress;
}

void add_timing(const std::filesystem::path& results, const std::filesystem::path& timing) {
  const analysis::SweepTable table = analysis::read_sweep_table(timing);
  const analysis::SweepColumn* const position = table.find("position");
  std::vector<const analysis::SweepColumn*> totals;
  std::vector<std::string> names;
  std::vector<std::string> assignments;
  for (const analysis::SweepColumn& column : table.columns) {
    const bool time = column.name.ends_with("time_us") || column.name.ends_with("energy_uj_total");
    if (column.role == analysis::SweepColumn::Role::kTotal && column.numeric &&
        (time || column.name == "speedup")) {
      totals.push_back(&column);
      names.push_back(timing_name(column.name));
      assignments.push_back(files::sql_name(names.back()) + " = ?");
    }
  }
  if (totals.empty()) {
    return;  // no point could be simulated again
  }
  const store::FileLock lock(results);
  {
    files::Database database(results, files::Database::Mode::kWrite);
    const std::set<std::string> present = store::columns_of(database, "points");
    std::erase_if(names, [&](const std::string& name) { return present.contains(name); });
    database.begin_log();
    database.execute("BEGIN IMMEDIATE");
    store::ResultTable(database, store::points_layout(table.entries.axes)).add_columns(names);
    files::Statement update = database.prepare(
        fmt::format("UPDATE points SET {} WHERE position = ?", fmt::join(assignments, ", ")));
    for (std::size_t row = 0; row < table.rows; ++row) {
      int parameter = 0;
      for (const analysis::SweepColumn* total : totals) {
        ++parameter;
        if (has_number(total, row)) {
          update.bind(parameter, total->numbers[row]);
        } else {
          update.bind_null(parameter);
        }
      }
      update.bind(parameter + 1, static_cast<std::int64_t>(position->numbers[row]));
      update.step();
      update.reset();
    }
    database.execute("COMMIT");
    database.end_log();
  }
  const std::filesystem::path parts[] = {results};
  store::merge_sweeps(parts, results, true);
}

std::vector<SimulatedAgain> simulated_again(const analysis::SweepTable& table) {
  const Objectives objectives = analysis::default_objectives(table);
  const Objectives timing = timing_of(table, objectives);
  std::vector<SimulatedAgain> result;
  if (objectives.empty() || timing.front() == objectives.front()) {
    return result;
  }
  const std::vector<std::size_t> all = analysis::pareto_front(table, objectives);
  const std::set<std::size_t> front(all.begin(), all.end());
  for (const std::vector<std::size_t>& rows : analysis::rows_by_workload(table, objectives)) {
    std::vector<std::size_t> again;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(again), [&](std::size_t row) {
      return std::all_of(timing.begin(), timing.end(),
                         [&](const auto* column) { return has_number(column, row); });
    });
    for (const std::size_t row : again) {
      SimulatedAgain one{row, timing.front()->numbers[row] / objectives.front()->numbers[row],
                         false, front.contains(row), false};
      for (std::size_t i = 0; i < objectives.size(); ++i) {
        const double ratio = timing[i]->numbers[row] / objectives[i]->numbers[row];
        one.differs = one.differs || std::abs(ratio - 1) > kFidelitiesAgree;
      }
      one.is_beaten = std::any_of(again.begin(), again.end(), [&](std::size_t other) {
        return analysis::beats(timing, other, row, analysis::kTie);
      });
      result.push_back(one);
    }
  }
  return result;
}

}  // namespace sptc::sweep::execution
