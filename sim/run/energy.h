// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/power.h"
#include "models/energy/switching.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/run/data_source.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/run_options.h"
#include "sim/run/run_result.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::run {

/// Bit toggles of sampled operands: every row of A (as stored: kept elements) against every column
/// of B (as selected), at most 1024 kept elements deep.
energy::Switching switching_of(const kernels::GemmOperands& operands, numerics::DataType type, bool sparse);

/// Weights of a pattern that a selector executes.
struct WeightsOnHardware {
  sparsity::WeightPattern weights;
  sparsity::PatternExecution execution;
};

/// The switching of operations whose operands come from `data`: sampled from the values, once per
/// type and variant where they are generated from one distribution.
class SwitchingSource {
 public:
  explicit SwitchingSource(const DataSource& data) : data_(data) {}

  /// `weights`: the pattern of sparse weights and how it runs; nothing: as the hardware has it.
  const energy::Switching& of(const workload::Operation& op, bool sparse,
                              const std::optional<WeightsOnHardware>& weights = std::nullopt);

 private:
  const DataSource& data_;
  std::map<std::tuple<std::string, numerics::DataType, std::string>, energy::Switching> cache_;
};

/// What simulations have in common: energy files, and the switching of generated operands.
class SimulationCaches {
 public:
  EnergyFiles& energies() { return energies_; }

  /// The switching of generated operands, by their kind and seed.
  SwitchingSource& switching(const std::string& kind, std::uint64_t seed);

 private:
  struct Generated {
    std::unique_ptr<DataSource> data;
    SwitchingSource switching;
  };
  EnergyFiles energies_;
  std::map<std::pair<std::string, std::uint64_t>, Generated> generated_;
};

/// SwitchingSource::of() with the weights that `options` ask for, as `kernels` run them.
const energy::Switching& switching_on(const KernelRunner& kernels, const workload::Operation& op, bool sparse,
                                      const SimulationOptions& options, SwitchingSource& switching);

/// What one launch does, from its kernel, its bytes and the padding: executed multiply-accumulates
/// in steps of `dot_width_bytes` of each operand, operands from the register file (wgmma: from
/// shared memory), fragments from shared memory, tiles from the L2, instructions, and one f32
/// multiply-add per element of D. Padding is zeros and moves no wire.
energy::EventCounts launch_events(const workload::Operation& op, bool sparse, const VariantResult& figures,
                                  const energy::Switching& switching, int dot_width_bytes);

/// Bytes between the SMs and the L2, and between the L2 and DRAM, which pass the L2, too.
void add_outer_memory(double l2_bytes, double dram_bytes, double switching, energy::EventCounts& counts);

double seconds_at(const VariantResult& figures, double clock_mhz);

/// The launch of `figures` as the power model sees it.
energy::Work work_of(const workload::Operation& op, bool sparse, const energy::PowerSpec& power,
                     const energy::Switching& switching, const VariantResult& figures);

/// Writes `result`, of `work`, into `figures`; where the limit held the clock, times and rates too.
void set_energy(const workload::Operation& op, const energy::Work& work, const energy::PowerSpec& power,
                const energy::PowerResult& result, VariantResult& figures);

/// The highest clock [MHz], up to boost, at which the launch of `figures` takes no more than the
/// limit: another one is followed in closed form.
double clock_at_limit(const workload::Operation& op, bool sparse, const energy::PowerSpec& power,
                      const energy::Switching& switching, const VariantResult& figures);

using LaunchAtClock = std::function<VariantResult(double clock_mhz)>;

/// Energy and power of one variant. With options.clock_limited its clock becomes the one that the
/// power limit allows: `at_clock` simulates it there. With options.repetition `figures` are those
/// of the boost clock.
void add_energy(const workload::Operation& op, bool sparse, const energy::PowerSpec& board,
                const energy::Switching& switching, const SimulationOptions& options, const LaunchAtClock& at_clock,
                VariantResult& figures);

/// Adds the energy of a launch under options.power, and of what follows it; `kernels` simulate it
/// at other clocks.
void add_launch_energy(const workload::Operation& op, bool sparse, SwitchingSource& switching,
                       const SimulationOptions& options, KernelRunner& kernels, VariantResult& figures);

/// Adds the energy of every operation that was simulated and has none yet; `operations` are those
/// of `result`, in order. With options.limits_group() the limit holds on average over each group of
/// operations, what lies between them included, and all of a group have one clock.
void add_energy(const std::vector<workload::Operation>& operations, SwitchingSource& switching,
                const SimulationOptions& options, KernelRunner& kernels, RunResult& result);

/// The clock [MHz] at which a launch is simulated first: that of the power limit by its closed form
/// where it ends there, which mostly leaves nothing else to simulate; 0: that of the run.
double first_clock(const workload::Operation& op, bool sparse, SwitchingSource& switching,
                   const SimulationOptions& options, const KernelRunner& kernels);

/// Count-weighted sums of RunResult::operations: energies times launches, powers over the time; no
/// energy where that of an operation is not known.
Totals sum_up(const std::vector<OperationResult>& operations);

}  // namespace sptc::run
