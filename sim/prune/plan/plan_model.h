// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/config_fwd.h"
#include "sim/prune/prune_model.h"
#include "sim/prune/prune_options.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/layer_list.h"
#include "sim/workload/recording.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::prune::plan {

constexpr std::int64_t kMostTimeoutS = 1'000'000;  ///< of one evaluation

/// A command of the user's that says how good a model is.
struct Evaluation {
  std::string command;  ///< see command_words(); empty: none
  bool lower_is_better = false;
  double timeout_s = 600;  ///< of one model, at most kMostTimeoutS
  int jobs = 1;            ///< models at once
};

struct PlanOptions {
  /// How weights are pruned, and which. Pattern and type are those of `simulation`.
  prune::PruneOptions pruning;
  run::SimulationOptions simulation;
  /// Whose operations have the weights of the model; empty: those of the model, which is ONNX.
  std::filesystem::path workload;
  workload::ImportOptions import;
  Evaluation evaluation;
  std::optional<double> max_loss;     ///< the plan that saves most and loses at most this
  std::optional<double> max_time_us;  ///< the plan that loses least and takes at most this
  std::optional<double> min_gain;     ///< the same by the gain over dense weights, at least 1
  /// Models evaluated: done, and of how many. May be empty.
  std::function<void(std::size_t done, std::size_t total)> progress;
};

/// What a loss is.
enum class LossMeasure {
  kError,   ///< root of the sum of the squared relative errors of the outputs of the layers
  kMetric,  ///< by how much the metric of the evaluation gets worse, summed over the layers
};

/// Time and energy of a pass of the network, or of a part of it.
using PassFigures = run::KernelFigures;

/// Weights that are pruned together or not at all: one kernel has them.
struct PlannedLayer {
  std::string name;                           ///< of the operation
  std::vector<prune::LayerReport> weights;    ///< but for those that no pattern fits
  std::vector<workload::ListedLayer> listed;  ///< the same, with their operations
  std::int64_t m = 0, n = 0, k = 0;           ///< of the product
  double launches = 0;                        ///< in a pass
  /// Figures of its launches in a pass, with dense weights and with pruned ones.
  std::optional<PassFigures> dense, sparse;
  std::string refused;           ///< why it stays dense; empty: it may be pruned
  double error = 0;              ///< ||WX - W'X|| / ||WX|| of the outputs of all weights together
  std::optional<double> metric;  ///< of the model with this layer pruned
  double loss = 0;               ///< by the measure of the plan

  bool was_sparse() const;
  /// Joules that a pass saves; 0 where either figure is not known.
  double saved_us() const;
  std::optional<double> saved_uj() const;
};

/// A set of layers of the front, or the plan.
struct PlanPoint {
  double loss = 0;
  PassFigures pass;  ///< of the dense network, less what each of the layers saves
  std::vector<std::size_t> layers;
};

struct PlanResult {
  std::string model, workload, arch, engine, fidelity, made_by, dtype, pattern, criterion;
  std::string evidence;  ///< report::evidence_sentence() of the board
  LossMeasure measure = LossMeasure::kError;
  PassFigures dense;
  std::optional<double> dense_metric;
  bool lower_is_better = false;
  std::vector<PlannedLayer> layers;
  std::vector<PlanPoint> front;  ///< by rising loss; the first takes no layer that loses
  std::size_t front_sets = 0;    ///< of which `front` shows some, evenly over the losses
  double resolution = 0;         ///< in losses; 0: the front is exact
  std::optional<PlanPoint> plan;
  std::string unreached;                 ///< why no set of layers is the plan that was asked for
  std::optional<PassFigures> simulated;  ///< the plan as one network
  std::optional<double> plan_metric;     ///< of the model pruned by the plan
  std::vector<std::string> notes;        ///< one sentence each

  /// The gain of `point` over dense weights in time.
  double gain(const PlanPoint& point) const { return dense.time_us / point.pass.time_us; }
  /// How much `metric` is worse than that of the dense model, which is known.
  double loss_of(double metric) const { return (lower_is_better ? 1 : -1) * (metric - *dense_metric); }
};

/// Looks for each layer of the model at `model` what pruning it loses and saves on `architecture`, and which sets of
/// layers are worth it. Throws InputError.
PlanResult plan_model(const std::filesystem::path& model, const config::Architecture& architecture,
                      const PlanOptions& options);

/// Whether `word` is "lower" and not "higher", of a metric. Throws InputError, which names `option`.
bool is_lower_better(std::string_view option, std::string_view word);

/// The layers of the plan as a list (sim/workload/layer_list.h). Throws InputError where it takes none, or there is no
/// plan.
std::string plan_list(const PlanResult& result);

/// One sentence: what the plan gains and loses, or what all layers that gain do where none was asked for.
std::string plan_verdict(const PlanResult& result);

/// The verdict, how near to the board anything was measured, the layers, some points of the front, and the plan.
std::string plan_text(const PlanResult& result);

/// One JSON object (schema "sptcsim-plan/0.1", configs/schema/plan.schema.json).
std::string plan_json(const PlanResult& result);

/// A row for each layer.
std::string plan_csv(const PlanResult& result);

/// One page, which needs no network. `command`: as it was typed.
std::string plan_page(const PlanResult& result, const std::string& command);

}  // namespace sptc::prune::plan
