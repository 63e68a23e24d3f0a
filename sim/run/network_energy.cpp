// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/run/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
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
  return {counts, [seconds](double) { return seconds; },
          op.rest.bytes > 0 ? static_cast<double>(power.sms) : 0.0, 1};
}

/// The energies of the operations of one network, dense or with its prunable weights sparse.
class NetworkEnergies {
 public:
  NetworkEnergies(const std::vector<workload::Operation>& operations, bool sparse,
                  SwitchingSource& switching, const RunOptions& options, KernelRunner& kernels)
      : operations_(operations),
        sparse_(sparse),
        switching_(switching),
        options_(options),
        kernels_(kernels) {}

  /// Launch by launch: each at its own clock.
  void launch_by_launch(std::vector<OperationResult>& results) {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      auto& figures = sparse_ ? results[i].sparse : results[i].dense;
      if (figures) {
        const auto at_clock = [&](double mhz) {
          return kernels_.time(operations_[i], sparse_, mhz);
        };
        add_energy(operations_[i], sparse_, *options_.power, switching_of(i, sparse_), options_,
                   at_clock, *figures);
        if (operations_[i].rest.any()) {
          const energy::Work rest = rest_of(operations_[i], *options_.power);
          figures->rest_uj =
              1e-6 * power_at(*options_.power, rest, figures->timing.clock_mhz).energy.total_pj();
        }
      }
    }
  }

  /// One clock for each group.
  void group_by_group(std::vector<OperationResult>& results) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      OperationResult& row = results[i];
      if (sparse_ && !row.sparse && !row.prunable && row.dense) {
        row.dense_among_sparse = row.dense;
      }
      if (figures_of(row)) {
        groups[operations_[i].group].push_back(i);
      }
    }
    for (const auto& [unused, members] : groups) {
      limit(members, results);
    }
  }

 private:
  std::optional<VariantResult>& figures_of(OperationResult& row) const {
    return !sparse_ ? row.dense : row.sparse ? row.sparse : row.dense_among_sparse;
  }

  const energy::Switching& switching_of(std::size_t i, bool sparse) {
    return switching_on(kernels_, operations_[i], sparse, options_, switching_);
  }

  void limit(const std::vector<std::size_t>& members, std::vector<OperationResult>& results) {
    const energy::PowerSpec& power = *options_.power;
    std::vector<RepeatedWork> works;
    double clock_mhz = 0;
    for (const std::size_t i : members) {
      const bool sparse = sparse_ && results[i].sparse.has_value();
      const VariantResult& figures = *figures_of(results[i]);
      const auto count = static_cast<double>(operations_[i].count);
      base::ensure(clock_mhz == 0 || clock_mhz == figures.timing.clock_mhz,
                   "energy: launches of a group at different clocks");
      clock_mhz = figures.timing.clock_mhz;
      works.push_back(
          {work_of(operations_[i], sparse, power, switching_of(i, sparse), figures), count});
    }
    const std::size_t launches = works.size();
    for (const std::size_t i : members) {
      if (operations_[i].rest.any()) {
        works.push_back(
            {rest_of(operations_[i], power), static_cast<double>(operations_[i].count)});
      }
    }
    const std::vector<energy::PowerResult> at_limit = power_limited(power, works, clock_mhz);
    std::size_t rest = launches;
    for (std::size_t j = 0; j < launches; ++j) {
      const workload::Operation& op = operations_[members[j]];
      VariantResult& figures = *figures_of(results[members[j]]);
      set_energy(op, works[j].work, power, at_limit[j], figures);
      if (op.rest.any()) {
        figures.rest_uj = 1e-6 * at_limit[rest++].energy.total_pj();
      }
    }
  }

  const std::vector<workload::Operation>& operations_;
  bool sparse_;
  SwitchingSource& switching_;
  const RunOptions& options_;
  KernelRunner& kernels_;
};

bool exceeds(const VariantResult* figures) {
  return figures != nullptr && figures->energy && figures->energy->limit_exceeded;
}

/// Says where launches at the clock that was asked for take more than the board is given.
void add_note_above_limit(double limit_w, RunResult& result) {
  double most_w = 0;
  for (const OperationResult& row : result.operations) {
    for (const auto* figures : {&row.dense, &row.sparse}) {
      most_w = std::max(most_w, *figures && (*figures)->energy ? (*figures)->energy->power_w : 0);
    }
  }
  if (most_w > limit_w + 0.5) {
    result.notes.push_back(fmt::format(
        "at this clock launches take up to {:.0f} W on average, above the power limit of {:.0f} W: "
        "--clock limited gives the clock that it allows",
        most_w, limit_w));
  }
}

}  // namespace

const energy::Switching& switching_on(const KernelRunner& kernels, const workload::Operation& op,
                                      bool sparse, const RunOptions& options,
                                      SwitchingSource& switching) {
  std::optional<WeightsOnHardware> weights;
  if (sparse && options.pattern) {
    weights = {*options.pattern, kernels.execution(op)};
  }
  return switching.of(op, sparse, weights);
}

double first_clock(const workload::Operation& op, bool sparse, SwitchingSource& switching,
                   const RunOptions& options, const KernelRunner& kernels) {
  const bool ends_at_limit = options.power && options.clock_limited && !options.limit_over_group &&
                             !options.repetition && options.fidelity == Fidelity::kTiming;
  if (!ends_at_limit) {
    return 0;
  }
  return clock_at_limit(op, sparse, *options.power,
                        switching_on(kernels, op, sparse, options, switching),
                        kernels.closed_form(op, sparse));
}

