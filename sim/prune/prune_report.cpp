// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/prune/prune_model.h"
#include "sim/report/html_page.h"
#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>

namespace sptc::prune {
/// sim/prune/prune.html.
std::string_view prune_html();

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kNameBytes = 48;

std::string shown_name(const LayerReport& layer) {
  return io::printable(base::shortened(layer.name, kNameBytes));
}

std::string row_of(const LayerReport& layer, std::size_t width) {
  const std::string taps = layer.taps > 1 ? fmt::format("x{}", layer.taps) : "";
  const std::string begin = fmt::format("{:<{}}  {:>7} {:>16}", shown_name(layer), width, layer.dtype,
                                        fmt::format("{}{} x {}", layer.rows, taps, layer.k));
  if (!layer.skipped.empty()) {
    return begin + "  left as it is: " + layer.skipped + "\n";
  }
  std::string text = begin + fmt::format(" {:>8.4f} {:>9.4f}", layer.kept.energy, layer.kept.magnitude);
  text += layer.output_error ? fmt::format(" {:>8.4f}", *layer.output_error) : fmt::format(" {:>8}", "-");
  if (layer.permutation) {
    const PermutationReport& permutation = *layer.permutation;
    text +=
        fmt::format("  {} magnitude {:.4f} -> {:.4f}", permutation.applied ? "permuted:" : "a permutation would give",
                    permutation.magnitude_before, permutation.magnitude_after);
  }
  return text + (layer.was_sparse ? "  had the pattern already\n" : "\n");
}

Json json_of(const LayerReport& layer) {
  Json json{{"name", layer.name},
            {"dtype", layer.dtype},
            {"rows", layer.rows},
            {"taps", layer.taps},
            {"k", layer.k},
            {"weights", layer.weights()},
            {"pruned", layer.skipped.empty()}};
  if (!layer.skipped.empty()) {
    json["reason"] = layer.skipped;
    return json;
  }
  json["had_pattern"] = layer.was_sparse;
  json["zeros_before"] = layer.zeros_before;
  json["zeros_after"] = layer.zeros_after;
  json["energy_kept"] = layer.kept.energy;
  json["magnitude_kept"] = layer.kept.magnitude;
  json["output_error"] = layer.output_error ? Json(*layer.output_error) : Json(nullptr);
  json["permutation"] = nullptr;
  if (layer.permutation) {
    json["permutation"] = {{"group", layer.permutation->group},
                           {"applied", layer.permutation->applied},
                           {"magnitude_before", layer.permutation->magnitude_before},
                           {"magnitude_after", layer.permutation->magnitude_after}};
  }
  return json;
}

Json document(const PruneReport& report) {
  Json layers = Json::array();
  for (const LayerReport& layer : report.layers) {
    layers.push_back(json_of(layer));
  }
  return {{"schema", "sptcsim-prune/0.1"},
          {"model", report.model},
          {"out", report.out.empty() ? Json(nullptr) : Json(report.out)},
          {"pattern", report.pattern.name()},
          {"criterion", sparsity::name(report.criterion)},
          {"layout", name(report.layout)},
          {"pruned_layers", report.pruned_layers()},
          {"pruned_weights", report.pruned_weights()},
          {"other_tensors", report.other_tensors},
          {"notes", report.notes},
          {"layers", layers}};
}

}  // namespace

std::string prune_text(const PruneReport& report) {
  std::size_t width = 5;
  for (const LayerReport& layer : report.layers) {
    width = std::max(width, shown_name(layer).size());
  }
  std::string text =
      fmt::format("{}: {} by {}\n\n", report.model, report.pattern.name(), sparsity::name(report.criterion));
  text += fmt::format("{:<{}}  {:>7} {:>16} {:>8} {:>9} {:>8}\n", "layer", width, "type", "rows x k", "energy",
                      "magnitude", "error");
  for (const LayerReport& layer : report.layers) {
    text += row_of(layer, width);
  }
  text += fmt::format("\n{} layers of {} weights pruned, {} left as they are, {} other tensors\n",
                      report.pruned_layers(), report.pruned_weights(),
                      static_cast<std::int64_t>(report.layers.size()) - report.pruned_layers(), report.other_tensors);
  text += "energy, magnitude: share of the sum of squares and of magnitudes that stays; error: ||WX - W'X|| / ||WX||\n";
  for (const std::string& note : report.notes) {
    text += "note: " + note + "\n";
  }
  if (!report.out.empty()) {
    text += fmt::format("written: {} ({})\n", report.out, name(report.layout));
  }
  return text;
}

std::string prune_json(const PruneReport& report) {
  return io::json_text(document(report), 2) + "\n";
}

std::string prune_page(const PruneReport& report, const std::string& command) {
  Json json = document(report);
  json["version"] = report::program_version();
  json["command"] = command;
  return report::html_page(prune_html(), io::json_text(json));
}

}  // namespace sptc::prune
