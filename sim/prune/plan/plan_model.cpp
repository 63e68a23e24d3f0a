// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/plan_model.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/check/times/evidence.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/prune/layer_choice.h"
#include "sim/prune/plan/command.h"
#include "sim/prune/plan/evaluation.h"
#include "sim/prune/plan/pareto_front.h"
#include "sim/prune/plan/planned_layers.h"
#include "sim/prune/prune_model.h"
#include "sim/report/verdict.h"
#include "sim/run/energy.h"
#include "sim/run/run.h"
#include "sim/run/simulate.h"
#include "sim/workload/importer/recording_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>
#include <utility>

namespace sptc::prune::plan {
namespace {

constexpr double kPicosecondsPerUs = 1e6;  // times of the front are counted in picoseconds
constexpr std::size_t kMostShown = 101;    // points of a front

std::int64_t picoseconds(double us) {
  return std::llround(us * kPicosecondsPerUs);
}

/// The type that all weights are multiplied as.
numerics::DataType type_of(const workload::Workload& workload, const run::SimulationOptions& options) {
  std::optional<numerics::DataType> type = options.dtype;
  for (const workload::Operation& op : workload.operations) {
    if (options.dtype || !op.weight) {
      continue;
    }
    if (type && *type != op.dtype) {
      io::refuse("the weights of the workload have the types {} and {}: give all one type with --dtype",
                 numerics::name(*type), numerics::name(op.dtype));
    }
    type = op.dtype;
  }
  return type.value_or(numerics::DataType::kF16);
}

void require_that(bool holds, const std::string& otherwise) {
  if (!holds) {
    throw base::InputError(otherwise);
  }
}

/// NaN is no number of these.
void require_numbers(const PlanOptions& options) {
  constexpr double kMostUs = 1e12;
  const double max_loss = options.max_loss.value_or(0);
  const double max_time = options.max_time_us.value_or(1);
  const double min_gain = options.min_gain.value_or(1);
  const double timeout = options.evaluation.timeout_s;
  require_that(std::isfinite(max_loss), fmt::format("--max-loss must be a finite number, not {}", max_loss));
  // A metric may get better; an error is never below 0.
  require_that(max_loss >= 0 || !options.evaluation.command.empty(),
               fmt::format("--max-loss must be at least 0 without --evaluate, not {}", max_loss));
  require_that(max_time > 0 && max_time <= kMostUs,
               fmt::format("--max-time must be above 0 and at most {} us, not {}", kMostUs, max_time));
  require_that(min_gain >= 1 && std::isfinite(min_gain),
               fmt::format("--min-gain must be a finite number of at least 1, not {}", min_gain));
  require_that(timeout > 0 && timeout <= static_cast<double>(kMostTimeoutS),
               fmt::format("--timeout must be above 0 and at most {} seconds, not {}", kMostTimeoutS, timeout));
}

void require_one_wish(const PlanOptions& options) {
  const int wishes = (options.max_loss ? 1 : 0) + (options.max_time_us ? 1 : 0) + (options.min_gain ? 1 : 0);
  require_that(wishes <= 1, "--max-loss, --max-time and --min-gain: give one of them");
  require_that(options.simulation.sparse_layers.empty() && !options.simulation.sparsity_auto,
               "--sparsity has no effect: the plan decides which layers are pruned");
  require_that(options.simulation.variants == run::Variants::kBoth,
               "--variants has no effect: a plan compares dense and sparse");
  require_that(options.pruning.permute.empty(), "--permute has no effect: a plan leaves channels in their order");
}

/// Refuses a workload in the place of the weights.
void require_weights(const std::filesystem::path& model) {
  const std::string name = model.filename().string();
  const bool is_workload = (name.ends_with(".json") && !name.ends_with(".index.json")) || name.ends_with(".csv");
  std::error_code error;
  require_that(!is_workload || std::filesystem::is_directory(model, error),
               io::printable(model.string()) +
                   ": holds no weights: name the file of them, and a workload beside it with --workload");
}

std::vector<workload::ListedLayer> listed_layers(const PlanResult& result) {
  std::vector<workload::ListedLayer> listed;
  for (const std::size_t i : result.plan->layers) {
    const auto& more = result.layers[i].listed;
    listed.insert(listed.end(), more.begin(), more.end());
  }
  return listed;
}

class Planning {
 public:
  Planning(const std::filesystem::path& model, const config::Architecture& architecture, const PlanOptions& options)
      : model_(model), architecture_(architecture), options_(options) {
    require_one_wish(options);
    require_numbers(options);
    if (!options.evaluation.command.empty()) {
      command_words(options.evaluation.command);
    }
    run::require_link_used(options.simulation);
    require_weights(model);
    file_ = prune::ModelFile::open(model);
    if (options.workload.empty() && file_->onnx_graph() == nullptr) {
      io::refuse("{}: it says no shapes of products: --workload names a file that does", file_->shown());
    }
    workload_ = workload::importer::read_recording(options.workload.empty() ? model : options.workload, options.import)
                    .workload;
    if (!options.workload.empty() && weights_of_operations(*file_, workload_.operations).empty()) {
      io::refuse("{}: none of its weights is in the workload {}", file_->shown(),
                 io::printable(options.workload.string()));
    }
    pruning_ = options.pruning;
    pruning_.dtype = type_of(workload_, options.simulation);
    pruning_.pattern = options.simulation.pattern;
    pruning_.layout = prune::WeightLayout::kDense;
    pruning_.include = options.simulation.include;
    simulation_ = options.simulation;
    simulation_.sparsity_auto = true;
    simulation_.what_ifs = false;
    simulation_.check = simulation_.check.value_or(run::CheckMode::kNone);
  }

