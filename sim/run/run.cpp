// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/network/kernel_plan.h"
#include "sim/network/siblings.h"
#include "sim/network/tensor_parallel.h"
#include "sim/network/wide_tensors.h"
#include "sim/run/asked_types.h"
#include "sim/run/capacity.h"
#include "sim/run/energy.h"
#include "sim/run/energy_totals.h"
#include "sim/run/inference.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/network.h"
#include "sim/run/operand_memory.h"
#include "sim/run/run_notes.h"
#include "sim/run/unsupported_launches.h"
#include "sim/run/value_files.h"
#include "sim/run/variant_run.h"
#include "sim/workload/dense_role.h"
#include "sim/workload/layer_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::run {

void add_what_ifs(const std::vector<workload::Operation>& operations, const KernelRunner& kernels,
                  std::vector<OperationResult>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    OperationResult& row = results[i];
    for (auto* const variant : {&row.dense, &row.sparse, &row.dense_among_sparse}) {
      if (*variant) {
        (*variant)->explanation.what_if =
            kernels.what_if(operations[i], variant == &row.sparse, **variant);
      }
    }
  }
}

namespace {

bool is_dense_only(const RunOptions& asked, const gpu::GpuSpec& gpu) {
  return asked.variants == Variants::kBoth && gpu.sm.tensor_core.selector_inputs == 1;
}

/// Of both variants the one that a GPU without sparse matrix instructions has.
RunOptions with_possible_variants(RunOptions options, const gpu::GpuSpec& gpu) {
  if (is_dense_only(options, gpu)) {
    options.variants = Variants::kDense;
  }
  return options;
}

OperationResult header(const workload::Operation& op, const RunOptions& options) {
  OperationResult result;
  result.name = op.name;
  result.shape = op.shape;
  result.batch = op.batch;
  result.count = op.count;
  result.dtype = op.dtype;
  result.prunable = op.prunable;
  result.pattern =
      options.pattern ? options.pattern->name() : sparsity::hardware_pattern(op.dtype).name();
  result.rest_us = static_cast<double>(op.rest.ns) * 1e-3;
  result.measured_us = op.recorded.time_us;
  result.measured_sparse = op.recorded.sparse;
  return result;
}

std::string clock_text(const RunOptions& options) {
  const std::string asked = options.clock_policy.name();
  return options.clock_limited
             ? fmt::format("limited by {} W{}, at most {}", options.power->power_limit_w,
                           options.limit_over_group ? " on average over a group" : "", asked)
             : asked;
}

std::string library_text(const RunOptions& options) {
  if (options.kernel.search) {
    return "none: kernels are searched";
  }
  return options.library.empty() ? "as the architecture" : options.library;
}

std::vector<std::pair<std::string, std::string>> describe(const RunOptions& options) {
  const auto tile = [](const base::GemmShape& shape) {
    return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
  };
  std::vector<std::pair<std::string, std::string>> described = {
      {"fidelity", std::string(name(options.fidelity))},
      {"variants", std::string(name(options.variants))},
      {"numerics", options.numerics.empty() ? "as the architecture" : options.numerics},
      {"pattern", options.pattern ? options.pattern->name() : "the hardware's"},
      {"dtype", types_text(options)},
      {"data", options.data},
      {"check", std::string(name(options.check_mode()))},
      {"clock", clock_text(options)},
      {"library", library_text(options)},
      {"tile", options.kernel.cta_tile ? tile(*options.kernel.cta_tile) : "auto"},
      {"stages", options.kernel.stages ? std::to_string(*options.kernel.stages) : "auto"},
      {"split_k", options.kernel.split_k ? std::to_string(*options.kernel.split_k) : "auto"},
      {"decomposition",
       options.kernel.decomposition ? std::string(name(*options.kernel.decomposition)) : "auto"},
      {"extrapolate", options.extrapolates() ? "yes" : "no"},
  };
  return described;
}

bool runs_whole_network(const RunOptions& options) {
  return options.network_engine && !options.network_engine->gemms_only;
}

/// With the type that `options` ask for, and sizes that 64 bits can count.
std::vector<workload::Operation> prepared_operations(const workload::Workload& workload,
                                                     const SimulationOptions& options) {
  std::vector<workload::Operation> operations = workload.operations;
  if (operations.empty()) {
    throw base::InputError(workload.file.string() + ": the workload has no operations");
  }
  for (workload::Operation& op : operations) {
    set_asked_type(options, op);
    std::optional<std::int64_t> macs = 1;
    for (const std::int64_t extent : {op.shape.m, op.shape.n, op.shape.k, op.batch, op.count}) {
      base::ensure(extent > 0, "an operation has an extent that is not positive");
      macs = macs ? base::checked_multiply(*macs, extent) : std::nullopt;
    }
    if (!macs || !base::checked_multiply(*macs, 2)) {
      throw base::InputError(fmt::format(
          "'{}': {} x {} x {} multiply-accumulates, batch {}, count {}, do not fit 64 bits",
          op.name, op.shape.m, op.shape.n, op.shape.k, op.batch, op.count));
    }
  }
  return operations;
}

}  // namespace

