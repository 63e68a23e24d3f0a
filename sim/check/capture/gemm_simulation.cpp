// SPDX-License-Identifier: Apache-2.0
#include "sim/check/capture/gemm_simulation.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/gpu/timer.h"
#include "sim/io/text_file.h"
#include "sim/run/data_source.h"
#include "sim/run/energy.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/systemc_timer.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

namespace sptc::check::capture {
namespace {

/// `figures` at another clock of the SMs.
run::VariantResult at_clock(run::VariantResult figures, double clock_mhz) {
  figures.timing.time_us = run::seconds_at(figures, clock_mhz) * 1e6;
  figures.timing.clock_mhz = clock_mhz;
  return figures;
}

class CapturedGpu {
 public:
  CapturedGpu(const config::Architecture& architecture, const Capture& capture, run::Fidelity fidelity)
      : gpu_(architecture.gpu), capture_(capture) {
    launch_options_.fidelity = fidelity;
    launch_options_.check = run::CheckMode::kNone;
    timer_ = run::make_timer(gpu_, launch_options_);
    try {
      read_power(architecture);
    } catch (const base::InputError& error) {
      no_power_ = error.what();
    }
  }

  PowerFigures time(const CapturedGemm& row) {
    const run::VariantResult launch = figures_of(row);
    PowerFigures figures;
    figures.time_us = at_clock(launch, row.clock_mhz.value_or(launch.timing.clock_mhz)).timing.time_us;
    return figures;
  }

  PowerFigures power(const CapturedGemm& row) {
    run::VariantResult launch = figures_of(row);
    if (row.clock_mhz) {
      launch = at_clock(std::move(launch), *row.clock_mhz);
    }
    PowerFigures figures;
    figures.time_us = launch.timing.time_us;
    if (!power_) {
      figures.reason = no_power_;
      return figures;
    }
    if (row.clock_mhz && row.time_us) {
      launch.timing.time_us = *row.time_us;  // so that watts show the energies alone
    }
    const workload::Operation op = operation_of(row);
    const run::GeneratedData data(workload::parse_data_kind(row.data), 0);
    const energy::Switching switching = run::SwitchingSource(data).of(op, row.sparse);
    figures.clock_mhz = run::clock_at_limit(op, row.sparse, *power_, switching, launch);
    if (!row.clock_mhz) {
      launch = at_clock(std::move(launch), *figures.clock_mhz);
      figures.time_us = launch.timing.time_us;
    }
    run::add_energy(op, row.sparse, *power_, switching, {}, {}, launch);
    figures.power_w = launch.energy->power_w;
    return figures;
  }

 private:
  void read_power(const config::Architecture& architecture) {
    const std::vector<std::string> names = config::energy_names();
    if (std::find(names.begin(), names.end(), gpu_.name) == names.end()) {
      throw base::InputError("'" + gpu_.name + "' has no energy file");
    }
    energy::PowerSpec spec = config::power_spec(config::load_energy(gpu_.name).config, architecture.gpu);
    spec.power_limit_w = capture_.power_limit_w.value_or(spec.power_limit_w);
    spec.static_power.board_idle_w = capture_.idle_w.value_or(spec.static_power.board_idle_w);
    config::check_static_power(spec);
    power_ = std::move(spec);
  }

  static workload::Operation operation_of(const CapturedGemm& row) {
    const auto type = workload::parse_operand_type(row.dtype);
    if (!type) {
      throw base::InputError(workload::unknown_operand_type(row.dtype));
    }
    workload::Operation op;
    op.name = row.name;
    op.shape = {row.m, row.n, row.k};
    op.dtype = *type;
    op.prunable = row.sparse;
    op.d_dtype = row.d_dtype;
    op.conditions.emplace();
    op.conditions->algorithm = row.algorithm;
    // The host has queued the launches before the GPU comes to them, as in a graph.
    op.conditions->launch = kernels::LaunchMode::kGraph;
    return op;
  }

  run::VariantResult figures_of(const CapturedGemm& row) {
    if (row.library == "wgmma") {
      throw base::InputError(
          "not modelled: the wgmma kernel of the capture kit, in which one warpgroup copies its tiles by cp.async");
    }
    const workload::Operation op = operation_of(row);
    const auto key = row.library == "own" ? std::tuple(true, op.dtype, row.sparse)
                                          : std::tuple(false, numerics::DataType::kF16, false);
    auto found = kernels_.find(key);
    if (found == kernels_.end()) {
      run::SimulationOptions options = launch_options_;
      if (row.library == "own") {
        options.kernel = own_kernel(op.dtype, row.sparse);
      }
      found = kernels_.try_emplace(key, gpu_, std::move(options), *timer_).first;
    }
    return found->second.runner.time(op, row.sparse);
  }

  struct Kernels {
    Kernels(const gpu::GpuSpec& gpu, run::SimulationOptions given, gpu::Timer& timer)
        : options(std::move(given)), runner(gpu, options, timer) {}
    run::SimulationOptions options;
    run::KernelRunner runner;
  };

  gpu::GpuSpec gpu_;
  run::SimulationOptions launch_options_;
  std::unique_ptr<gpu::Timer> timer_;
  const Capture& capture_;
  std::optional<energy::PowerSpec> power_;
  std::string no_power_;
  std::map<std::tuple<bool, numerics::DataType, bool>, Kernels> kernels_;
};

/// What `figures` returns; where the row is refused, the reason alone.
template <typename Figures>
PowerFigures or_reason(const Figures& figures) {
  try {
    return figures();
  } catch (const base::InputError& error) {
    PowerFigures refused;
    refused.reason = io::printable(error.what());
    return refused;
  }
}

}  // namespace

kernels::KernelOverrides own_kernel(numerics::DataType type, bool sparse) {
  constexpr std::int64_t kTile = 128;
  constexpr int kStepsPerStage = 2;
  kernels::KernelOverrides own;
  own.cta_tile = base::GemmShape{kTile, kTile, kStepsPerStage * mma::gemm_instruction(type, sparse).shape.k};
  own.stages = sparse ? 3 : 4;
  own.family = mma::MmaFamily::kMma;
  return own;
}

GemmSimulation simulate_gemms(const config::Architecture& architecture, const Capture& capture,
                              run::Fidelity fidelity) {
  CapturedGpu gpu(architecture, capture, fidelity);
  GemmSimulation result;
  for (const CapturedGemm& row : capture.gemm) {
    result.times.push_back(or_reason([&] { return gpu.time(row); }));
  }
  for (const CapturedGemm& row : capture.power) {
    result.powers.push_back(or_reason([&] { return gpu.power(row); }));
  }
  return result;
}

}  // namespace sptc::check::capture
