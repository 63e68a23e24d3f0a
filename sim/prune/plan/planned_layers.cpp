// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/planned_layers.h"

#include "models/mma/catalogue.h"
#include "sim/config/architecture.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/prune/legality.h"
#include "sim/workload/dense_role.h"
#include "sim/workload/layer_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace sptc::prune::plan {
namespace {

/// Sets that grow together.
class Unions {
 public:
  explicit Unions(std::size_t count) : first_(count) { std::iota(first_.begin(), first_.end(), std::size_t{0}); }
  std::size_t of(std::size_t i) const {
    while (first_[i] != i) {
      i = first_[i];
    }
    return i;
  }
  void join(std::size_t one, std::size_t other) {
    const std::size_t a = of(one), b = of(other);
    first_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> first_;
};

/// Which of `kernels` has each of `operations`: a kernel is called as the first that it joins, and those that it joins
/// follow each other.
std::vector<std::size_t> kernels_of(const std::vector<workload::Operation>& operations,
                                    const std::vector<workload::Operation>& kernels) {
  std::vector<std::size_t> result;
  std::size_t next = 0;
  std::int64_t rows = 0;  // of the kernel before `next` that are still to come
  for (const workload::Operation& op : operations) {
    const bool begins = next < kernels.size() && kernels[next].name == op.name && rows <= 0;
    if (begins) {
      rows = kernels[next++].shape.m;
    }
    rows -= op.shape.m;
    result.push_back(next > 0 ? next - 1 : 0);
  }
  return result;
}

/// The row of a launch of each of `kernels`; null where the engine gives it none of its own.
std::vector<const run::InferenceKernel*> rows_of(const std::vector<workload::Operation>& kernels,
                                                 const run::InferenceResult& inference) {
  std::vector<const run::InferenceKernel*> rows(kernels.size());
  std::size_t at = 0;
  for (const run::InferenceKernel& row : inference.kernels) {
    if (row.group != workload::WorkGroup::kGemm) {
      continue;
    }
    const auto is_of_row = [&](const workload::Operation& op) {
      return op.name == row.name || std::ranges::count(row.fused, op.name) > 0;
    };
    const auto found = std::find_if(kernels.begin() + static_cast<std::ptrdiff_t>(at), kernels.end(), is_of_row);
    if (found != kernels.end()) {
      at = static_cast<std::size_t>(found - kernels.begin());
      rows[at++] = &row;
    }
  }
  return rows;
}

/// Engines whose 2:4 weights go through PyTorch or cuSPARSELt itself, by the beginning of their names. TensorRT says no
/// more than what the importer of a workload holds weights to.
constexpr std::string_view kOnCusparselt[] = {"gemms", "pytorch", "inductor", "compiled", "fastertransformer"};
/// Libraries in this order: the first that has a rule for the type.
constexpr std::string_view kLibraries[] = {"PyTorch, cuSPARSELt", "PyTorch, CUTLASS"};

/// Why no 2:4 kernel takes the weight of `op` as engine `engine` launches it on `gpu`; empty where one does. Engines
/// that call cuSPARSELt have its rules (sim/prune/legality.h).
std::string kernel_refusal(const workload::Operation& op, std::string_view engine, const gpu::GpuSpec& gpu) {
  if (gpu.sm.tensor_core.selector_inputs == 1) {
    return gpu.name + " has no sparse instructions";
  }
  if (const std::string_view role = workload::dense_role(op);
      !op.prunable && !role.empty() && workload::asp_eligible(op)) {
    return fmt::format("{}: stays dense by its name (--include prunes it)", role);
  }
  if (!op.prunable && workload::asp_eligible(op)) {
    return fmt::format("engine {} has no 2:4 kernels of its type ('run' says why)", engine);
  }
  if (!op.prunable) {
    return fmt::format("rows and k, {} x {}, are no multiples of 8 and 16", op.conv ? op.conv->k : op.shape.m,
                       op.conv ? op.conv->c / op.conv->groups : op.shape.k);
  }
  const bool bound =
      std::ranges::any_of(kOnCusparselt, [&](std::string_view name) { return engine.starts_with(name); });
  if (!bound) {
    return {};
  }
  const std::vector<prune::Legality> rules =
      prune::legality_of({op.name, op.shape.m, op.shape.n, op.shape.k, op.dtype},
                         mma::target_of_gpu(gpu.name, gpu.instruction_set).compute_capability());
  for (const std::string_view library : kLibraries) {
    for (const prune::Legality& legality : rules) {
      if (legality.rule->library == library) {
        return legality.accepts() ? "" : fmt::format("{}: {}", library, legality.reason);
      }
    }
  }
  return {};
}

/// ||WX - W'X|| / ||WX|| of the outputs of all `weights` together, which have one X. Where one of them has no
/// calibration inputs, all are judged by white noise.
double joined_error(const std::vector<prune::LayerReport>& weights) {
  const bool calibrated =
      std::ranges::all_of(weights, [](const auto& weight) { return weight.output_error.has_value(); });
  double lost = 0, whole = 0;
  for (const prune::LayerReport& weight : weights) {
    const double size = calibrated ? weight.output_norm * weight.output_norm : weight.kept.squares;
    const double error =
        calibrated ? *weight.output_error * *weight.output_error : std::max(0.0, 1 - weight.kept.energy);
    lost += error * size;
    whole += size;
  }
  return whole > 0 ? std::sqrt(lost / whole) : 0;
}

class Layers {
 public:
  explicit Layers(const LayerSources& sources)
      : sources_(sources),
        weights_(weights_of_operations(sources.model, sources.operations)),
        kernels_(kernels_of(sources.operations, sources.kernels)),
        rows_(rows_of(sources.kernels, sources.inference)) {
    for (const prune::LayerReport& report : sources.pruning.layers) {
      reports_[report.name] = &report;
    }
  }

