// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/gemm_simulator.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/base/run_events.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/extrapolation.h"
#include "sim/gpu/gpu.h"
#include "sim/gpu/observer.h"
#include "sim/hardware/tensor_core/issue_interval.h"
#include "sim/kernels/gemm_operands.h"
#include "sim/kernels/gemm_traffic.h"
#include "sim/kernels/grid_reuse.h"
#include "sim/kernels/kernel_choice.h"
#include "sim/kernels/kernel_estimate.h"
#include "sim/kernels/packed_gemm.h"
#include "sim/kernels/warp_program.h"
#include "sim/kernels/work_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

namespace sptc::gpu {
namespace {

/// Notes when the last warp of each CTA had each of its k-tiles.
class TileTimes final : public sm::TileObserver {
 public:
  void tile_used(std::int64_t cta, std::int64_t tile, std::int64_t cycle) override {
    std::vector<std::int64_t>& cycles = cycles_[cta];
    const auto index = static_cast<std::size_t>(tile);
    if (cycles.size() <= index) {
      cycles.resize(index + 1);
    }
    cycles[index] = std::max(cycles[index], cycle);
  }

  /// Cycles of CTA `cta`, which is forgotten.
  std::vector<std::int64_t> take(std::int64_t cta) { return std::move(cycles_[cta]); }