AskedWork asked_work(const workload::Workload& workload, const RunOptions& options) {
  std::vector<workload::Operation> prepared = prepared_operations(workload, options);
  std::vector<workload::VectorOperation> between = workload.vectors;
  if (!options.sparse_layers.empty()) {
    workload::prune_only_listed(workload::read_layer_list(options.sparse_layers),
                                options.sparse_layers, prepared, between);
  }
  const std::string kept_dense =
      options.sparse_layers.empty() ? workload::keep_dense_by_role(options.include, prepared) : "";
  auto [operations, vectors] = network::split_over(prepared, between, options.tensor_parallel);
  if (runs_whole_network(options)) {
    network::merge_siblings(*options.network_engine, operations, vectors);
    network::widen_tensors(*options.network_engine, operations, vectors);
    const network::Network asked{operations, vectors, *options.network_engine};
    operations = network::under_engine(asked, network::plan_kernels(asked));
  }
  return {std::move(operations), std::move(vectors), kept_dense};
}

namespace {

/// Launches of a recording that are not simulated, by their part of its time.
void add_not_taken(const workload::Workload& workload, InferenceResult& inference) {
  double taken_us = 0;
  double not_taken_us = 0;
  for (const workload::Operation& op : workload.operations) {
    taken_us += static_cast<double>(op.count) * op.recorded.time_us;
  }
  for (const workload::NotTaken& launch : workload.not_taken) {
    not_taken_us += static_cast<double>(launch.count) * launch.time_us;
  }
  if (!workload.not_taken.empty()) {
    const bool timed = taken_us > 0 && not_taken_us > 0;
    inference.not_modelled.push_back(
        {"launches of the recording that are not taken",
         timed ? std::optional(not_taken_us / (taken_us + not_taken_us)) : std::nullopt});
  }
}

using Progress = std::function<void(std::size_t done)>;

/// Each operation by itself, as dense and as sparse weights go through it.
std::vector<OperationResult> run_each(const std::vector<workload::Operation>& operations,
                                      const gpu::GpuSpec& gpu, const RunOptions& options,
                                      const DataSource& values, SwitchingSource& switching,
                                      const Progress& report_progress, KernelRunner& kernels,
                                      ValueFiles* saved) {
  if (options.fidelity == Fidelity::kDatapath) {
    std::for_each(operations.begin(), operations.end(), require_operand_memory);
  }
  std::vector<OperationResult> results;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const workload::Operation& op = operations[i];
    report_progress(i);
    OperationResult row = header(op, options);
    if (runs_dense(op, options.variants)) {
      row.dense = run_variant(op, false, gpu, options, values, switching, kernels, saved);
    }
    if (runs_sparse(op, options.variants)) {
      row.sparse = run_variant(op, true, gpu, options, values, switching, kernels, saved);
    }
    results.push_back(std::move(row));
  }
  return results;
}

}  // namespace

std::vector<std::string> assumptions(const config::Architecture& architecture) {
  std::vector<std::string> result;
  for (const config::Parameter& parameter : architecture.parameters) {
    if (parameter.evidence == "assumed") {
      result.push_back(fmt::format("{} = {}{}{}", parameter.pointer, parameter.value,
                                   parameter.unit.empty() ? "" : " ", parameter.unit));
    }
  }
  return result;
}

Totals sum_up(const std::vector<OperationResult>& operations) {
  VariantTotals dense;
  VariantTotals sparse;
  bool has_dense = true;
  bool has_sparse = true;
  bool any_sparse = false;
  double flops = 0;
  EnergySum dense_energy;
  EnergySum sparse_energy;
  for (const OperationResult& op : operations) {
    const auto count = static_cast<double>(op.count);
    flops += 2 * count * static_cast<double>(op.batch) * static_cast<double>(op.shape.macs());
    const VariantResult* sparse_or_dense = op.in_sparse_network();
    has_dense = has_dense && op.dense.has_value();
    has_sparse = has_sparse && sparse_or_dense != nullptr;
    any_sparse = any_sparse || op.sparse.has_value();
    if (op.dense) {
      dense.time_us += count * op.dense->timing.time_us;
      dense_energy.add(*op.dense, op.count);
      dense.rest_us += count * op.rest_us;
      dense.rest_uj += count * op.dense->rest_uj;
      dense.mismatches += op.dense->check ? op.dense->check->mismatches : 0;
    }
    if (sparse_or_dense != nullptr) {
      sparse.time_us += count * sparse_or_dense->timing.time_us;
      sparse_energy.add(*sparse_or_dense, op.count);
      sparse.rest_us += count * op.rest_us;
      sparse.rest_uj += count * sparse_or_dense->rest_uj;
      sparse.mismatches += sparse_or_dense->check ? sparse_or_dense->check->mismatches : 0;
    }
  }
  Totals totals;
  if (has_dense && !operations.empty()) {
    dense.tflops = flops / dense.time_us * 1e-6;
    dense.energy = dense_energy.result(flops);
    totals.dense = dense;
  }
  if (has_sparse && any_sparse) {
    sparse.tflops = flops / sparse.time_us * 1e-6;
    sparse.energy = sparse_energy.result(flops);
    totals.sparse = sparse;
  }
  if (totals.dense && totals.sparse) {
    totals.speedup = dense.time_us / sparse.time_us;
    if (totals.dense->energy && totals.sparse->energy) {
      totals.performance_per_watt_ratio =
          totals.dense->energy->total_uj / totals.sparse->energy->total_uj;
      totals.per_watt_bounds = per_watt_bounds(*totals.dense->energy, *totals.sparse->energy);
    }
  }
  return totals;
}