  std::vector<PlannedLayer> all() {
    std::map<std::size_t, PlannedLayer> layers;
    const Unions unions = joined();
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      add(weights_[i], layers[unions.of(i)]);
    }
    std::vector<PlannedLayer> result;
    for (auto& [first, layer] : layers) {
      layer.error = joined_error(layer.weights);
      result.push_back(std::move(layer));
    }
    for (const prune::LayerReport& report : sources_.pruning.layers) {
      if (!used_.contains(report.name)) {
        PlannedLayer& layer = result.emplace_back();
        layer.name = report.name;
        layer.m = report.rows;
        layer.k = report.k * report.taps;
        add_weight(report.name, "", layer);
        refuse(layer, "no operation of the workload has it");
        layer.error = joined_error(layer.weights);
      }
    }
    return result;
  }

 private:
  /// Weights of one kernel in the same launch, and those that have a tensor in common.
  Unions joined() const {
    Unions unions(weights_.size());
    std::map<std::string, std::size_t> by_tensor;
    std::map<std::pair<std::size_t, std::string>, std::size_t> by_kernel;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const WeightsOfOperation& weights = weights_[i];
      for (const std::string& tensor : weights.tensors) {
        unions.join(i, by_tensor.emplace(tensor, i).first->second);
      }
      const std::string& name = sources_.operations[weights.operation].name;
      const std::pair launch(kernels_[weights.operation], weights.launch.substr(name.size()));
      unions.join(i, by_kernel.emplace(launch, i).first->second);
    }
    return unions;
  }

  static void refuse(PlannedLayer& layer, const std::string& reason) {
    layer.refused = layer.refused.empty() ? reason : layer.refused;
  }

