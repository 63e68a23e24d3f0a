// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/gemm_simulator.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/gemm/gemm_traffic.h"
#include "sim/gemm/kernel_estimate.h"
#include "sim/gemm/packed_gemm.h"
#include "sim/gemm/warp_program.h"
#include "sim/gemm/work_schedule.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/gpu.h"
#include "sim/gpu/shipped_design.h"
#include "sim/sampling/extrapolation.h"
#include "sim/sampling/grid_reuse.h"
#include "sim/sampling/sampled_share.h"
#include "sim/sampling/sampling_plan.h"
#include "sim/sampling/tile_times.h"
#include "sim/tensor_core/issue_interval.h"
#include "sim/tensor_core/waveform.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

namespace sptc::sim {

class GemmSimulator::Impl {
 public:
  Impl(const GpuSpec& spec, const Options& options)
      : spec_(spec),
        options_(options),
        shipped_(spec),
        clock_(spec.boost_clock_mhz),
        gpu_("gpu", clock_, spec, SamplingPlan::sms_built(spec.sms, options.sms),
             options.bind_memory ? Gpu::Memory::kOutside : Gpu::Memory::kModelled) {
    if (options.bind_memory) {
      ensure(options.sms == Sms::kAll, "a memory of the caller needs all SMs");
      options_.extrapolate = false;
      options.bind_memory(gpu_);
    }
    if (!options.vcd_file.empty()) {
      open_waveform();
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates: ports are bound from here on
  }

  ~Impl() {
    if (vcd_ != nullptr) {
      sc_core::sc_close_vcd_trace_file(vcd_);
    }
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void set_clock(const ClockPolicy& clock) { options_.clock = clock; }

  GemmRun run(const GemmProblem& problem, const KernelOverrides& overrides,
              const std::vector<GemmOperands>* operands) {
    require_selector(problem, spec_);
    const KernelTarget target = spec_.kernel_target();
    const CalibratedKernel calibrated = shipped_.kernel(problem, overrides, operands != nullptr);
    const GemmKernel& kernel = calibrated.kernel;
    require_instruction(kernel.instruction, spec_);
    const KernelEstimate on_gpu = estimate(kernel, target);
    const KernelEstimate in_model = simulated_estimate(kernel, target);
    require_simulated(kernel, operands != nullptr);
    const mma::StepContext context = context_of(kernel, operands != nullptr);
    const GemmTraffic traffic(kernel);
    const SamplingPlan plan(kernel, target, options_.sms, options_.extrapolate);
    const GridSetup setup{kernel, plan, context, traffic,
                          static_cast<std::int64_t>(k_tile_cycles(kernel, target))};
    const GridReuse reuse(kernel, spec_.memory, spec_.sms);
    ensure(operands == nullptr || options_.sms != Sms::kSampled, "values need all SMs");

    GemmRun result;
    result.clock_mhz = clock_mhz(options_.clock, on_gpu, spec_);
    result.outside_us = on_gpu.outside_us();
    gpu_.set_clock_mhz(result.clock_mhz);
    result.kernel = kernel.result(spec_.sms);
    result.issued_macs = kernel.issued_macs();
    result.sampling.sms_simulated = plan.simulated_sms();
    gpu_.set_followed(plan.followed());
    counted_ = {};
    const Activity before = gpu_.activity();
    if (operands != nullptr) {
      run_with_values(setup, reuse, *operands, result);
    } else {
      run_without_values(setup, reuse, result);
    }
    result.clock_scaling = {on_gpu, spec_.boost_clock_mhz};
    result.form = calibrated.stretched_form(on_gpu, in_model);
    result.traffic = traffic_of(kernel, reuse, result.sampling);
    result.reduction = reduction_bytes(kernel, spec_.memory);
    if (options_.sms == Sms::kSampled || result.sampling.extrapolated) {
      result.cycles = std::max(result.cycles, least_cycles(kernel, result));
    }
    result.budget = cycle_budget(kernel, result.traffic, result.cycles, result.clock_mhz, spec_);
    const double on_gpu_us =
        calibrated.in_sms_us(static_cast<double>(result.cycles) / result.clock_mhz,
                             result.budget.dram / result.clock_mhz, on_gpu, in_model,
                             result.clock_mhz / spec_.boost_clock_mhz);
    const double calibration = calibration_cycles(result.budget, on_gpu_us * result.clock_mhz,
                                                  calibrated.main_loop_stretch);
    result.calibration_us = calibration / result.clock_mhz;
    result.budget.dram_behind = std::clamp(calibration, 0.0, result.budget.dram_behind);
    keep_within_launch(result.budget);
    result.stalls = stalls_of(result);
    if (options_.sms != Sms::kSampled && !result.sampling.extrapolated) {
      result.activity = gpu_.activity();
      *result.activity -= before;
    }
    return result;
  }

 private:
  /// What all grids have in common that are simulated for one launch, the whole one or shorter
  /// ones.
  struct GridSetup {
    const GemmKernel& kernel;
    const SamplingPlan& plan;
    const mma::StepContext& context;
    const GemmTraffic& traffic;
    std::int64_t k_tile_cycles;

    /// `memory` and `map`: where values travel.
    KernelLaunch of(const WarpProgram& program, std::int64_t ctas, CtaMemory* memory = nullptr,
                    const mma::RegisterMap* map = nullptr) const {
      KernelLaunch launch{&program, &context, map,      kernel.warps(), kernel.ctas_per_sm,
                          ctas,     memory,   &traffic, nullptr,        kernel.carve_out};
      launch.cta_group = kernel.cta_group;
      launch.k_tile_cycles = k_tile_cycles;
      return launch;
    }
    bool scheduled() const { return kernel.persistent() || kernel.stream_k(); }
  };

  /// What one resource needs for all of a launch at the least, of SMs the busiest one. A line
  /// through short grids, whose stores the L2 still takes in and whose first CTAs wait for DRAM
  /// more than the rest, can lead below.
  std::int64_t least_cycles(const GemmKernel& kernel, const GemmRun& run) const {
    const CycleBudget bounds =
        cycle_budget(kernel, waited_for(kernel, run.traffic, spec_.sms), 0, run.clock_mhz, spec_);
    // What the L1 has the L2 is not asked for.
    const double from_l2 = kernel.staged_in_registers() ? 0 : std::max(bounds.l2, bounds.sm_port);
    return static_cast<std::int64_t>(
        std::ceil(std::max({bounds.dram, bounds.tensor, bounds.shared_memory, from_l2})));
  }

  StallShares stalls_of(const GemmRun& run) const {
    if (options_.sms != Sms::kSampled && !run.sampling.extrapolated) {
      return whole_stalls(counted_.stalls);
    }
    return scaled_stalls(counted_, static_cast<double>(run.issued_macs),
                         static_cast<double>(spec_.sms) * spec_.sm.sub_partitions, run.budget);
  }

  /// Runs a grid of `tiles` output tiles that are `k_tiles` deep. Of a launch the one that does
  /// most is counted.
  GridRun run_counted(const KernelLaunch& launch, const GemmKernel& kernel, std::int64_t tiles,
                      std::int64_t k_tiles, const std::vector<int>& sm_numbers,
                      double l2_share = 1) {
    GridRun run = gpu_.run(launch, sm_numbers, l2_share);
    if (run.macs > counted_.macs) {
      const double depth = static_cast<double>(k_tiles) / static_cast<double>(kernel.k_tiles());
      const double of_tile =
          depth * static_cast<double>(kernel.issued_macs()) / static_cast<double>(kernel.ctas());
      const double busiest = of_tile * static_cast<double>(ceil_div(tiles, spec_.sms));
      const double mean = static_cast<double>(run.macs) / static_cast<double>(sm_numbers.size());
      counted_ = {run.stalls, run.macs, kernel.stream_k() ? 1 : std::min(1.0, mean / busiest),
                  depth, run.cycles};
    }
    return run;
  }

  /// What is counted per CTA and cannot have been work of the launch: loads that the L1 answered,
  /// partial sums that the L2 keeps until they are read, waits for ports that others hide.
  static void keep_within_launch(CycleBudget& budget) {
    budget.operand_fetch =
        std::min(budget.operand_fetch, std::max(0.0, budget.cycles - budget.tensor));
    for (double* busy : {&budget.sm_port, &budget.l2, &budget.dram}) {
      *busy = std::min(*busy, budget.cycles);
    }
  }

  /// What calibration adds to the cycles of a launch that takes `on_gpu` of them on the GPU. It
  /// leaves the busiest resource its time, and the tensor cores that of the library's main loop.
  static double calibration_cycles(const CycleBudget& budget, double on_gpu, double main_loop) {
    const double least =
        std::max({budget.tensor, budget.shared_memory, budget.sm_port, budget.l2, budget.dram});
    return std::max({on_gpu, std::min(least, budget.cycles), budget.tensor_mean * main_loop}) -
           budget.cycles;
  }

  mma::StepContext context_of(const GemmKernel& kernel, bool values) const {
    const mma::MmaInstruction& instruction = kernel.executed;
    const bool as_values = instruction.shape.m == mma::kRows && instruction.shape.n == mma::kCols;
    if (is_explored(instruction) || (!values && !as_values)) {
      return timed_context(spec_.sm.tensor_core, spec_.numerics, instruction);
    }
    return {instruction, spec_.step_rules(instruction)};
  }

  /// Counted where the whole memory system was there for the whole launch.
  MemoryTraffic traffic_of(const GemmKernel& kernel, const GridReuse& reuse,
                           const SamplingResult& sampling) const {
    MemoryTraffic traffic = closed_form_traffic(kernel, reuse, spec_.sms);
    if (options_.sms == Sms::kAll && !sampling.extrapolated && !options_.bind_memory) {
      traffic.l2_and_dram = gpu_.memory_counters();
    }
    return traffic;
  }

  // The tensor cores of the first SM.
  void open_waveform() {
    vcd_ = sc_core::sc_create_vcd_trace_file(options_.vcd_file.c_str());
    vcd_->set_time_unit(1, sc_core::SC_PS);
    for (const auto& partition : gpu_.sms().front()->sub_partitions) {
      waveforms_.push_back(std::make_unique<TensorCoreWaveform>(vcd_, partition->tensor_core,
                                                                partition->basename()));
      partition->mma_done.set_tap([waveform = waveforms_.back().get()](MmaDoneToken& token) {
        waveform->show_result(token);
      });
    }
  }

  /// `tiles` output tiles of a kernel, `k_tiles` deep, without values.
  GridRun run_tiles(const GridSetup& setup, std::int64_t tiles, std::int64_t k_tiles,
                    const std::vector<int>& sm_numbers, TileObserver* recorder = nullptr,
                    double l2_share = 1) {
    const WarpProgram program = gemm_warp_program(setup.kernel, k_tiles);
    KernelLaunch short_launch = setup.of(program, tiles);
    short_launch.recorder = recorder;
    // Grids that are carried on have a recorder, or are stream-K and cut K themselves.
    const bool unlike = recorder == nullptr && setup.kernel.split_k > 1 &&
                        setup.kernel.all_k_tiles() % k_tiles != 0;
    if (!setup.scheduled() && !unlike) {
      return run_counted(short_launch, setup.kernel, tiles, k_tiles, sm_numbers, l2_share);
    }
    const WorkSchedule schedule(
        setup.kernel, tiles, k_tiles, spec_.sms,
        unlike ? WorkSchedule::Slices::kWhole : WorkSchedule::Slices::kAlike);
    const ScheduledTraffic traffic(setup.traffic, schedule);
    short_launch.ctas = schedule.ctas();
    short_launch.work = &schedule;
    short_launch.traffic = &traffic;
    return run_counted(short_launch, setup.kernel, tiles, k_tiles, sm_numbers, l2_share);
  }

  /// Of a grid whose CTA i has the output tiles i, i + `ctas` and so on, of `tiles`, each of them
  /// `k_tiles` deep.
  static GridTimes times_of(const GridRun& run, std::int64_t tiles, std::int64_t k_tiles,
                            std::int64_t ctas, const GemmTraffic& traffic, TileTimes& tile_times) {
    GridTimes times{run.cycles, {}};
    const auto add = [&](std::int64_t cta, const std::vector<std::int64_t>& uses,
                         std::vector<CtaTimes>& of_sm) {
      auto at = uses.begin();
      for (std::int64_t tile = cta; tile < tiles; tile += ctas, at += k_tiles) {
        ensure(uses.end() - at >= k_tiles, "a CTA did not tell of its k-tiles");
        of_sm.push_back({at[k_tiles - 1],
                         {at, at + k_tiles},
                         traffic.requested_bytes(Operand::kA, tile, tile + 1) +
                             traffic.requested_bytes(Operand::kB, tile, tile + 1)});
      }
    };
    for (const std::vector<CtaRecord>& records : run.ctas) {
      std::vector<CtaTimes>& of_sm = times.ctas.emplace_back();
      for (const CtaRecord& record : records) {
        add(record.cta, tile_times.take(record.cta), of_sm);
      }
    }
    std::map<int, std::vector<CtaTimes>> of_followers;
    for (const Followers::CtaOfFollower& cta : run.followers) {
      add(cta.cta, cta.uses, of_followers[cta.sm]);
    }
    for (auto& [sm, of_sm] : of_followers) {
      times.ctas.push_back(std::move(of_sm));
    }
    for (std::vector<CtaTimes>& of_sm : times.ctas) {
      std::sort(of_sm.begin(), of_sm.end(),
                [](const CtaTimes& left, const CtaTimes& right) { return left.end < right.end; });
    }
    return times;
  }

  /// Cycles of the grid, of which `run` runs the CTAs of the SMs of a turn: those of the last one.
  std::int64_t run_grid(const GridSetup& setup, const GridReuse& reuse,
                        const std::function<std::int64_t(const std::vector<int>& sm_numbers,
                                                         SampledShare& share)>& run) {
    std::int64_t cycles = 0;
    for (const std::vector<int>& sm_numbers : setup.plan.turns()) {
      SampledShare share(setup.kernel, reuse, spec_.memory, spec_.sms, sm_numbers);
      gpu_.set_share([&share](std::size_t port, std::int64_t cta) -> const ShareOfCta& {
        return share.share_of(port, cta);
      });
      cycles = std::max(cycles, run(sm_numbers, share));
    }
    return cycles;
  }

  void run_with_values(const GridSetup& setup, const GridReuse& reuse,
                       const std::vector<GemmOperands>& operands, GemmRun& result) {
    const GemmKernel& kernel = setup.kernel;
    setup.context.require_values();
    const mma::RegisterMap map(kernel.instruction);
    PackedGemm memory(kernel, map, operands);
    const WarpProgram program = gemm_warp_program(kernel, kernel.k_tiles());
    const KernelLaunch with_values = setup.of(program, kernel.ctas(), &memory, &map);
    result.cycles = run_grid(setup, reuse, [&](const std::vector<int>& sm_numbers, SampledShare&) {
      return run_counted(with_values, kernel, kernel.ctas(), kernel.k_tiles(), sm_numbers).cycles;
    });
    result.sampling.cycles_simulated = result.cycles;
    result.d = memory.take_results();
  }

  void run_without_values(const GridSetup& setup, const GridReuse& reuse, GemmRun& result) {
    const GemmKernel& kernel = setup.kernel;
    if (setup.plan.whole()) {
      result.cycles =
          run_grid(setup, reuse, [&](const std::vector<int>& sm_numbers, SampledShare&) {
            return run_tiles(setup, kernel.ctas(), kernel.k_tiles(), sm_numbers).cycles;
          });
      result.sampling.cycles_simulated = result.cycles;
      return;
    }
    result.cycles =
        run_grid(setup, reuse, [&](const std::vector<int>& sm_numbers, SampledShare& share) {
          const ExtrapolatedCycles cycles = run_shortened(setup, reuse, sm_numbers, share);
          result.sampling.extrapolated = cycles.extrapolated;
          result.sampling.cycles_simulated =
              std::max(result.sampling.cycles_simulated, cycles.cycles_simulated);
          return cycles.cycles;
        });
  }

  /// Copies fill all stages but the one that is multiplied in a burst, so that the main loop may
  /// repeat every stages - 1 k-tiles, and with halves of a cycle every other time. With two stages
  /// every k-tile may be alike but for fractions of a cycle.
  static std::int64_t tile_period(const GemmKernel& kernel) {
    return kernel.stages > 2 ? 2 * (kernel.stages - 1) : 4;
  }

  /// Cycles of the SMs of a turn, from grids that may be shorter than the whole one.
  ExtrapolatedCycles run_shortened(const GridSetup& setup, const GridReuse& reuse,
                                   const std::vector<int>& sm_numbers, SampledShare& share) {
    const GemmKernel& kernel = setup.kernel;
    const bool shared = setup.plan.shares_tiles();
    const auto simulate = [&](const ShortGrid& grid) {
      const std::int64_t rounds_left_out = ceil_div(kernel.ctas(), spec_.sms) - grid.ctas;
      // The last round need not fill all SMs, and those without a CTA leave the memory to the
      // others.
      const std::int64_t total = grid.ends_as_the_whole
                                     ? kernel.ctas() - rounds_left_out * spec_.sms
                                     : std::min(grid.ctas * spec_.sms, kernel.ctas());
      share.shorten(total, grid.ends_as_the_whole);
      TileTimes tile_times;
      const double part = static_cast<double>(grid.k_tiles) / static_cast<double>(kernel.k_tiles());
      const GridRun run = run_tiles(setup, total, grid.k_tiles, sm_numbers,
                                    shared ? nullptr : &tile_times, reuse.l2_share_of(part));
      const std::int64_t ctas = setup.scheduled() ? setup.plan.resident() : total;
      return shared ? GridTimes{run.cycles, {}}
                    : times_of(run, total, grid.k_tiles, ctas, setup.traffic, tile_times);
    };
    const GridExtent extent{
        .ctas = ceil_div(kernel.ctas(), spec_.sms),
        .k_tiles = kernel.k_tiles(),
        .resident = kernel.ctas_per_sm,
        .stays = setup.scheduled(),
        .shares_tiles = shared,
        .tile_period = tile_period(kernel),
        .stages = kernel.stages,
        .drifts = options_.sms == Sms::kAll,
    };
    return extrapolate_cycles(extent, simulate);
  }

  GpuSpec spec_;
  Options options_;
  ShippedDesign shipped_;
  Clock clock_;
  Gpu gpu_;
  CountedGrid counted_;  ///< of the latest launch
  sc_core::sc_trace_file* vcd_ = nullptr;
  std::vector<std::unique_ptr<TensorCoreWaveform>> waveforms_;
};

GemmSimulator::GemmSimulator(const GpuSpec& spec, const Options& options)
    : impl_(std::make_unique<Impl>(spec, options)) {}

GemmSimulator::~GemmSimulator() = default;

void GemmSimulator::set_clock(const ClockPolicy& clock) {
  impl_->set_clock(clock);
}

GemmRun GemmSimulator::run(const GemmProblem& problem, const KernelOverrides& overrides,
                           const std::vector<GemmOperands>* operands) {
  return impl_->run(problem, overrides, operands);
}

}  // namespace sptc::sim
