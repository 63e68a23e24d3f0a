// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/run/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::run {
namespace {

using energy::Event;
using energy::RepeatedWork;

/// What follows a launch: every SM waits for DRAM, whose bytes pass through the L2 into registers;
/// or nothing happens.
energy::Work rest_of(const workload::Operation& op, const energy::PowerSpec& power) {
  energy::EventCounts counts(op.dtype);
  const auto bytes = static_cast<double>(op.rest.bytes);
  add_outer_memory(bytes, bytes, 1, counts);
  counts.add(Event::kRegisterWrite, bytes);
  const double seconds = static_cast<double>(op.rest.ns) * 1e-9;
  return {counts, [seconds](double) { return seconds; }, op.rest.bytes > 0 ? static_cast<double>(power.sms) : 0.0, 1};
}

/// The energies of the operations of one network, dense or with its prunable weights sparse, at one
/// clock for each group.
struct NetworkEnergies {
  const std::vector<workload::Operation>& operations;
  bool sparse_network;
  SwitchingSource& switching;
  const SimulationOptions& options;
  KernelRunner& kernels;

  void add(std::vector<OperationResult>& results) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      OperationResult& row = results[i];
      if (sparse_network && !row.sparse && !row.prunable && row.dense) {
        row.dense_among_sparse = row.dense;
      }
      if (figures_of(row)) {
        groups[operations[i].group].push_back(i);
      }
    }
    for (const auto& [unused, members] : groups) {
      limit(members, results);
    }
  }

  std::optional<VariantResult>& figures_of(OperationResult& row) const {
    return !sparse_network ? row.dense : row.sparse ? row.sparse : row.dense_among_sparse;
  }

  void limit(const std::vector<std::size_t>& members, std::vector<OperationResult>& results) {
    const energy::PowerSpec& power = *options.power;
    std::vector<RepeatedWork> works;
    double clock_mhz = 0;
    for (const std::size_t i : members) {
      const bool sparse = sparse_network && results[i].sparse.has_value();
      const VariantResult& figures = *figures_of(results[i]);
      const auto count = static_cast<double>(operations[i].count);
      base::ensure(clock_mhz == 0 || clock_mhz == figures.timing.clock_mhz,
                   "energy: launches of a group at different clocks");
      clock_mhz = figures.timing.clock_mhz;
      const energy::Switching& values = switching_on(kernels, operations[i], sparse, options, switching);
      works.push_back({work_of(operations[i], sparse, power, values, figures), count});
    }
    const std::size_t launches = works.size();
    for (const std::size_t i : members) {
      if (operations[i].rest.any()) {
        works.push_back({rest_of(operations[i], power), static_cast<double>(operations[i].count)});
      }
    }
    const std::vector<energy::PowerResult> at_limit = power_limited(power, works, clock_mhz);
    std::size_t rest = launches;
    for (std::size_t j = 0; j < launches; ++j) {
      const workload::Operation& op = operations[members[j]];
      VariantResult& figures = *figures_of(results[members[j]]);
      set_energy(op, works[j].work, power, at_limit[j], figures);
      if (op.rest.any()) {
        figures.rest_uj = 1e-6 * at_limit[rest++].energy.total_pj();
      }
    }
  }
};

/// Says where launches at the clock that was asked for take more than the board is given.
void add_note_above_limit(double limit_w, RunResult& result) {
  double most_w = 0;
  result.for_each_variant([&](const OperationResult& /*op*/, const VariantResult& variant, bool /*sparse*/) {
    most_w = std::max(most_w, variant.energy ? variant.energy->power_w : 0);
  });
  if (most_w > limit_w + 0.5) {
    result.notes.push_back(
        fmt::format("at this clock launches take up to {:.0f} W on average, above the power limit of {:.0f} W: "
                    "--clock limited gives the clock that it allows",
                    most_w, limit_w));
  }
}

}  // namespace

const energy::Switching& switching_on(const KernelRunner& kernels, const workload::Operation& op, bool sparse,
                                      const SimulationOptions& options, SwitchingSource& switching) {
  std::optional<WeightsOnHardware> weights;
  if (sparse && options.pattern) {
    weights = {*options.pattern, kernels.execution(op)};
  }
  return switching.of(op, sparse, weights);
}

double first_clock(const workload::Operation& op, bool sparse, SwitchingSource& switching,
                   const SimulationOptions& options, const KernelRunner& kernels) {
  const bool ends_at_limit = options.power && options.clock_limited && !options.limits_group() && !options.repetition &&
                             options.fidelity == Fidelity::kTiming;
  if (!ends_at_limit) {
    return 0;
  }
  return clock_at_limit(op, sparse, *options.power, switching_on(kernels, op, sparse, options, switching),
                        kernels.closed_form(op, sparse));
}

void add_launch_energy(const workload::Operation& op, bool sparse, SwitchingSource& switching,
                       const SimulationOptions& options, KernelRunner& kernels, VariantResult& figures) {
  const energy::PowerSpec& power = *options.power;
  add_energy(
      op, sparse, power, switching_on(kernels, op, sparse, options, switching), options,
      [&](double mhz) { return kernels.time(op, sparse, mhz); }, figures);
  if (op.rest.any()) {
    const energy::Work rest = rest_of(op, power);
    figures.rest_uj = 1e-6 * power_at(power, rest, figures.timing.clock_mhz).energy.total_pj();
  }
}