  PlanResult result() {
    collect();
    if (!options_.evaluation.command.empty()) {
      evaluate();
    }
    set_losses();
    find_front();
    choose();
    return std::move(result_);
  }

 private:
  /// What the layers lose and save.
  void collect() {
    const prune::PruneReport pruned = prune::prune_model(model_, {}, {}, pruning_);
    run::SimulationHooks hooks;
    hooks.caches = &caches_;
    const run::RunResult ran = run::simulate(workload_, architecture_, simulation_, hooks);
    run::SimulationOptions asked = simulation_;
    asked.network_engine = run::asked_engine(simulation_, &architecture_.gpu);
    const run::AskedWork work = run::asked_work(workload_, asked);
    base::ensure(ran.inference && ran.inference->dense, "a plan without a dense network");
    result_.model = file_->shown();
    result_.workload = ran.workload;
    result_.arch = ran.arch;
    result_.engine = ran.inference->engine;
    result_.fidelity = ran.fidelity;
    result_.made_by = ran.made_by;
    result_.evidence = report::evidence_sentence(check::times::evidence_distance(ran, architecture_));
    result_.dtype = numerics::name(*pruning_.dtype);
    result_.pattern = pruned.pattern.name();
    result_.criterion = sparsity::name(pruned.criterion);
    result_.dense = {ran.inference->dense->latency_us, ran.inference->dense->energy_uj};
    result_.layers =
        planned_layers({*file_, pruned, workload_.operations, work.operations, *ran.inference, architecture_});
    add_notes(*ran.inference);
  }

  void add_notes(const run::InferenceResult& inference) {
    std::size_t weights = 0, calibrated = 0;
    for (const PlannedLayer& layer : result_.layers) {
      for (const prune::LayerReport& weight : layer.weights) {
        ++weights;
        calibrated += weight.output_error ? 1 : 0;
      }
    }
    result_.notes.push_back(fmt::format("{} of {} weights have the error of calibration inputs", calibrated, weights));
    if (calibrated < weights) {
      result_.notes.emplace_back(
          "a weight without calibration inputs has the root of the pruned share of its energy: the error of white "
          "noise");
    }
    if (inference.dense->waiting_us > 0) {
      result_.notes.push_back(fmt::format(
          "the GPU waits {:.0f} us of {:.0f} us for the host, so that a plan saves less time than its kernels do",
          inference.dense->waiting_us, inference.dense->latency_us));
    }
  }