void add_energy(const std::vector<workload::Operation>& operations, SwitchingSource& switching,
                const RunOptions& options, KernelRunner& kernels, RunResult& result) {
  if (!options.power_note.empty()) {
    result.notes.push_back(options.power_note);
  }
  if (!options.power) {
    return;
  }
  base::ensure(operations.size() == result.operations.size(), "energy: operations without results");
  // The sparse network first: it copies dense launches as they are before power slows them.
  for (const bool sparse : {true, false}) {
    NetworkEnergies energies(operations, sparse, switching, options, kernels);
    if (options.limit_over_group) {
      energies.group_by_group(result.operations);
    } else {
      energies.launch_by_launch(result.operations);
    }
  }
  bool exceeded = false;
  for (const OperationResult& row : result.operations) {
    exceeded =
        exceeded || exceeds(row.dense ? &*row.dense : nullptr) || exceeds(row.in_sparse_network());
  }
  if (exceeded) {
    result.notes.push_back("the power limit is below what the lowest clock takes");
  }
  if (!options.clock_limited) {
    add_note_above_limit(options.power->power_limit_w, result);
  }
}

void EnergySum::add(const VariantResult& figures, std::int64_t count) {
  if (!figures.energy) {
    complete_ = false;
    return;
  }
  const EnergyResult& energy = *figures.energy;
  const auto launches = static_cast<double>(count);
  if (sum_.parts_uj.empty()) {
    for (const auto& [part, unused] : energy.parts_uj) {
      sum_.parts_uj.emplace_back(part, 0);
    }
  }
  base::ensure(sum_.parts_uj.size() == energy.parts_uj.size(),
               "energy: variants differ in their parts");
  for (std::size_t i = 0; i < sum_.parts_uj.size(); ++i) {
    sum_.parts_uj[i].second += launches * energy.parts_uj[i].second;
  }
  sum_.total_uj += launches * energy.total_uj;
  // Every launch is cheapest, and dearest, with the same constants.
  sum_.bounds_uj.low += launches * energy.bounds_uj.low;
  sum_.bounds_uj.high += launches * energy.bounds_uj.high;
  sum_.factors = energy.factors;
  sum_.by_factor_uj.resize(energy.by_factor_uj.size());
  for (std::size_t i = 0; i < energy.by_factor_uj.size(); ++i) {
    sum_.by_factor_uj[i] += launches * energy.by_factor_uj[i];
  }
  sum_.peak_power_w = std::max(sum_.peak_power_w, energy.peak_power_w);
  sum_.limited = sum_.limited || energy.limited;
  sum_.limit_exceeded = sum_.limit_exceeded || energy.limit_exceeded;
  time_us_ += launches * figures.timing.time_us;
}

std::optional<EnergyResult> EnergySum::result(double flops) const {
  if (!complete_ || time_us_ <= 0) {
    return std::nullopt;
  }
  EnergyResult total = sum_;
  total.power_w = total.total_uj / time_us_;
  total.pj_per_flop = total.total_uj * 1e6 / flops;
  return total;
}

namespace {

/// Over all of `operations`, each as the figures that `figures_of` finds in it; nothing where it
/// finds none in one.
template <typename FiguresOf>
std::optional<VariantTotals> totals_of(const std::vector<OperationResult>& operations,
                                       const FiguresOf& figures_of) {
  VariantTotals totals;
  EnergySum energy;
  double flops = 0;
  for (const OperationResult& op : operations) {
    const VariantResult* const figures = figures_of(op);
    if (figures == nullptr) {
      return std::nullopt;
    }
    const auto count = static_cast<double>(op.count);
    flops += 2 * count * static_cast<double>(op.batch) * static_cast<double>(op.shape.macs());
    totals.time_us += count * figures->timing.time_us;
    energy.add(*figures, op.count);
    totals.rest_us += count * op.rest_us;
    totals.rest_uj += count * figures->rest_uj;
    totals.mismatches += figures->check ? figures->check->mismatches : 0;
  }
  totals.tflops = flops / totals.time_us * 1e-6;
  totals.energy = energy.result(flops);
  return totals;
}

}  // namespace

Totals sum_up(const std::vector<OperationResult>& operations) {
  Totals totals;
  if (operations.empty()) {
    return totals;
  }
  totals.dense = totals_of(
      operations, [](const OperationResult& op) { return op.dense ? &*op.dense : nullptr; });
  const auto has_sparse = [](const OperationResult& op) { return op.sparse.has_value(); };
  if (std::any_of(operations.begin(), operations.end(), has_sparse)) {
    totals.sparse =
        totals_of(operations, [](const OperationResult& op) { return op.in_sparse_network(); });
  }
  if (totals.dense && totals.sparse) {
    totals.speedup = totals.dense->time_us / totals.sparse->time_us;
    if (totals.dense->energy && totals.sparse->energy) {
      totals.performance_per_watt_ratio =
          totals.dense->energy->total_uj / totals.sparse->energy->total_uj;
      totals.per_watt_bounds = per_watt_bounds(*totals.dense->energy, *totals.sparse->energy);
    }
  }
  return totals;
}

}  // namespace sptc::run