 private:
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> cycles_;
};

/// Shares of `counted` cycles, those of the whole GPU and the whole launch.
StallShares whole_stalls(const sm::StallCycles& counted) {
  StallShares shares;
  const auto total = static_cast<double>(counted.total());
  std::transform(counted.of.begin(), counted.of.end(), shares.of.begin(),
                 [total](std::int64_t cycles) { return static_cast<double>(cycles) / total; });
  return shares;
}

}  // namespace

class GemmSimulator::Impl {
 public:
  Impl(const GpuSpec& spec, const Options& options)
      : spec_(spec),
        options_(options),
        clock_(options.elaborated_mhz > 0 ? options.elaborated_mhz : spec.boost_clock_mhz),
        gpu_("gpu", clock_, spec,
             options.bind_memory ? Gpu::Memory::kOutside
             : options.bind_dram ? Gpu::Memory::kDramOutside
                                 : Gpu::Memory::kModelled) {
    if (options.bind_memory || options.bind_dram) {
      options_.extrapolate = false;
    }
    if (options.bind_memory) {
      options.bind_memory(gpu_);
    }
    if (options.bind_dram) {
      options.bind_dram(gpu_.l2().dram);
    }
    for (Observer* const observer : options.observers) {
      observer->attach(gpu_);
    }
    base::run_events(sc_core::SC_ZERO_TIME);  // elaborates: ports are bound from here on
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void set_clock(const ClockPolicy& clock) { options_.clock = clock; }

  GemmRun run(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
              const std::vector<kernels::GemmOperands>* operands) {
    require_selector(problem, spec_);
    // Closed forms are a few percent from the cycles: the next ones may be faster. Observers see
    // one kernel, and so do values.
    constexpr int kSimulated = 3;
    const bool one = operands != nullptr || !options_.observers.empty();
    std::optional<GemmRun> best;
    for (const kernels::GemmKernel& kernel : kernels::candidate_kernels(problem, overrides, spec_.kernel_target(),
                                                                        operands != nullptr, one ? 1 : kSimulated)) {
      GemmRun run = run_kernel(kernel, operands);
      best = best ? faster_of(std::move(*best), std::move(run)) : std::move(run);
    }
    return std::move(*best);
  }

 private:
  GemmRun run_kernel(const kernels::GemmKernel& kernel, const std::vector<kernels::GemmOperands>* operands) {
    const kernels::GemmProblem& problem = kernel.problem;
    const kernels::KernelTarget target = spec_.kernel_target();
    require_instruction(kernel.instruction, spec_);
    const kernels::KernelEstimate form = kernels::estimate(kernel, target);
    require_simulated(kernel, operands != nullptr);
    require_stages(kernel.executed);
    const mma::StepContext context = context_of(kernel, operands != nullptr);
    const kernels::GemmTraffic traffic(kernel);
    const GridSetup setup{kernel, context, traffic, form, spec_.sms * kernel.ctas_per_sm};
    const kernels::GridReuse reuse(kernel, spec_.memory, spec_.sms);

    GemmRun result;
    result.clock_mhz = options_.clock.mhz_of(problem.conditions, spec_.boost_clock_mhz);
    gpu_.set_clock_mhz(result.clock_mhz);
    result.kernel = kernel.result(spec_.sms);
    result.issued_macs = kernel.issued_macs();
    const tensor_core::Activity before = gpu_.activity();
    if (operands != nullptr) {
      run_with_values(setup, *operands, result);
    } else {
      run_without_values(setup, reuse, result);
    }
    result.clock_scaling = {form, spec_.boost_clock_mhz};
    result.traffic = traffic_of(kernel, reuse, result.simulated);
    result.reduction = kernels::reduction_bytes(kernel, spec_.memory);
    if (result.simulated.extrapolated) {
      result.cycles = std::max(result.cycles, least_cycles(kernel, result));
    }
    result.budget = cycle_budget(kernel, result.traffic, result.cycles, result.clock_mhz, spec_);
    keep_within_launch(result.budget);
    result.launch_us = kernels::launch_overhead_us(kernel, form, spec_.launch);
    result.stalls = stalls_of(result);
    if (!result.simulated.extrapolated) {
      result.activity = gpu_.activity();
      *result.activity -= before;
    }
    return result;
  }

  /// What all grids have in common that are simulated for one launch, the whole one or shorter
  /// ones.
  struct GridSetup {
    const kernels::GemmKernel& kernel;
    const mma::StepContext& context;
    const kernels::GemmTraffic& traffic;
    const kernels::KernelEstimate& form;
    std::int64_t resident;  ///< CTAs that the GPU holds

    /// `memory` and `map`: where values travel.
    sm::KernelLaunch of(const isa::WarpProgram& program, std::int64_t ctas, sm::CtaMemory* memory = nullptr,
                        const mma::RegisterMap* map = nullptr) const {
      sm::KernelLaunch launch{&program, &context, map,      kernel.warps(), kernel.ctas_per_sm,
                              ctas,     memory,   &traffic, nullptr,        kernel.carve_out};
      launch.cta_group = kernel.cta_group;
      return launch;
    }
    bool scheduled() const { return kernel.persistent() || kernel.stream_k(); }
    /// Whether CTAs have parts of output tiles.
    bool shares_tiles() const { return kernel.stream_k() && kernel.ctas() % resident != 0; }
  };

  /// What one resource needs for all of a launch at the least, of SMs the busiest one: main loops
  /// and rounds that are carried on, whose stores the L2 still takes in and whose first CTAs wait
  /// more than the rest, can lead below.
  std::int64_t least_cycles(const kernels::GemmKernel& kernel, const GemmRun& run) const {
    const CycleBudget bounds =
        cycle_budget(kernel, waited_for(kernel, run.traffic, spec_.sms), 0, run.clock_mhz, spec_);
    const double from_l2 = kernel.staged_in_registers() ? 0 : std::max(bounds.l2, bounds.sm_port);
    const double in_dram = bounds.dram - run.clock_scaling.form.drained_us() * run.clock_mhz;
    return static_cast<std::int64_t>(std::ceil(std::max({in_dram, bounds.tensor, bounds.shared_memory, from_l2})));
  }

  StallShares stalls_of(const GemmRun& run) const {
    const StallShares shares = whole_stalls(counted_.stalls);
    if (!run.simulated.extrapolated) {
      return shares;
    }
    // The work says how long the tensor cores multiply.
    const auto multiplied = static_cast<double>(counted_.stalls[sm::StallReason::kMma]);
    const double work = static_cast<double>(run.issued_macs) / static_cast<double>(counted_.macs);
    const double all = static_cast<double>(run.cycles) * spec_.sms * spec_.sm.sub_partitions;
    return with_mma(shares, std::min(1.0, multiplied * work / all));
  }

  GridRun run_counted(const sm::KernelLaunch& launch, const memory::L2Contents& l2) {
    GridRun run = gpu_.run(launch, l2);
    counted_ = {run.stalls, run.macs};
    return run;
  }

  /// What is counted per CTA and cannot have been work of the launch: loads that the L1 answered,
  /// partial sums that the L2 keeps until they are read, waits for ports that others hide.
  static void keep_within_launch(CycleBudget& budget) {
    budget.operand_fetch = std::min(budget.operand_fetch, std::max(0.0, budget.cycles - budget.tensor));
    for (double* busy : {&budget.sm_port, &budget.l2, &budget.dram}) {
      *busy = std::min(*busy, budget.cycles);
    }
  }

  mma::StepContext context_of(const kernels::GemmKernel& kernel, bool values) const {
    const mma::MmaInstruction& instruction = kernel.executed;
    const auto rules = mma::find_step_rules(spec_.numerics, instruction);
    const bool carried = rules && !kernels::is_explored(instruction) &&
                         mma::StepContext::carries(instruction, spec_.step_rules(instruction));
    if (!values && !carried) {
      return tensor_core::timed_context(spec_.sm.tensor_core, spec_.numerics, instruction);
    }
    return {instruction, spec_.step_rules(instruction)};
  }

  /// Traffic as counted, where the memory system was there for the whole launch.
  kernels::MemoryTraffic traffic_of(const kernels::GemmKernel& kernel, const kernels::GridReuse& reuse,
                                    const kernels::SimulatedCycles& simulated) const {
    kernels::MemoryTraffic traffic = kernels::closed_form_traffic(kernel, reuse.dram(), spec_.sms);
    if (!simulated.extrapolated && !options_.bind_memory) {
      traffic.l2_and_dram = gpu_.memory_counters();
    }
    return traffic;
  }

  void require_stages(const mma::MmaInstruction& instruction) const {
    if (!options_.observers.empty() && instruction.is_asynchronous()) {
      throw base::InputError(fmt::format("no {} of {}: only its time is simulated; --fidelity datapath runs mma.sync",
                                         options_.observers.front()->name(), mma::name(instruction.family)));
    }
  }

  /// What launches like this one have left in the L2.
  memory::L2Contents contents_of(const GridSetup& setup, double l2_share) const {
    const kernels::ResidentOperands resident = kernels::resident_operands(setup.kernel, spec_.memory);
    const memory::MemorySpec& memory = spec_.memory;
    // An L2 that DRAM does not empty from launch to launch is as full of D as it may be.
    const double stored = (1 - resident.d) * static_cast<double>(kernels::stored_bytes(setup.kernel));
    const double left = setup.form.fills_l2_with_d() ? memory.dirty_bytes() : std::min(stored, memory.dirty_bytes());
    const double drained =
        setup.form.gap_us * spec_.boost_clock_mhz * memory.dram_bytes_per_cycle(spec_.boost_clock_mhz);
    return {resident.a, resident.b, resident.d, std::max(0.0, left - drained), l2_share};
  }

  /// `tiles` output tiles of a kernel, `k_tiles` deep, without values.
  GridRun run_tiles(const GridSetup& setup, std::int64_t tiles, std::int64_t k_tiles,
                    sm::TileObserver* observer = nullptr, double l2_share = 1) {
    const memory::L2Contents l2 = contents_of(setup, l2_share);
    const isa::WarpProgram program = kernels::gemm_warp_program(setup.kernel, k_tiles);
    sm::KernelLaunch short_launch = setup.of(program, tiles);
    short_launch.observer = observer;
    // Grids that are carried on have an observer, or are stream-K and cut K themselves.
    const bool unlike = observer == nullptr && setup.kernel.split_k > 1 && setup.kernel.all_k_tiles() % k_tiles != 0;
    if (!setup.scheduled() && !unlike) {
      return run_counted(short_launch, l2);
    }
    const kernels::WorkSchedule schedule(
        setup.kernel, tiles, k_tiles, spec_.sms,
        unlike ? kernels::WorkSchedule::Slices::kWhole : kernels::WorkSchedule::Slices::kAlike);
    const kernels::ScheduledTraffic traffic(setup.traffic, schedule);
    short_launch.ctas = schedule.ctas();
    short_launch.work = &schedule;
    short_launch.traffic = &traffic;
    return run_counted(short_launch, l2);
  }

  /// Times of a grid whose CTA i has the output tiles i, i + `ctas` and so on, of `tiles`, each of
  /// them `k_tiles` deep.
  static GridTimes times_of(const GridRun& run, std::int64_t tiles, std::int64_t k_tiles, std::int64_t ctas,
                            const kernels::GemmTraffic& traffic, TileTimes& tile_times) {
    GridTimes times{run.cycles, {}};
    for (const std::vector<sm::CtaRecord>& records : run.ctas) {
      std::vector<CtaTimes>& of_sm = times.ctas.emplace_back();
      for (const sm::CtaRecord& record : records) {
        const std::vector<std::int64_t> uses = tile_times.take(record.cta);
        auto at = uses.begin();
        for (std::int64_t tile = record.cta; tile < tiles; tile += ctas, at += k_tiles) {
          base::ensure(uses.end() - at >= k_tiles, "a CTA did not tell of its k-tiles");
          of_sm.push_back({at[k_tiles - 1],
                           {at, at + k_tiles},
                           traffic.requested_bytes(isa::Operand::kA, tile, tile + 1) +
                               traffic.requested_bytes(isa::Operand::kB, tile, tile + 1)});
        }
      }
      std::sort(of_sm.begin(), of_sm.end(),
                [](const CtaTimes& left, const CtaTimes& right) { return left.end < right.end; });
    }
    return times;
  }

  void run_with_values(const GridSetup& setup, const std::vector<kernels::GemmOperands>& operands, GemmRun& result) {
    const kernels::GemmKernel& kernel = setup.kernel;
    setup.context.require_values();
    const mma::RegisterMap map(kernel.instruction);
    kernels::PackedGemm memory(kernel, map, operands);
    const isa::WarpProgram program = kernels::gemm_warp_program(kernel, kernel.k_tiles());
    const sm::KernelLaunch with_values = setup.of(program, kernel.ctas(), &memory, &map);
    result.cycles = run_counted(with_values, contents_of(setup, 1)).cycles;
    result.simulated.cycles = result.cycles;
    result.d = memory.take_results();
  }

  void run_without_values(const GridSetup& setup, const kernels::GridReuse& reuse, GemmRun& result) {
    const kernels::GemmKernel& kernel = setup.kernel;
    // How the stretches of CTAs that share tiles meet those is another one in each shorter grid.
    if (!options_.extrapolate || setup.shares_tiles()) {
      result.cycles = run_tiles(setup, kernel.ctas(), kernel.k_tiles()).cycles;
      result.simulated.cycles = result.cycles;
      return;
    }
    const ExtrapolatedCycles cycles = run_shortened(setup, reuse);
    result.cycles = cycles.cycles;
    result.simulated = {cycles.extrapolated, cycles.cycles_simulated};
  }

  /// Copies fill all stages but the one that is multiplied in a burst, so that the main loop may
  /// repeat every stages - 1 k-tiles, and with halves of a cycle every other time. With two stages
  /// every k-tile may be alike but for fractions of a cycle.
  static std::int64_t tile_period(const kernels::GemmKernel& kernel) {
    return kernel.stages > 2 ? 2 * (kernel.stages - 1) : 4;
  }

  /// Cycles from grids that may be shorter than the whole one.
  ExtrapolatedCycles run_shortened(const GridSetup& setup, const kernels::GridReuse& reuse) {
    const kernels::GemmKernel& kernel = setup.kernel;
    const auto simulate = [&](const ShortGrid& grid) {
      const std::int64_t rounds_left_out = base::ceil_div(kernel.ctas(), spec_.sms) - grid.ctas;
      // The last round need not fill all SMs, and those without a CTA leave the memory to the
      // others.
      const std::int64_t total = grid.ends_as_the_whole ? kernel.ctas() - rounds_left_out * spec_.sms
                                                        : std::min(grid.ctas * spec_.sms, kernel.ctas());
      TileTimes tile_times;
      const double part = static_cast<double>(grid.k_tiles) / static_cast<double>(kernel.k_tiles());
      const GridRun run = run_tiles(setup, total, grid.k_tiles, &tile_times, reuse.l2_share_of(part));
      const std::int64_t ctas = setup.scheduled() ? setup.resident : total;
      return times_of(run, total, grid.k_tiles, ctas, setup.traffic, tile_times);
    };
    const GridExtent extent{
        .ctas = base::ceil_div(kernel.ctas(), spec_.sms),
        .k_tiles = kernel.k_tiles(),
        .resident = kernel.ctas_per_sm,
        .stays = setup.scheduled(),
        .tile_period = tile_period(kernel),
        .stages = kernel.stages,
    };
    return extrapolate_cycles(extent, simulate);
  }

  GpuSpec spec_;
  Options options_;
  base::Clock clock_;
  Gpu gpu_;
  /// Counts of the latest grid.
  struct Counted {
    sm::StallCycles stalls;
    std::int64_t macs = 0;
  } counted_;
};

GemmSimulator::GemmSimulator(const GpuSpec& spec, const Options& options)
    : impl_(std::make_unique<Impl>(spec, options)) {}

GemmSimulator::~GemmSimulator() = default;

void GemmSimulator::set_clock(const ClockPolicy& clock) {
  impl_->set_clock(clock);
}

GemmRun GemmSimulator::run(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                           const std::vector<kernels::GemmOperands>* operands) {
  return impl_->run(problem, overrides, operands);
}

}  // namespace sptc::gpu