  /// Layers of which something is to be known: those that a plan may take.
  static bool is_choice(const PlannedLayer& layer) {
    return layer.refused.empty() && picoseconds(layer.saved_us()) > 0;
  }

  void evaluate() {
    std::vector<EvaluatedModel> models{{"", {}}};
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < result_.layers.size(); ++i) {
      const PlannedLayer& layer = result_.layers[i];
      if (is_choice(layer) && !layer.was_sparse()) {
        models.push_back({layer.name, layer.listed});
        places.push_back(i);
      }
    }
    const std::vector<double> metrics = metrics_of_models(models);
    result_.dense_metric = metrics.front();
    for (std::size_t i = 0; i < places.size(); ++i) {
      result_.layers[places[i]].metric = metrics[i + 1];
    }
  }

  std::vector<double> metrics_of_models(const std::vector<EvaluatedModel>& models) const {
    return metrics_of(model_, models, pruning_, options_.evaluation, options_.progress);
  }

  void set_losses() {
    result_.lower_is_better = options_.evaluation.lower_is_better;
    result_.measure = result_.dense_metric ? LossMeasure::kMetric : LossMeasure::kError;
    for (PlannedLayer& layer : result_.layers) {
      layer.loss = result_.measure == LossMeasure::kError ? layer.error
                   : layer.metric                         ? result_.loss_of(*layer.metric)
                                                          : 0;
    }
  }

  /// Losses as they add up, and back.
  double added(double loss) const { return result_.measure == LossMeasure::kError ? loss * std::fabs(loss) : loss; }
  double shown(double added) const {
    return result_.measure == LossMeasure::kError ? std::sqrt(std::max(0.0, added)) : added;
  }

  PlanPoint point_of(const ParetoPoint& found) const {
    PlanPoint point{shown(found.loss), result_.dense, {}};
    for (const std::size_t choice : found.taken) {
      const std::size_t i = choices_[choice];
      const PlannedLayer& layer = result_.layers[i];
      point.layers.push_back(i);
      point.pass.time_us -= layer.saved_us();
      const std::optional<double> saved = layer.saved_uj();
      point.pass.energy_uj =
          point.pass.energy_uj && saved ? std::optional(*point.pass.energy_uj - *saved) : std::nullopt;
    }
    return point;
  }

  void find_front() {
    std::vector<Choice> choices;
    for (std::size_t i = 0; i < result_.layers.size(); ++i) {
      const PlannedLayer& layer = result_.layers[i];
      if (is_choice(layer)) {
        choices_.push_back(i);
        choices.push_back({picoseconds(layer.saved_us()), added(layer.loss)});
      }
    }
    front_ = pareto_front(choices);
    result_.front_sets = front_.points.size();
    result_.resolution = shown(front_.resolution);
    const double first = shown(front_.points.front().loss);
    const double step = (shown(front_.points.back().loss) - first) / static_cast<double>(kMostShown - 1);
    double next = first;
    for (std::size_t i = 0; i < front_.points.size(); ++i) {
      const double loss = shown(front_.points[i].loss);
      const bool last = i + 1 == front_.points.size();
      if (front_.points.size() <= kMostShown || loss >= next || last) {
        result_.front.push_back(point_of(front_.points[i]));
        next = std::max(next + step, loss);
      }
    }
  }

