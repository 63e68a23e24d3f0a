// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/resimulation.h"

#include "sim/io/text_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace sptc::sweep {
namespace {

/// The factor by which `row` would have to improve so that `other` no longer beats it.
double distance(const Columns& objectives, std::size_t row, std::size_t other) {
  double least = std::numeric_limits<double>::infinity();
  for (const SweepColumn* objective : objectives) {
    const double mine = objective->numbers[row];
    const double its = objective->numbers[other];
    least = std::min(least, objective->more_is_better() ? its / mine : mine / its);
  }
  return std::max(least, 1.0);
}

std::string timing_name(std::string_view total) {
  return std::string(kTimingPrefix) + std::string(total);
}

bool has_number(const SweepColumn* column, std::size_t row) {
  return column != nullptr && column->numeric && !std::isnan(column->numbers[row]);
}

/// The total of SystemC for each objective, or the objective itself where SystemC adds nothing.
Columns timing_of(const SweepTable& table, const Columns& objectives) {
  Columns result;
  for (const SweepColumn* objective : objectives) {
    const SweepColumn* const timing = table.find_total(timing_name(objective->name));
    result.push_back(timing != nullptr ? timing : objective);
  }
  return result;
}

/// Adds what `store` holds, in the file `beside`, to `results`, and removes that file.
void take_in(const std::filesystem::path& results, std::unique_ptr<SweepStore> store,
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

SweepSpec as_timing(SweepSpec spec) {
  const auto fidelity = spec.options.find("fidelity");
  if (fidelity == spec.options.end() || fidelity->second != "analytic") {
    io::refuse(
        "--resimulate has no effect but on a sweep with the option \"fidelity\": \"analytic\": SystemC simulates the "
        "points of others already");
  }
  fidelity->second = "timing";
  spec.document["options"]["fidelity"] = "timing";
  spec.store_operations = false;
  return spec;
}

std::vector<std::uint64_t> points_near_front(const SweepTable& table, std::size_t most) {
  const Columns objectives = default_objectives(table);
  const std::vector<std::size_t> all = pareto_front(table, objectives);
  const std::set<std::size_t> front(all.begin(), all.end());
  const SweepColumn* const position = table.find("position");
  const SweepColumn* const known =
      objectives.empty() ? nullptr : table.find_total(timing_name(objectives.front()->name));
  std::vector<std::tuple<double, std::uint64_t, bool>> near;  // distance, position, known
  for (const std::vector<std::size_t>& rows : rows_by_workload(table, objectives)) {
    std::vector<std::size_t> of_workload;
    std::ranges::copy_if(rows, std::back_inserter(of_workload), [&](std::size_t row) { return front.contains(row); });
    for (const std::size_t row : rows) {
      double farthest = 1;
      for (const std::size_t other : of_workload) {
        farthest = std::max(farthest, distance(objectives, row, other));
      }
      if (farthest <= 1 + kFidelitiesAgree) {
        // Behind the front those that may come before it.
        near.emplace_back(front.contains(row) ? 0 : farthest, static_cast<std::uint64_t>(position->numbers[row]),
                          has_number(known, row));
      }
    }
  }
  std::ranges::sort(near);
  std::vector<std::uint64_t> positions;
  for (std::size_t i = 0; i < std::min(near.size(), most); ++i) {
    if (!std::get<2>(near[i])) {
      positions.push_back(std::get<1>(near[i]));
    }
  }
  return positions;
}

SweepProgress simulate_again(const SweepWork& work, const std::filesystem::path& results, std::size_t most,
                             const SweepStore::Options& options) {
  const SweepPlan again(as_timing(work.plan.spec()));
  const std::filesystem::path beside = io::behind_link(results).string() + ".timing";
  if (std::filesystem::exists(beside)) {  // of a process that was killed
    take_in(results, std::make_unique<SweepStore>(beside, again, options), beside);
  }
  const std::vector<std::uint64_t> positions = points_near_front(read_sweep_table(results), most);
  if (positions.empty()) {
    return {};
  }
  auto store = std::make_unique<SweepStore>(beside, again, options);
  const SweepProgress progress =
      run_points({again, work.runner, work.limits, work.jobs, work.stop, work.report}, positions, *store);
  take_in(results, std::move(store), beside);
  return progress;
}

void add_timing(const std::filesystem::path& results, const std::filesystem::path& timing) {
  const SweepTable table = read_sweep_table(timing);
  const SweepColumn* const position = table.find("position");
  Columns totals;
  std::vector<std::string> assignments;
  for (const SweepColumn& column : table.columns) {
    const bool time = column.name.ends_with("time_us") || column.name.ends_with("energy_uj_total");
    if (column.role == SweepColumn::Role::kTotal && column.numeric && (time || column.name == "speedup")) {
      totals.push_back(&column);
      assignments.push_back(sql_name(timing_name(column.name)) + " = ?");
    }
  }
  if (totals.empty()) {
    return;  // no point could be simulated again
  }
  const FileLock lock(results);
  {
    Database database(results, Database::Mode::kWrite);
    const std::set<std::string> present = columns_of(database, "points");
    database.begin_log();
    database.execute("BEGIN IMMEDIATE");
    for (const SweepColumn* total : totals) {
      if (const std::string name = timing_name(total->name); !present.contains(name)) {
        database.execute("ALTER TABLE points ADD COLUMN " + sql_name(name));
      }
    }
    Statement update =
        database.prepare(fmt::format("UPDATE points SET {} WHERE position = ?", fmt::join(assignments, ", ")));
    for (std::size_t row = 0; row < table.rows; ++row) {
      update.clear();
      int parameter = 0;
      for (const SweepColumn* total : totals) {
        ++parameter;
        if (has_number(total, row)) {
          update.bind(parameter, total->numbers[row]);
        }
      }
      update.bind(parameter + 1, static_cast<std::int64_t>(position->numbers[row]));
      update.execute();
    }
    database.execute("COMMIT");
    database.end_log();
  }
  const std::filesystem::path parts[] = {results};
  merge_sweeps(parts, results, true);
}

std::vector<SimulatedAgain> simulated_again(const SweepTable& table) {
  const Columns objectives = default_objectives(table);
  const Columns timing = timing_of(table, objectives);
  std::vector<SimulatedAgain> result;
  if (objectives.empty() || timing.front() == objectives.front()) {
    return result;
  }
  const std::vector<std::size_t> all = pareto_front(table, objectives);
  const std::set<std::size_t> front(all.begin(), all.end());
  for (const std::vector<std::size_t>& rows : rows_by_workload(table, objectives)) {
    std::vector<std::size_t> again;
    std::ranges::copy_if(rows, std::back_inserter(again), [&](std::size_t row) {
      return std::ranges::all_of(timing, [&](const auto* column) { return has_number(column, row); });
    });
    for (const std::size_t row : again) {
      SimulatedAgain one{row, timing.front()->numbers[row] / objectives.front()->numbers[row], false,
                         front.contains(row), false};
      for (std::size_t i = 0; i < objectives.size(); ++i) {
        const double ratio = timing[i]->numbers[row] / objectives[i]->numbers[row];
        one.differs = one.differs || std::abs(ratio - 1) > kFidelitiesAgree;
      }
      one.is_beaten = std::ranges::any_of(again, [&](std::size_t other) { return beats(timing, other, row, kTie); });
      result.push_back(one);
    }
  }
  return result;
}

}  // namespace sptc::sweep