  void add(const WeightsOfOperation& weights, PlannedLayer& layer) {
    const workload::Operation& op = sources_.operations[weights.operation];
    const std::size_t at = kernels_[weights.operation];
    const workload::Operation& kernel = sources_.kernels[at];
    if (layer.name.empty()) {
      layer.name = weights.launch;
      layer.m = kernel.shape.m;
      layer.n = kernel.shape.n;
      layer.k = kernel.shape.k;
    }
    std::int64_t rows = 0;
    for (const std::string& tensor : weights.tensors) {
      rows += add_weight(tensor, weights.launch, layer);
    }
    require_extents(op, weights, rows, layer);
    if (const std::string why = kernel_refusal(kernel, sources_.inference.engine, sources_.architecture.gpu);
        !why.empty()) {
      refuse(layer, why);
    }
    add_figures(at, weights.launches, layer);
  }

  /// Once for each kernel.
  void add_figures(std::size_t at, double launches, PlannedLayer& layer) {
    const bool is_new = counted_[&layer].insert({at, launches}).second;
    const run::InferenceKernel* const row = rows_[at];
    if (!is_new || row == nullptr) {
      return;
    }
    layer.launches += launches;
    const auto add = [&](const std::optional<run::KernelFigures>& figures, std::optional<PassFigures>& to) {
      if (!figures) {
        return;
      }
      const bool first = !to;
      to = to.value_or(PassFigures{});
      to->time_us += launches * figures->time_us;
      if (figures->energy_uj && (first || to->energy_uj)) {
        to->energy_uj = to->energy_uj.value_or(0) + launches * *figures->energy_uj;
      }
    };
    add(row->dense, layer.dense);
    add(row->sparse, layer.sparse);
    if (!row->sparse) {
      refuse(layer, row->reason);
    }
  }

  /// Its rows, 0 where it is not pruned.
  std::int64_t add_weight(const std::string& tensor, const std::string& launch, PlannedLayer& layer) {
    used_.insert(tensor);
    const auto known =
        std::ranges::find_if(layer.listed, [&](const workload::ListedLayer& other) { return other.tensor == tensor; });
    const bool is_new = known == layer.listed.end();
    if (is_new) {
      layer.listed.push_back({tensor, {launch}});
    } else {
      known->operations.push_back(launch);
    }
    const auto found = reports_.find(tensor);
    if (found == reports_.end()) {
      refuse(layer, fmt::format("'{}' is left out", tensor));
      return 0;
    }
    const prune::LayerReport& report = *found->second;
    if (!report.skipped.empty()) {
      refuse(layer, report.skipped);
    }
    if (is_new && report.skipped.empty()) {
      layer.weights.push_back(report);
    }
    return report.rows;
  }

  /// A tensor that is called as an operation may be another one.
  void require_extents(const workload::Operation& op, const WeightsOfOperation& weights, std::int64_t rows,
                       PlannedLayer& layer) const {
    for (const std::string& tensor : weights.tensors) {
      const auto found = reports_.find(tensor);
      if (found == reports_.end()) {
        return;
      }
      const prune::LayerReport& report = *found->second;
      const std::int64_t wanted = op.shape.m * op.batch;
      const bool has_rows = rows == wanted || report.rows == wanted || (weights.in_part && rows > wanted);
      if (report.k * report.taps != op.shape.k || !has_rows) {
        refuse(layer, fmt::format("'{}' is {} x {}, and '{}' needs {} x {}", tensor, report.rows,
                                  report.k * report.taps, op.name, wanted, op.shape.k));
      }
    }
  }

  const LayerSources& sources_;
  const std::vector<WeightsOfOperation> weights_;
  const std::vector<std::size_t> kernels_;
  const std::vector<const run::InferenceKernel*> rows_;
  std::map<std::string, const prune::LayerReport*> reports_;
  std::set<std::string> used_;
  std::map<const PlannedLayer*, std::set<std::pair<std::size_t, double>>> counted_;
};

}  // namespace

std::vector<PlannedLayer> planned_layers(const LayerSources& sources) {
  return Layers(sources).all();
}

}  // namespace sptc::prune::plan
