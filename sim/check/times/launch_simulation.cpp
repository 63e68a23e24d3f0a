// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/launch_simulation.h"

#include "models/base/error.h"
#include "models/sparsity/pattern.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/run/run.h"
#include "sim/run/run_options.h"
#include "sim/run/systemc_timer.h"
#include "sim/run/worker_pool.h"

#include <set>
#include <tuple>
#include <utility>

namespace sptc::check::times {
namespace {

/// `common` with what `launch` says of itself.
run::SimulationOptions options_of(const MeasuredLaunch& launch, const run::SimulationOptions& common) {
  run::SimulationOptions options = common;
  options.what_ifs = false;
  options.variants = launch.pattern ? run::Variants::kSparse : run::Variants::kDense;
  options.pattern = launch.pattern;
  if (launch.pattern == sparsity::WeightPattern{sparsity::hardware_pattern(launch.dtype)}) {
    options.pattern.reset();
  }
  options.conditions = launch.conditions;
  options.d_dtype = launch.d_dtype;
  options.repetition = launch.repetition;
  run::set_highest_clock(options);
  if (launch.clock_mhz) {
    options.clock_policy = gpu::ClockPolicy::fixed(*launch.clock_mhz);
    options.clock_limited = false;
  }
  if (launch.power_limit_w && options.power) {
    options.power->power_limit_w = *launch.power_limit_w;
  }
  return options;
}

/// What `simulation` makes of `row`; its InputError names the line.
Prediction at_line(LaunchSimulation& simulation, const Measurement& row, const std::string& file) {
  try {
    return simulation(row.launch);
  } catch (const base::InputError& error) {
    io::refuse("{}:{}: {}", file, row.line, error.what());
  }
}

/// Throws for the first row of a type and sparsity without a kernel.
void require_kernels(std::span<const Measurement> rows, const std::string& file,
                     const config::Architecture& architecture, const run::SimulationOptions& options) {
  run::SimulationOptions closed_form = options;
  closed_form.fidelity = run::Fidelity::kAnalytic;
  LaunchSimulation simulation(architecture, closed_form);
  std::set<std::tuple<kernels::OperandFormat, std::string, numerics::DataType>> known;
  for (const Measurement& row : rows) {
    const MeasuredLaunch& launch = row.launch;
    if (known.emplace(launch.format(), launch.sparsity(), launch.type_of_d()).second) {
      at_line(simulation, row, file);
    }
  }
}

}  // namespace

LaunchSimulation::LaunchSimulation(const config::Architecture& architecture, const run::SimulationOptions& options,
                                   bool with_recorded)
    : architecture_(architecture),
      with_recorded_(with_recorded),
      common_(options),
      options_(options),
      timer_(run::make_timer(architecture_.gpu, options_)) {
  timer_->before_each([this](const kernels::GemmProblem& /*problem*/, kernels::KernelOverrides& kernel) {
    kernel = kernel_.value_or(kernel);
  });
}

Prediction LaunchSimulation::operator()(const MeasuredLaunch& launch) {
  options_ = options_of(launch, common_);
  options_.check = run::CheckMode::kNone;
  workload::Workload workload;
  workload::Operation op;
  op.name = "gemm";
  op.shape = launch.shape;
  op.dtype = launch.dtype;
  op.storage.scale_block = launch.scale_block;
  op.prunable = true;
  workload.operations.push_back(op);
  Values& values = values_.try_emplace(launch.operands, launch.operands).first->second;
  kernel_ = with_recorded_ ? launch.kernel : std::nullopt;
  const run::RunResult result =
      run::run_workload(workload, architecture_, options_, &values.data, *timer_, {}, &values.switching);
  const run::OperationResult& row = result.operations.front();
  const run::VariantResult& figures = launch.pattern ? *row.sparse : *row.dense;
  const kernels::MemoryTraffic& traffic = figures.traffic.memory;
  return {figures.timing.time_us,      figures.timing.launch_us,
          figures.timing.clock_mhz,    figures.energy ? std::optional(figures.energy->power_w) : std::nullopt,
          figures.kernel.cta_tile,     figures.kernel.split_k,
          figures.kernel.cluster_ctas, {traffic.l2_and_dram.dram(), traffic.l2_and_dram.l2(), traffic.shared_memory()}};
}

std::vector<Prediction> simulate_launches(std::span<const Measurement> rows, const std::string& file,
                                          const config::Architecture& architecture,
                                          const run::SimulationOptions& options, int jobs,
                                          const std::function<void(std::size_t done, std::size_t total)>& progress,
                                          bool with_recorded) {
  require_kernels(rows, file, architecture, options);
  std::map<decltype(MeasuredLaunch().key()), std::size_t> known;
  std::vector<const Measurement*> distinct;  // the first row of each launch
  std::vector<std::size_t> launch_of_row;
  for (const Measurement& row : rows) {
    const auto [place, added] = known.try_emplace(row.launch.key(), distinct.size());
    if (added) {
      distinct.push_back(&row);
    }
    launch_of_row.push_back(place->second);
  }
  std::vector<Prediction> launches(distinct.size());
  std::optional<LaunchSimulation> simulation;  // of this process or of each worker
  const auto prediction_of = [&](std::size_t launch) {
    if (!simulation) {
      simulation.emplace(architecture, options, with_recorded);
    }
    return at_line(*simulation, *distinct[launch], file);
  };
  std::size_t done = 0;
  const auto keep = [&](std::size_t launch, const Prediction& prediction) {
    launches[launch] = prediction;
    if (progress) {
      progress(++done, launches.size());
    }
  };
  if (progress) {
    progress(0, launches.size());
  }
  if (jobs == 1) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      keep(i, prediction_of(i));
    }
  } else {
    run::for_each_in_workers(
        static_cast<std::size_t>(jobs), launches.size(),
        [&](std::size_t i) { return run::bytes_of<Prediction>({prediction_of(i)}); },
        [&](std::size_t i, run::WorkerPool::Event event) {
          keep(i, run::rows_of<Prediction>(run::answer_of(std::move(event))).at(0));
        });
  }
  std::vector<Prediction> of_rows;
  of_rows.reserve(rows.size());
  for (const std::size_t launch : launch_of_row) {
    of_rows.push_back(launches[launch]);
  }
  return of_rows;
}

}  // namespace sptc::check::times