  void choose() {
    const ParetoPoint* found = nullptr;
    if (options_.max_loss) {
      found = within_loss(front_, added(*options_.max_loss));
      if (found == nullptr) {
        result_.unreached = fmt::format("no plan loses at most {}: the least is {:.6g}", *options_.max_loss,
                                        result_.front.front().loss);
      }
    } else if (options_.max_time_us || options_.min_gain) {
      const double most_us = options_.max_time_us.value_or(result_.dense.time_us / options_.min_gain.value_or(1));
      found = with_gain(front_, picoseconds(result_.dense.time_us - most_us));
      if (found == nullptr) {
        result_.unreached = fmt::format(
            "no plan takes at most {:.6g} us: the fastest takes {:.6g} us of {:.6g} us, a gain of {:.6g}", most_us,
            result_.front.back().pass.time_us, result_.dense.time_us, result_.gain(result_.front.back()));
      }
    }
    if (found == nullptr) {
      if (!result_.unreached.empty()) {
        result_.notes.push_back(result_.unreached);
      }
      return;
    }
    result_.plan = point_of(*found);
    const std::vector<workload::ListedLayer> listed = listed_layers(result_);
    simulate_plan(listed);
    if (result_.dense_metric) {
      result_.plan_metric = listed.empty() ? *result_.dense_metric : metrics_of_models({{"the plan", listed}}).front();
      const double measured = result_.loss_of(*result_.plan_metric);
      if (options_.max_loss && measured > *options_.max_loss) {
        result_.notes.push_back(
            fmt::format("the model pruned by the plan loses {:.5g}, more than the {} allowed: its layers lose more "
                        "together than alone",
                        measured, *options_.max_loss));
      }
    }
  }

  void simulate_plan(const std::vector<workload::ListedLayer>& listed) {
    workload::Workload planned = workload_;
    workload::prune_only_listed(listed, "the plan", planned.operations, planned.vectors);
    run::SimulationHooks hooks;
    hooks.caches = &caches_;
    const run::RunResult ran = run::simulate(planned, architecture_, simulation_, hooks);
    const auto& pass = ran.inference->sparse ? ran.inference->sparse : ran.inference->dense;
    result_.simulated = PassFigures{pass->latency_us, pass->energy_uj};
  }

  const std::filesystem::path model_;
  const config::Architecture& architecture_;
  const PlanOptions& options_;
  std::unique_ptr<prune::ModelFile> file_;
  workload::Workload workload_;
  prune::PruneOptions pruning_;
  run::SimulationOptions simulation_;
  run::SimulationCaches caches_;
  std::vector<std::size_t> choices_;  ///< the layers that the front is made of
  ParetoFront front_;
  PlanResult result_;
};

}  // namespace

bool PlannedLayer::was_sparse() const {
  return !weights.empty() && std::ranges::all_of(weights, [](const auto& weight) { return weight.was_sparse; });
}

double PlannedLayer::saved_us() const {
  return dense && sparse ? dense->time_us - sparse->time_us : 0;
}

std::optional<double> PlannedLayer::saved_uj() const {
  const bool known = dense && sparse && dense->energy_uj && sparse->energy_uj;
  return known ? std::optional(*dense->energy_uj - *sparse->energy_uj) : std::nullopt;
}

PlanResult plan_model(const std::filesystem::path& model, const config::Architecture& architecture,
                      const PlanOptions& options) {
  return Planning(model, architecture, options).result();
}

bool is_lower_better(std::string_view option, std::string_view word) {
  static constexpr std::array<std::string_view, 2> kWords{"higher", "lower"};
  return io::place_among(kWords, word, fmt::format("unknown {}", option)) == 1;
}

std::string plan_list(const PlanResult& result) {
  if (!result.plan) {
    throw base::InputError(result.unreached);
  }
  const std::vector<workload::ListedLayer> listed = listed_layers(result);
  if (listed.empty()) {
    io::refuse("the plan takes no layer, so that there is no list of them to write");
  }
  return workload::layer_list_text(
      listed, fmt::format("sptcsim plan {}: layers to prune to {} on {}, and their operations", result.model,
                          result.pattern, result.arch));
}

}  // namespace sptc::prune::plan
