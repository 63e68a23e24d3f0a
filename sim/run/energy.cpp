// SPDX-License-Identifier: Apache-2.0
#include "sim/run/energy.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "models/sparsity/compress.h"
#include "sim/kernels/gemm_operands.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace sptc::run {
namespace {

using energy::Event;
using energy::Switching;
using numerics::Word;

constexpr std::size_t kSampledDepth = 1024;
constexpr std::int64_t kSampledEdge = 8;
constexpr double kWarpAccessBytes = 512;  // 16 bytes of each of 32 lanes
constexpr double kWarpRegisterBytes = 128;
constexpr double kLanes = 32;
constexpr double kMicrojoulesPerPicojoule = 1e-6;

/// The elements of `column` that the metadata of row `row` picks, in the order of the values.
std::vector<Word> selected(const sparsity::CompressedMatrix& a, std::size_t row, std::span<const Word> column) {
  std::vector<Word> result;
  const auto nibbles = a.nibbles.row(row);
  for (std::size_t group = 0; group < nibbles.size(); ++group) {
    for (int slot = 0; slot < a.pattern.kept; ++slot) {
      const int position = sparsity::selected_position(nibbles[group], slot, a.pattern);
      result.push_back(column[group * static_cast<std::size_t>(a.pattern.group) + static_cast<std::size_t>(position)]);
    }
  }
  return result;
}

std::vector<std::int64_t> spread(std::int64_t extent) {
  const std::int64_t count = std::min(extent, kSampledEdge);
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(i * extent / count);
  }
  return result;
}

/// A GEMM deep enough to see a distribution, for values that do not depend on the operation.
workload::Operation representative(numerics::DataType type) {
  workload::Operation op;
  op.name = "switching";
  op.shape = {kSampledEdge, kSampledEdge, 2 * static_cast<std::int64_t>(kSampledDepth)};
  op.dtype = type;
  return op;
}

/// Switching of sampled rows and columns of weights at a pattern of one's own.
Switching switching_of(const workload::Operation& op, const ElementSelection& selection, const WeightsOnHardware& how,
                       const DataSource& data) {
  const kernels::GemmOperands dense = make_operands(op, false, data, selection);
  const auto whole = static_cast<std::size_t>(base::round_up(op.shape.k, how.execution.group));
  base::Matrix<Word> a(dense.a.rows(), whole);
  for (std::size_t i = 0; i < a.rows(); ++i) {
    std::copy(dense.a.row(i).begin(), dense.a.row(i).end(), a.row(i).begin());
  }
  energy::ToggleSampler sampler(op.dtype, energy::products_per_step(op.dtype));
  for (const sparsity::KeptElements& kept : prune_to_kept(a, op.dtype, how.weights, how.execution)) {
    const std::size_t depth = std::min(kept.values.size(), kSampledDepth);
    for (std::size_t j = 0; j < dense.b_columns.rows(); ++j) {
      std::vector<Word> b;
      for (std::size_t i = 0; i < depth; ++i) {
        const std::size_t column = kept.columns[i];
        b.push_back(column < dense.b_columns.cols() ? dense.b_columns(j, column) : Word{0});
      }
      sampler.add(std::span<const Word>(kept.values).first(depth), b);
    }
  }
  return relative_switching(sampler.toggles(), op.dtype);
}

/// SMs with work, averaged over the launch.
double busy_sms(const VariantResult& figures, int sms) {
  const gpu::CycleBudget& budget = figures.timing.budget;
  const double share = budget.tensor > 0 ? budget.tensor_mean / budget.tensor : 1;
  return std::clamp(share * sms, std::min<double>(1, sms), static_cast<double>(sms));
}

/// Fragments to registers and tiles to shared memory through every level; padding of fragments is
/// zeros.
void add_copies(const kernels::MemoryTraffic& traffic, double switching, double live, energy::EventCounts& counts) {
  const auto fragments = static_cast<double>(traffic.shared_memory_read);
  counts.add(Event::kRegisterWrite, fragments, switching * live);
  counts.add(Event::kSharedMemoryRead, fragments, switching * live);
  counts.add(Event::kSharedMemoryWrite, static_cast<double>(traffic.shared_memory_written), switching);
  add_outer_memory(static_cast<double>(traffic.l2_and_dram.l2()), static_cast<double>(traffic.l2_and_dram.dram()),
                   switching, counts);
}

}  // namespace