void add_energy(const std::vector<workload::Operation>& operations, SwitchingSource& switching,
                const SimulationOptions& options, KernelRunner& kernels, RunResult& result) {
  if (!options.power_note.empty()) {
    result.notes.push_back(options.power_note);
  }
  if (!options.power) {
    return;
  }
  base::ensure(operations.size() == result.operations.size(), "energy: operations without results");
  if (options.limits_group()) {
    // The sparse network first: it copies dense launches as they are before power slows them.
    for (const bool sparse : {true, false}) {
      NetworkEnergies{operations, sparse, switching, options, kernels}.add(result.operations);
    }
  } else {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      OperationResult& row = result.operations[i];
      for (const bool sparse : {true, false}) {
        std::optional<VariantResult>& figures = sparse ? row.sparse : row.dense;
        if (figures && !figures->energy) {
          add_launch_energy(operations[i], sparse, switching, options, kernels, *figures);
        }
      }
    }
  }
  bool exceeded = false;
  for (const OperationResult& row : result.operations) {
    for (const bool sparse : {false, true}) {
      const VariantResult* const figures = row.in_network(sparse);
      exceeded = exceeded || (figures != nullptr && figures->energy && figures->energy->limit_exceeded);
    }
  }
  if (exceeded) {
    result.notes.push_back("even at the lowest clock some launches take more than the power limit");
  }
  if (!options.clock_limited) {
    add_note_above_limit(options.power->power_limit_w, result);
  }
}

namespace {

void add(const EnergyResult& energy, double launches, EnergyResult& sum) {
  if (sum.parts_uj.empty()) {
    for (const auto& [part, unused] : energy.parts_uj) {
      sum.parts_uj.emplace_back(part, 0);
    }
  }
  base::ensure(sum.parts_uj.size() == energy.parts_uj.size(), "energy: variants differ in their parts");
  for (std::size_t i = 0; i < sum.parts_uj.size(); ++i) {
    sum.parts_uj[i].second += launches * energy.parts_uj[i].second;
  }
  sum.rails_uj.resize(energy.rails_uj.size());
  for (std::size_t i = 0; i < sum.rails_uj.size(); ++i) {
    sum.rails_uj[i].first = energy.rails_uj[i].first;
    sum.rails_uj[i].second += launches * energy.rails_uj[i].second;
  }
  sum.total_uj += launches * energy.total_uj;
  // Every launch is cheapest, and dearest, with the same constants.
  sum.bounds_uj.low += launches * energy.bounds_uj.low;
  sum.bounds_uj.high += launches * energy.bounds_uj.high;
  sum.factors = energy.factors;
  sum.by_factor_uj.resize(energy.by_factor_uj.size());
  for (std::size_t i = 0; i < energy.by_factor_uj.size(); ++i) {
    sum.by_factor_uj[i] += launches * energy.by_factor_uj[i];
  }
  sum.peak_power_w = std::max(sum.peak_power_w, energy.peak_power_w);
  sum.limited = sum.limited || energy.limited;
  sum.limit_exceeded = sum.limit_exceeded || energy.limit_exceeded;
}

/// Totals over all of `operations` in the dense or in the sparse network; nothing where one is
/// missing.
std::optional<VariantTotals> totals_of(const std::vector<OperationResult>& operations, bool sparse) {
  VariantTotals totals;
  EnergyResult energy;
  bool has_energy = true;
  double flops = 0;
  for (const OperationResult& op : operations) {
    const VariantResult* const figures = op.in_network(sparse);
    if (figures == nullptr) {
      return std::nullopt;
    }
    const auto count = static_cast<double>(op.count);
    flops += 2 * count * static_cast<double>(op.batch) * static_cast<double>(op.shape.macs());
    totals.time_us += count * figures->timing.time_us;
    has_energy = has_energy && figures->energy;
    if (has_energy) {
      add(*figures->energy, count, energy);
    }
    totals.rest_us += count * op.rest_us;
    totals.rest_uj += count * figures->rest_uj;
    totals.mismatches += figures->check ? figures->check->mismatches : 0;
  }
  totals.tflops = flops / totals.time_us * 1e-6;
  if (has_energy && totals.time_us > 0) {
    energy.power_w = energy.total_uj / totals.time_us;
    energy.pj_per_flop = energy.total_uj * 1e6 / flops;
    totals.energy = std::move(energy);
  }
  return totals;
}

}  // namespace

Totals sum_up(const std::vector<OperationResult>& operations) {
  Totals totals;
  if (operations.empty()) {
    return totals;
  }
  totals.dense = totals_of(operations, false);
  const auto has_sparse = [](const OperationResult& op) { return op.sparse.has_value(); };
  if (std::any_of(operations.begin(), operations.end(), has_sparse)) {
    totals.sparse = totals_of(operations, true);
  }
  if (totals.dense && totals.sparse) {
    totals.speedup = totals.dense->time_us / totals.sparse->time_us;
    if (totals.dense->energy && totals.sparse->energy) {
      totals.performance_per_watt_ratio = totals.dense->energy->total_uj / totals.sparse->energy->total_uj;
      totals.per_watt_bounds = per_watt_bounds(*totals.dense->energy, *totals.sparse->energy);
    }
  }
  return totals;
}

}  // namespace sptc::run
