// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/plan_model.h"
#include "sim/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sptc::prune::plan {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kNameWidth = 36;
constexpr std::size_t kFrontRows = 12;

std::string energy(const std::optional<double>& uj) {
  return uj ? report::scaled_energy(*uj) : "n/a";
}

/// "x/MatMul + 2": with two more weights.
std::string shown_name(const PlannedLayer& layer) {
  const std::string more = layer.listed.size() > 1 ? fmt::format(" + {}", layer.listed.size() - 1) : "";
  return report::fitted_layer(layer.name, kNameWidth - more.size()) + more;
}

std::string layer_row(const PlannedLayer& layer, bool taken, bool has_metric, std::string_view pattern) {
  std::string row =
      fmt::format("{} {:<{}} {:>6} {:>6} {:>6.0f} {:>7}", taken ? '*' : ' ', shown_name(layer), kNameWidth, layer.m,
                  layer.k, layer.launches, layer.weights.empty() ? "-" : fmt::format("{:.4f}", layer.error));
  if (has_metric) {
    row += layer.metric ? fmt::format(" {:>9.5g}", *layer.metric) : fmt::format(" {:>9}", "-");
  }
  if (!layer.refused.empty()) {
    return row + "  refused: " + report::fitted_name(layer.refused, kWidth) + "\n";
  }
  const double saved = layer.saved_us();
  row += fmt::format(" {:>9} {:>9} {:>9}", layer.dense ? report::scaled_time(layer.dense->time_us) : "n/a",
                     layer.sparse ? report::scaled_time(layer.sparse->time_us) : "n/a", energy(layer.saved_uj()));
  return row + (saved > 0 ? "\n" : fmt::format("  {} is no faster\n", pattern));
}

/// What the column of errors has.
std::string errors_text(const PlanResult& result) {
  const bool fused =
      std::ranges::any_of(result.layers, [](const PlannedLayer& layer) { return layer.weights.size() > 1; });
  return report::wrapped(
      std::string("error: ||WX - W'X|| / ||WX|| of the outputs WX that pruning changes to W'X") +
          (fused ? "; of a layer of several weights (\"+ 2\") those of all together; --format json has that of each"
                 : ""),
      kWidth);
}

std::string front_text(const PlanResult& result) {
  std::string text = fmt::format("\n{:>10} {:>10} {:>8} {:>10} {:>7}\n", "loss", "time", "gain", "energy", "layers");
  const std::size_t rows = std::min(kFrontRows, result.front.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t at = rows > 1 ? i * (result.front.size() - 1) / (rows - 1) : 0;
    const PlanPoint& point = result.front[at];
    text +=
        fmt::format("{:>10.5g} {:>10} {:>7.3f}x {:>10} {:>7}\n", point.loss, report::scaled_time(point.pass.time_us),
                    result.gain(point), energy(point.pass.energy_uj), point.layers.size());
  }
  text += fmt::format("sets of layers on the front: {}, of which {} shown", result.front_sets, rows);
  text +=
      result.resolution == 0 ? "; it is exact\n" : fmt::format("; its losses are exact to {:.3g}\n", result.resolution);
  return text;
}

std::string plan_sentence(const PlanResult& result) {
  const PlanPoint& plan = *result.plan;
  std::string text =
      fmt::format("plan: {} layers; loss {:.5g}, {} instead of {} ({:.3f}x)", plan.layers.size(), plan.loss,
                  report::scaled_time(plan.pass.time_us), report::scaled_time(result.dense.time_us), result.gain(plan));
  if (result.simulated) {
    text += fmt::format("; as one network {} ({:.3f}x)", report::scaled_time(result.simulated->time_us),
                        result.dense.time_us / result.simulated->time_us);
  }
  if (result.plan_metric) {
    text +=
        fmt::format("; measured: metric {:.6g}, loss {:.5g}", *result.plan_metric, result.loss_of(*result.plan_metric));
  }
  return report::wrapped(text, kWidth);
}

/// "lose 0.72, ..": what `point` loses, and of what.
std::string loss_words(const PlanResult& result, const PlanPoint& point) {
  if (result.measure == LossMeasure::kMetric) {
    return fmt::format("lose {:.4g} of the metric, {:.4g} when dense", point.loss, *result.dense_metric);
  }
  const auto layers = static_cast<double>(point.layers.size());
  return point.layers.size() == 1
             ? fmt::format("lose {:.4g}, the relative error of the output of its layer", point.loss)
             : fmt::format(
                   "lose {:.4g}, the root of the sum of the squared relative errors of the outputs of {} layers "
                   "({:.4g} each)",
                   point.loss, point.layers.size(), point.loss / std::sqrt(layers));
}

}  // namespace

std::string plan_verdict(const PlanResult& result) {
  const PlanPoint& best = result.plan ? *result.plan : result.front.back();
  if (!result.unreached.empty()) {
    return "N" + result.unreached.substr(1) + ".";
  }
  if (best.layers.empty() && !result.plan) {
    return fmt::format("No layer gains from {}.", result.pattern);
  }
  if (best.layers.empty()) {
    return result.front.size() == 1
               ? "The plan takes no layer."
               : fmt::format("The plan takes no layer; the next set on the front loses {:.4g}.", result.front[1].loss);
  }
  if (!result.plan) {
    return fmt::format("All layers that gain make it {:.3f}x as fast and should {}.", result.gain(best),
                       loss_words(result, best));
  }
  const double gain = result.simulated ? result.dense.time_us / result.simulated->time_us : result.gain(best);
  return result.plan_metric ? fmt::format("The plan is {:.3f}x as fast and loses {:.4g} of the metric, as measured.",
                                          gain, result.loss_of(*result.plan_metric))
                            : fmt::format("The plan is {:.3f}x as fast and should {}.", gain, loss_words(result, best));
}

std::string plan_text(const PlanResult& result) {
  const bool has_metric = result.dense_metric.has_value();
  std::string text = plan_verdict(result) + "\n";
  text += report::wrapped("Evidence: " + result.evidence, kWidth);
  text += fmt::format("{} to {} by {} on {}: {}, engine {}, {}\n\n", report::fitted_name(result.model, kWidth),
                      result.pattern, result.criterion, result.arch, result.dtype, result.engine, result.made_by);
  text += fmt::format("  {:<{}} {:>6} {:>6} {:>6} {:>7}", "layer", kNameWidth, "rows", "k", "runs", "error");
  text += has_metric ? fmt::format(" {:>9}", "metric") : "";
  text += fmt::format(" {:>9} {:>9} {:>9}\n", "dense", result.pattern, "J saved");
  std::set<std::size_t> taken;
  if (result.plan) {
    taken.insert(result.plan->layers.begin(), result.plan->layers.end());
  }
  for (std::size_t i = 0; i < result.layers.size(); ++i) {
    text += layer_row(result.layers[i], taken.contains(i), has_metric, result.pattern);
  }
  text += errors_text(result) + front_text(result);
  text += has_metric
              ? fmt::format("loss: by how much the metric, {:.6g} when dense, gets worse; those of layers add up\n",
                            *result.dense_metric)
              : "loss: root of the sum of the squared errors of the layers taken, each relative to its output\n";
  for (const std::string& note : result.notes) {
    text += report::wrapped(note, kWidth);
  }
  if (result.plan) {
    text += "\n" + plan_sentence(result) + "* in the plan\n";
  }
  return text;
}

}  // namespace sptc::prune::plan