void add_outer_memory(double l2_bytes, double dram_bytes, double switching, energy::EventCounts& counts) {
  counts.add(Event::kInterconnect, l2_bytes, switching);
  counts.add(Event::kL2Access, l2_bytes + dram_bytes, switching);
  counts.add(Event::kHbmAccess, dram_bytes, switching);
}

Switching switching_of(const kernels::GemmOperands& operands, numerics::DataType type, bool sparse) {
  energy::ToggleSampler sampler(type, energy::products_per_step(type));
  const base::Matrix<Word>& a = sparse ? operands.compressed_a.values : operands.a;
  const std::size_t depth = std::min(a.cols(), kSampledDepth);
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = 0; j < operands.b_columns.rows(); ++j) {
      const std::span<const Word> column = operands.b_columns.row(j);
      if (sparse) {
        const std::vector<Word> b = selected(operands.compressed_a, i, column);
        sampler.add(a.row(i).first(depth), std::span<const Word>(b).first(depth));
      } else {
        sampler.add(a.row(i).first(depth), column.first(depth));
      }
    }
  }
  return relative_switching(sampler.toggles(), type);
}

const Switching& SwitchingSource::of(const workload::Operation& op, bool sparse,
                                     const std::optional<WeightsOnHardware>& weights) {
  const bool generated = !op.values && dynamic_cast<const GeneratedData*>(&data_) != nullptr;
  const std::string variant = !sparse    ? ""
                              : !weights ? "sparse"
                                         : weights->weights.name() + " on " + weights->execution.instruction.name();
  const std::string values = !generated ? op.name : op.b_is_zero ? "zeros in B" : "";
  const auto key = std::tuple(values, op.dtype, variant);
  const auto found = cache_.find(key);
  if (found != cache_.end()) {
    return found->second;
  }
  workload::Operation sampled = generated ? representative(op.dtype) : op;
  sampled.b_is_zero = op.b_is_zero;
  const ElementSelection selection{0, spread(sampled.shape.m), spread(sampled.shape.n)};
  if (sparse && weights) {
    return cache_.emplace(key, switching_of(sampled, selection, *weights, data_)).first->second;
  }
  const kernels::GemmOperands operands = make_operands(sampled, sparse, data_, selection);
  return cache_.emplace(key, switching_of(operands, op.dtype, sparse)).first->second;
}