RunResult run_workload(const workload::Workload& given, const config::Architecture& architecture,
                       const RunOptions& asked, const DataSource* data, const Launcher& launch,
                       const ProgressCallback& progress, SwitchingSource* switching) {
  require_consistent(asked);
  const RunOptions options = with_possible_variants(asked, architecture.gpu);
  const auto taken = without_unsupported(architecture.gpu, options, given);
  const workload::Workload& workload = taken ? *taken : given;
  AskedWork work = asked_work(workload, options);
  auto& operations = work.operations;  // no structured binding: clang 14 lets no lambda capture one
  auto& vectors = work.vectors;
  require_values(operations, workload.network.has_value() && data == nullptr, architecture.gpu,
                 options);
  RunResult result;
  result.workload = workload::title(workload);
  result.arch = architecture.gpu.name;
  result.fidelity = name(options.fidelity);
  result.made_by = made_by(options.fidelity, architecture.gpu.sms);
  result.options = describe(options);
  result.seed = options.seed;
  result.does_not_fit = does_not_fit(workload, operations, vectors, options, architecture.gpu);

  KernelRunner kernels(architecture.gpu, options, launch);
  const GeneratedData generated(workload::DataKind::kRandom, options.seed);
  const DataSource& values = data == nullptr ? generated : *data;
  SwitchingSource sampled(values);
  SwitchingSource& toggles = switching != nullptr ? *switching : sampled;
  const Progress report_progress = [&](std::size_t done) {
    if (progress) {
      progress(done, operations.size(), done < operations.size() ? operations[done].name : "");
    }
  };
  const bool network_runs =
      workload.network && data == nullptr && options.fidelity == Fidelity::kDatapath;
  std::optional<ValueFiles> saved;
  if (saves_values(options)) {
    if (network_runs) {
      throw base::InputError(
          "--save-operands and --save-d: the layers of this network feed each other in datapath; "
          "--data random gives each operands of its own");
    }
    saved.emplace(options, architecture.gpu);
  }
  if (network_runs) {
    for (const workload::Operation& op : operations) {
      result.operations.push_back(header(op, options));
    }
    result.accuracy = run_network(*workload.network, operations, architecture.gpu, options, kernels,
                                  report_progress, result.operations);
  } else {
    result.operations = run_each(operations, architecture.gpu, options, values, toggles,
                                 report_progress, kernels, saved ? &*saved : nullptr);
  }
  report_progress(operations.size());
  if (options.network_engine) {
    if (!runs_whole_network(options)) {
      vectors.clear();
    } else if (vectors.empty()) {
      result.notes.push_back("the workload has no operations beside GEMMs: what engine '" +
                             options.network_engine->name +
                             "' needs for them is not part of its time");
    }
    result.inference = run_inference(operations, vectors, *options.network_engine, architecture.gpu,
                                     options, kernels, toggles);
    result.inference->batch = workload.inputs;
    add_not_taken(workload, *result.inference);
  }
  add_energy(operations, toggles, options, kernels, result);
  if (options.what_ifs) {
    add_what_ifs(operations, kernels, result.operations);
  }
  if (options.area) {
    result.area = gpu_area(architecture.gpu, *options.area);
    const energy::CostFactors& factors = *options.power->factors;
    result.area_bounds_mm2 =
        sum_bounds(factors.factors, factors.amounts(result.area->by_constant_mm2(), factors.area));
  }
  result.totals = sum_up(result.operations);
  add_notes(workload, options, architecture.gpu, network_runs, result);
  add_notes_on_storage(operations, result);
  for (std::string& note : kernels.notes()) {
    result.notes.push_back(std::move(note));
  }
  if (!work.kept_dense.empty() && options.variants != Variants::kDense) {
    result.notes.push_back(work.kept_dense);
  }
  if (!options.sparse_layers.empty()) {
    result.notes.push_back("only the weights that " + io::printable(options.sparse_layers) +
                           " lists are sparse");
  }
  if (taken) {
    const auto first =
        taken->not_taken.begin() + static_cast<std::ptrdiff_t>(given.not_taken.size());
    std::int64_t launches = 0;
    for (auto left = first; left != taken->not_taken.end(); ++left) {
      launches += left->count;
    }
    result.left_out = fmt::format("{} launches of the recording are left out; the first: {}",
                                  launches, first->reason);
    result.notes.push_back(result.left_out);
  }
  if (is_dense_only(asked, architecture.gpu)) {
    result.notes.push_back(architecture.gpu.name +
                           " has no sparse matrix instructions: dense only");
  }
  if (saved) {  // when nothing can be refused any more
    saved->commit();
  }
  return result;
}

}  // namespace sptc::run
