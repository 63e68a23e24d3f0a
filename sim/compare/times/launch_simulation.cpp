// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/launch_simulation.h"

#include "models/base/error.h"
#include "models/sparsity/pattern.h"
#include "sim/run/run.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <utility>

namespace sptc::compare::times {
namespace {

bool is_hardware(const sparsity::WeightPattern& pattern, numerics::DataType type) {
  return pattern == sparsity::WeightPattern{sparsity::hardware_pattern(type)};
}

/// `common` with what `launch` says of itself.
run::RunOptions options_of(const MeasuredLaunch& launch, const run::RunOptions& common) {
  run::RunOptions options = common;
  options.what_ifs = false;
  options.variants = launch.pattern ? run::Variants::kSparse : run::Variants::kDense;
  options.pattern.reset();
  if (launch.pattern && !is_hardware(*launch.pattern, launch.dtype)) {
    options.pattern = launch.pattern;
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
    throw base::InputError(fmt::format("{}:{}: {}", file, row.line, error.what()));
  }
}

}  // namespace

LaunchSimulation::LaunchSimulation(const config::Architecture& architecture,
                                   const run::RunOptions& options, bool with_recorded)
    : architecture_(architecture),
      with_recorded_(with_recorded),
      common_(options),
      options_(options),
      launcher_(architecture_.gpu, options_) {}

Prediction LaunchSimulation::operator()(const MeasuredLaunch& launch) {
  options_ = options_of(launch, common_);
  options_.check = run::CheckMode::kNone;
  workload::Workload workload;
  workload::Operation op;
  op.name = "gemm";
  op.shape = launch.shape;
  op.dtype = launch.dtype;
  op.prunable = true;
  workload.operations.push_back(op);
  Values& values = values_.try_emplace(launch.operands, launch.operands).first->second;
  const run::RunResult result = run::run_workload(
      workload, architecture_, options_, &values.data,
      [&](const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
          const auto* operands) {
        return launcher_(problem, with_recorded_ ? launch.kernel.value_or(overrides) : overrides,
                         operands);
      },
      {}, &values.switching);
  const run::OperationResult& row = result.operations.front();
  const run::VariantResult& figures = launch.pattern ? *row.sparse : *row.dense;
  Prediction prediction{
      figures.timing.time_us,  figures.timing.launch_us, figures.timing.clock_mhz,    {}, {},
      figures.kernel.cta_tile, figures.kernel.split_k,   figures.kernel.cluster_ctas, {}};
  const kernels::MemoryTraffic& traffic = figures.traffic.memory;
  prediction.bytes = {traffic.l2_and_dram.dram(), traffic.l2_and_dram.l2(),
                      traffic.shared_memory()};
  if (figures.energy) {
    prediction.power_w = figures.energy->power_w;
    prediction.energy_uj = figures.energy->total_uj;
  }
  return prediction;
}

void require_kernels(std::span<const Measurement> rows, const std::string& file,
                     const config::Architecture& architecture, const run::RunOptions& options) {
  run::RunOptions closed_form = options;
  closed_form.fidelity = run::Fidelity::kAnalytic;
  LaunchSimulation simulation(architecture, closed_form);
  std::set<std::tuple<numerics::DataType, std::string, numerics::DataType>> known;
  for (const Measurement& row : rows) {
    const MeasuredLaunch& launch = row.launch;
    if (known.emplace(launch.dtype, launch.sparsity(), launch.type_of_d()).second) {
      at_line(simulation, row, file);
    }
  }
}

std::vector<Prediction> simulate_launches(
    std::span<const Measurement> rows, const std::string& file,
    const config::Architecture& architecture, const run::RunOptions& options, int jobs,
    const std::function<void(std::size_t, std::size_t)>& progress, bool with_recorded) {
  require_kernels(rows, file, architecture, options);
  return predict_launches(
      rows, jobs,
      [&]() -> LaunchPredictor {
        const auto simulation =
            std::make_shared<LaunchSimulation>(architecture, options, with_recorded);
        return
            [simulation, &file](const Measurement& row) { return at_line(*simulation, row, file); };
      },
      progress);
}

}  // namespace sptc::compare::times