energy::EventCounts launch_events(const workload::Operation& op, bool sparse, const VariantResult& figures,
                                  const Switching& switching, int dot_width_bytes) {
  base::ensure(dot_width_bytes > 0, "energy: a dot-product unit without width");
  const mma::MmaInstruction& instruction = figures.kernel.instruction;
  const double element = numerics::storage_bits(op.dtype) / 8.0;
  const double live = 1 - figures.timing.padding;
  const double useful =
      static_cast<double>(op.shape.macs()) * static_cast<double>(op.batch) * figures.timing.executed_share;
  const double macs = useful / live;
  const double m = instruction.shape.m;
  const double n = instruction.shape.n;
  const double compressed_k = instruction.compressed_k();
  const double instructions = macs / (m * n * compressed_k);
  const DesignCost& design = figures.design;
  const double accumulators = instructions * m * n * 4;
  const double outputs = base::product({op.shape.m, op.shape.n, op.batch});
  const double warps = instruction.warps();
  const double operand_a = instructions * m * compressed_k * element;
  const double operand_b = instructions * instruction.b_elements() * element;

  energy::EventCounts counts(op.dtype);
  counts.add(Event::kMultiply, macs, switching.products * live);
  counts.add(Event::kAlignAdd, macs * design.align_add, switching.addends * live);
  counts.add(Event::kRound, macs * element / dot_width_bytes * design.rounds * design.round,
             switching.accumulators * live);
  counts.add(Event::kOperandLatch, macs * element, switching.operand_a * live);
  counts.add(Event::kOperandLatch, macs * element, switching.operand_b * live);
  // mma.sync takes both operands from the register file.
  const Event source = instruction.is_asynchronous() ? Event::kSharedMemoryRead : Event::kRegisterRead;
  counts.add(source, operand_a, switching.operand_a * live);
  counts.add(source, operand_b, switching.operand_b * live);
  counts.add(Event::kRegisterRead, accumulators, switching.accumulators * live);
  counts.add(Event::kRegisterWrite, accumulators, switching.accumulators * live);
  if (sparse) {
    counts.add(Event::kOperandSelect, macs * design.operand_select, switching.operand_b * live);
    // Registers of every lane, whatever part of them the instruction uses.
    counts.add(Event::kMetadataRead, instructions * figures.kernel.metadata_registers * warps * kWarpRegisterBytes,
               live);
  }
  add_copies(figures.traffic.memory, (switching.operand_a + switching.operand_b) / 2, live, counts);
  // The epilogue: D = alpha * accumulator, converted and stored.
  counts.add(Event::kRegisterRead, outputs * 4, switching.accumulators);
  counts.add(Event::kCudaCoreFma, outputs, switching.accumulators);
  const double promoted = outputs * static_cast<double>(figures.kernel.promotions);
  counts.add(Event::kRegisterRead, 2 * promoted * 4, switching.accumulators);
  counts.add(Event::kRegisterWrite, promoted * 4, switching.accumulators);
  counts.add(Event::kCudaCoreFma, promoted, switching.accumulators);
  // The TMA copies the tiles of asynchronous instructions without instructions to speak of.
  const double copies = instruction.is_asynchronous() ? 0 : static_cast<double>(figures.traffic.memory.shared_memory());
  const double dequantised = op.storage.weight ? op.storage.dequantise_operations(op.dtype) * macs /
                                                     static_cast<double>(figures.kernel.warp_tile.n)
                                               : 0;
  counts.add(Event::kRegisterRead, dequantised * element, switching.operand_a * live);
  counts.add(Event::kRegisterWrite, dequantised * element, switching.operand_a * live);
  counts.add(Event::kInstructionIssue,
             instructions * warps + copies / kWarpAccessBytes + (2 * outputs + promoted + dequantised) / kLanes);
  return counts;
}

double seconds_at(const VariantResult& figures, double clock_mhz) {
  if (clock_mhz == figures.timing.clock_mhz) {
    return figures.timing.time_us * 1e-6;
  }
  // The launch does not follow the clock of the SMs.
  const double launch = figures.timing.launch_us * 1e-6;
  const double seconds = figures.timing.time_us * 1e-6 - launch;
  return seconds * figures.timing.clock_scaling.stretch(figures.timing.clock_mhz, clock_mhz) + launch;
}

energy::Work work_of(const workload::Operation& op, bool sparse, const energy::PowerSpec& power,
                     const Switching& switching, const VariantResult& figures) {
  const gpu::CycleBudget& budget = figures.timing.budget;
  const double fed = budget.cycles > 0 ? budget.tensor_mean / budget.cycles : 1;
  return {launch_events(op, sparse, figures, switching, power.dot_width_bytes),
          [figures](double mhz) { return seconds_at(figures, mhz); }, busy_sms(figures, power.sms),
          std::clamp(fed, 0.01, 1.0)};
}

namespace {

/// Carries figures to another clock as the closed form of the launch follows it.
void carry_over(double clock_mhz, double time_us, VariantResult& figures) {
  const double stretch = (time_us - figures.timing.launch_us) / (figures.timing.time_us - figures.timing.launch_us);
  const double clocks = clock_mhz / figures.timing.clock_mhz;
  const auto cycles = static_cast<double>(figures.timing.cycles);
  figures.timing.cycles = std::max<std::int64_t>(1, std::llround(cycles * stretch * clocks));
  figures.timing.tflops *= figures.timing.time_us / time_us;
  const double more_of_each = cycles / static_cast<double>(figures.timing.cycles);
  figures.timing.utilization *= more_of_each;
  if (figures.explanation.stalls) {
    const double mma = more_of_each * (*figures.explanation.stalls)[sm::StallReason::kMma];
    figures.explanation.stalls = gpu::with_mma(*figures.explanation.stalls, std::min(1.0, mma));
  }
  figures.timing.budget.cycles = static_cast<double>(figures.timing.cycles);
  figures.timing.budget.dram *= clocks;  // DRAM keeps its own time, and a launch its own
  figures.timing.budget.reduction *= clocks;
  figures.timing.clock_mhz = clock_mhz;
  figures.timing.time_us = time_us;
}

void set_bounds(numerics::DataType type, const energy::PowerSpec& power, EnergyResult& energy) {
  energy.bounds_uj = {energy.total_uj, energy.total_uj};
  if (!power.factors) {
    return;
  }
  energy.factors = power.factors;
  std::array<double, energy::kEnergyParts> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = energy.parts_uj[i].second;
  }
  energy.by_factor_uj = power.factors->amounts(parts, power.factors->energy.at(type));
  energy.bounds_uj = sum_bounds(power.factors->factors, energy.by_factor_uj);
}

}  // namespace

