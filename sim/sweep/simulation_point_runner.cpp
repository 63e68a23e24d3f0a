// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/simulation_point_runner.h"

#include "sim/config/derivation.h"
#include "sim/report/figures.h"
#include "sim/run/asked_work.h"
#include "sim/run/option_table.h"
#include "sim/run/simulate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace sptc::sweep {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxCached = 256;
constexpr std::string_view kSource = "set by a sweep";

std::string word(const SweepPoint& point, const std::string& option, const std::string& absent) {
  const auto found = point.options.find(option);
  return found == point.options.end() ? absent : found->second;
}

/// The largest error of the checked operations, over all elements and over its bound.
void add_errors(const std::vector<run::OperationResult>& operations, bool sparse, PointFigures& figures) {
  double worst_error = 0;
  double worst_ratio = 0;
  bool checked = false;
  for (const run::OperationResult& op : operations) {
    const auto& variant = sparse ? op.sparse : op.dense;
    if (variant && variant->check && variant->check->elements > 0) {
      checked = true;
      worst_error = std::max(worst_error, variant->check->worst_error);
      worst_ratio = std::max(worst_ratio, variant->check->worst_ratio);
    }
  }
  if (checked) {
    const std::string_view prefix = sparse ? "sparse" : "dense";
    figures.add({prefix, "worst_error"}, worst_error);
    figures.add({prefix, "worst_ratio_of_bound"}, worst_ratio);
  }
}

void add_value(std::initializer_list<std::string_view> name, const report::FigureValue& value, PointFigures& figures) {
  std::visit(
      [&](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, bool>) {
          figures.add(name, std::int64_t{held});
        } else {
          figures.add(name, held);
        }
      },
      value);
}

/// Adds the numbers of `list`, each with `prefix` before its name.
template <typename Result>
void add_figures(const report::Figures<Result>& list, const Result& result, std::string_view prefix,
                 PointFigures& figures) {
  report::visit_figures(list, result, [&](const auto& figure, const report::FigureValue& value) {
    if (!std::holds_alternative<bool>(value)) {
      add_value({prefix, figure.group, figure.key}, value, figures);
    }
  });
}

PointFigures figures_of(const run::RunResult& result) {
  PointFigures figures;
  for (const bool sparse : {false, true}) {
    if (const auto& total = sparse ? result.totals.sparse : result.totals.dense) {
      const std::string_view variant = sparse ? "sparse" : "dense";
      double cycles = 0;
      for (const run::OperationResult& op : result.operations) {
        const run::VariantResult* const counted = op.in_network(sparse);
        cycles += counted != nullptr ? static_cast<double>(op.count * counted->timing.cycles) : 0;
      }
      add_figures(report::total_figures(), *total, variant, figures);
      figures.add({variant, "cycles"}, cycles);
    }
    add_errors(result.operations, sparse, figures);
  }
  add_figures(report::total_comparison_figures(), result.totals, "", figures);
  if (result.area) {
    figures.add({"area_mm2"}, result.area->total_mm2());
    figures.add({"area_mm2_low"}, result.area_bounds_mm2.low);
    figures.add({"area_mm2_high"}, result.area_bounds_mm2.high);
    figures.add({"tensor_core_area_mm2"}, result.area->tensor_cores_mm2);
    const auto by_constant = result.area->by_constant_mm2();
    for (std::size_t i = 0; i < by_constant.size(); ++i) {
      figures.add({"area_mm2", energy::kAreaConstants[i].name}, by_constant[i]);
    }
  }
  if (result.accuracy) {
    for (const auto& [variant, of] :
         {std::pair("dense", &result.accuracy->dense), {"sparse", &result.accuracy->sparse}}) {
      if (*of) {
        figures.add({variant, "accuracy"}, (*of)->simulated);
        figures.add({variant, "disagreements"}, (*of)->disagreements);
      }
    }
  }
  return figures;
}

PointFigures row_of(const run::OperationResult& op, std::size_t index, std::string_view variant,
                    const run::VariantResult& result) {
  PointFigures row;
  row.add({"operation"}, static_cast<std::int64_t>(index));
  row.add({"variant"}, variant);
  row.add({"name"}, std::string_view(op.name));
  row.add({"m"}, op.shape.m);
  row.add({"n"}, op.shape.n);
  row.add({"k"}, op.shape.k);
  row.add({"batch"}, op.batch);
  row.add({"count"}, op.count);
  row.add({"dtype"}, numerics::name(op.dtype));
  row.add({"prunable"}, std::int64_t{op.prunable});
  report::visit_figures(report::variant_figures(false), result, [&](const auto& figure, const auto& value) {
    std::string group = figure.group;
    std::ranges::replace(group, '.', '_');
    add_value({group, figure.key}, value, row);
  });
  return row;
}

std::vector<PointFigures> operations_of(const run::RunResult& result) {
  std::vector<PointFigures> rows;
  for (std::size_t i = 0; i < result.operations.size(); ++i) {
    const run::OperationResult& op = result.operations[i];
    const auto add = [&](std::string_view variant, const std::optional<run::VariantResult>& figures) {
      if (figures) {
        rows.push_back(row_of(op, i, variant, *figures));
      }
    };
    add("dense", op.dense);
    add("sparse", op.sparse);
    add("dense_among_sparse", op.dense_among_sparse);
  }
  return rows;
}

}  // namespace