void set_energy(const workload::Operation& op, const energy::Work& work, const energy::PowerSpec& power,
                const energy::PowerResult& result, VariantResult& figures) {
  if (result.limited) {
    carry_over(result.clock_mhz, result.seconds * 1e6, figures);
  }
  EnergyResult energy;
  const std::array<double, energy::kEnergyParts> parts = result.energy.parts_pj();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    energy.parts_uj.emplace_back(energy::kEnergyPartNames[i], parts[i] * kMicrojoulesPerPicojoule);
  }
  energy.total_uj = result.energy.total_pj() * kMicrojoulesPerPicojoule;
  for (const energy::Rail& rail : power.rails) {
    const double pj = std::inner_product(parts.begin(), parts.end(), rail.shares.begin(), 0.0);
    energy.rails_uj.emplace_back(rail.name, pj * kMicrojoulesPerPicojoule);
  }
  set_bounds(work.counts.type(), power, energy);
  energy.power_w = result.average_w;
  energy.peak_power_w = result.peak_w;
  energy.pj_per_flop =
      result.energy.total_pj() / (2 * static_cast<double>(op.shape.macs()) * static_cast<double>(op.batch));
  energy.limited = result.limited;
  energy.limit_exceeded = result.limit_exceeded;
  energy.core_volts = power.curve.volts(result.clock_mhz);
  energy.counts = work.counts;
  figures.energy = std::move(energy);
}

namespace {

/// NVIDIA boards change their clock in such steps [MHz].
constexpr double kClockStep = 15;

/// The highest clock of a launch, whatever the power limit would allow.
double highest_mhz(const energy::PowerSpec& power, const VariantResult& figures) {
  return std::min(figures.timing.clock_scaling.boost_clock_mhz, power.highest_clock_mhz());
}

double in_steps(double mhz) {
  return std::max(kClockStep, std::floor(mhz / kClockStep) * kClockStep);
}

}  // namespace

double clock_at_limit(const workload::Operation& op, bool sparse, const energy::PowerSpec& power,
                      const Switching& switching, const VariantResult& figures) {
  const double most_mhz = highest_mhz(power, figures);
  const energy::Work work = work_of(op, sparse, power, switching, figures);
  const energy::PowerResult limited = power_limited(power, work, most_mhz);
  return limited.limited ? in_steps(limited.clock_mhz) : most_mhz;
}