bool SimulationPointRunner::needs_process(const SweepPoint& point) const {
  return word(point, "fidelity", "analytic") != "analytic";
}

double SimulationPointRunner::estimated_seconds(const SweepPlan& plan, const SweepPoint& point) const {
  // Seconds on a processor of 2020, measured on GEMMs of 64 to 4096: orders of magnitude only.
  constexpr double kPoint = 0.002;
  constexpr double kAnalytic = 3e-5;
  constexpr double kLaunch = 0.004;       // timing: a launch, until its period is found,
  constexpr double kSaturatedMacs = 1e9;  // which a GEMM of this size has reached
  constexpr double kSaturated = 0.02;
  constexpr double kWholeMac = 1e-10;  // every cycle simulated
  constexpr double kValueMac = 3e-9;   // every operand carried
  const std::string fidelity = word(point, "fidelity", "analytic");
  const std::string variants = word(point, "variants", "both");
  const bool whole = word(point, "no-extrapolate", "false") == "true";
  double seconds = fidelity == "analytic" ? 0 : kPoint;
  for (const workload::Operation& op : plan.spec().workloads[point.workload].workload.operations) {
    const double launches = variants == "both" && op.prunable ? 2 : 1;
    const double macs = static_cast<double>(op.shape.macs()) * static_cast<double>(op.batch);
    if (fidelity == "analytic") {
      seconds += launches * kAnalytic;
    } else if (fidelity == "datapath") {
      seconds += launches * (kLaunch + macs * kValueMac);
    } else if (whole) {
      seconds += launches * (kLaunch + macs * kWholeMac);
    } else {
      seconds += launches * (kLaunch + kSaturated * std::min(1.0, macs / kSaturatedMacs));
    }
  }
  return seconds;
}

const run::SimulationOptions& SimulationPointRunner::options_of(const SweepPlan& plan, const SweepPoint& point) {
  if (const auto found = options_.find(point.options); found != options_.end()) {
    return found->second;
  }
  if (options_.size() >= kMaxCached) {
    options_.clear();
  }
  run::SimulationOptions options;
  for (const auto& [option, value] : point.options) {
    run::set_option(options, option, value);
  }
  options.what_ifs = plan.spec().store_operations;
  return options_.emplace(point.options, std::move(options)).first->second;
}

const config::Architecture& SimulationPointRunner::architecture_of(const SweepPlan& plan, const SweepPoint& point) {
  std::string key = std::to_string(point.architecture);
  std::vector<std::size_t> words;
  std::vector<std::pair<std::string, double>> numbers;
  for (std::size_t i = 0; i < point.parameters.size(); ++i) {
    const auto& [axis, value] = point.parameters[i];
    const SweepAxis& varied = plan.spec().axes[axis];
    if (varied.values[value].is_number()) {
      numbers.emplace_back(varied.target, varied.values[value].get<double>());
    } else {
      words.push_back(i);
      key += fmt::format(" {}={}", axis, value);
    }
  }
  const config::DocumentedArchitecture& given = plan.spec().architectures[point.architecture];
  const auto architecture_with = [&](const std::vector<std::size_t>& chosen) {
    json document = given.document;
    for (const std::size_t i : chosen) {
      const SweepAxis& varied = plan.spec().axes[point.parameters[i].first];
      const json& value = varied.values[point.parameters[i].second];
      if (config::parameter_value(document, varied.target) != value) {
        config::set_parameter(document, varied.target, value, std::string(kSource));
      }
    }
    config::Architecture architecture = config::to_architecture(document, given.value.gpu.name);
    architecture.bases = given.value.bases;
    return architecture;
  };
  auto found = architectures_.find(key);
  if (found == architectures_.end()) {
    if (architectures_.size() >= kMaxCached) {
      architectures_.clear();
    }
    found = architectures_.emplace(key, config::VariedArchitecture(architecture_with(words))).first;
  }
  if (const config::Architecture* const varied = found->second.with(numbers, kSource)) {
    return *varied;
  }
  // Says what is wrong with the numbers.
  std::vector<std::size_t> all(point.parameters.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  read_ = architecture_with(all);
  return *read_;
}

PointOutcome SimulationPointRunner::run(const SweepPlan& plan, const SweepPoint& point) {
  run::SimulationHooks hooks;
  hooks.caches = &caches_;
  const run::RunResult result = run::simulate(plan.spec().workloads[point.workload].workload,
                                              architecture_of(plan, point), options_of(plan, point), hooks);
  PointOutcome outcome;
  run::require_all_launches(result);
  outcome.totals = figures_of(result);
  if (plan.spec().store_operations) {
    outcome.operations = operations_of(result);
    outcome.notes = fmt::format("{}", fmt::join(result.notes, "\n"));
  }
  if (!result.passed()) {
    outcome.failed = true;
    outcome.reason = "values are wrong: a check found mismatches";
  }
  return outcome;
}

}  // namespace sptc::sweep