namespace {

/// How fast a board acts on its power [s], assumed: on more than a burst may take, and on the mean
/// behind a burst. Measured pairs that take 8 ms in all run at the clock of a limit already; those
/// of an H100 PCIe are slower by a fifth from 30 to 100 ms on (configs/evidence).
constexpr double kPowerAverageSeconds = 0.002;
constexpr double kBurstSeconds = 0.025;

/// `figures` as simulated at, or within a few steps of, the highest clock at which they take no
/// more than the limit. Values that travelled do so once: at another clock the same events happen
/// without them.
VariantResult at_power_limit(const workload::Operation& op, bool sparse, const energy::PowerSpec& power,
                             const Switching& switching, const LaunchAtClock& at_clock, const VariantResult& figures) {
  constexpr int kTries = 4;
  constexpr double kFewSteps = 3 * kClockStep;  // the closed form carries a launch that far
  VariantResult found = figures;
  for (int i = 0; i < kTries; ++i) {
    const double mhz = clock_at_limit(op, sparse, power, switching, found);
    const double change = std::abs(mhz - found.timing.clock_mhz);
    if (change > 0 && change <= kFewSteps) {
      carry_over(mhz, 1e6 * seconds_at(found, mhz), found);
    }
    if (change <= kFewSteps) {
      break;
    }
    found = at_clock(mhz);
  }
  return found;
}

/// The share of the launches that count which begin in the first `us`, at `launch_us` each.
double share_before(double us, const kernels::Repetition& repetition, double launch_us) {
  const double before = std::floor(us / launch_us) - repetition.warmup;
  return std::clamp(before / repetition.repeat, 0.0, 1.0);
}

/// Time until the mean power of launches that take `launch_w` has come from rest to the limit.
double us_to_limit(const energy::PowerSpec& power, double launch_w) {
  const double rise = launch_w - idle_w(power);
  const double room = std::max(0.0, power.power_limit_w - idle_w(power));
  return rise <= room ? std::numeric_limits<double>::infinity()
                      : -1e6 * kPowerAverageSeconds * std::log(1 - room / rise);
}

/// The mean of launches of which `share` are like `boost` and the others like `limited`.
VariantResult mean_of(const VariantResult& boost, const VariantResult& limited, double share) {
  VariantResult mean = limited;
  const auto mix = [share](double one, double other) { return share * one + (1 - share) * other; };
  const double cycles = mix(static_cast<double>(boost.timing.cycles), static_cast<double>(limited.timing.cycles));
  const double time_us = mix(boost.timing.time_us, limited.timing.time_us);
  mean.timing.launch_us = mix(boost.timing.launch_us, limited.timing.launch_us);
  mean.timing.tflops = limited.timing.tflops * limited.timing.time_us / time_us;
  mean.timing.utilization = limited.timing.utilization * static_cast<double>(limited.timing.cycles) / cycles;
  mean.timing.cycles = std::llround(cycles);
  mean.timing.time_us = time_us;
  mean.timing.clock_mhz = cycles / (time_us - mean.timing.launch_us);
  mean.timing.budget.cycles = cycles;
  return mean;
}

}  // namespace

void add_energy(const workload::Operation& op, bool sparse, const energy::PowerSpec& board, const Switching& switching,
                const SimulationOptions& options, const LaunchAtClock& at_clock, VariantResult& figures) {
  const auto energy_of = [&](VariantResult& of) {
    const energy::Work work = work_of(op, sparse, board, switching, of);
    set_energy(op, work, board, power_at(board, work, of.timing.clock_mhz), of);
  };
  if (!options.clock_limited) {
    energy_of(figures);
    return;
  }
  VariantResult first = figures;
  std::optional<energy::PowerSpec> from_rest;
  if (options.repetition) {
    from_rest = board;
    from_rest->loaded_clock_mhz = 0;  // they are over before the clock falls to it
  }
  const energy::PowerSpec& power = from_rest ? *from_rest : board;
  const double most_mhz = highest_mhz(power, figures);
  figures = at_power_limit(op, sparse, power, switching, at_clock, figures);
  figures.check = first.check;
  energy_of(figures);
  figures.energy->limited = figures.timing.clock_mhz < most_mhz;
  figures.energy->limit_exceeded = figures.energy->limited && figures.energy->power_w > 1.02 * power.power_limit_w;
  if (!options.repetition || !figures.energy->limited) {
    return;
  }
  // Launches from rest run at the boost clock, or at that of what a burst may take, before the
  // board acts.
  energy::PowerSpec burst = power;
  burst.power_limit_w *= power.burst_ratio;
  const bool bursts = power.burst_ratio > 1;
  energy_of(first);
  const VariantResult before = bursts ? at_power_limit(op, sparse, burst, switching, at_clock, first) : first;
  const double until_us = bursts ? 1e6 * kBurstSeconds : us_to_limit(power, first.energy->power_w);
  const double share = share_before(until_us, *options.repetition, before.timing.time_us);
  if (share > 0) {
    figures = mean_of(before, figures, share);
    energy_of(figures);
    figures.energy->limited = figures.timing.clock_mhz < most_mhz;
  }
}

}  // namespace sptc::run
