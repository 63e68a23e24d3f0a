// SPDX-License-Identifier: Apache-2.0
#include "sim/report/inference_report.h"

#include "sim/report/verdict.h"
#include "sim/report/words.h"
#include "sim/run/memory_use.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::report {
namespace {

using Json = nlohmann::ordered_json;
using Totals3 = std::array<const run::InferenceTotals*, 3>;

Totals3 totals_of(const run::InferenceResult& inference) {
  const auto pointer = [](const std::optional<run::InferenceTotals>& totals) { return totals ? &*totals : nullptr; };
  return {pointer(inference.dense), pointer(inference.sparse), pointer(inference.mix)};
}

std::string number(double value) {
  return value >= 1e6   ? fmt::format("{:.0f}", value)
         : value >= 100 ? fmt::format("{:.1f}", value)
                        : fmt::format("{:.4g}", value);
}

/// A figure of a pass: with dense weights, all 2:4, and the fastest mix.
struct Row {
  std::string label;
  std::array<std::string, 3> cells;
};

std::vector<Row> rows_of(const run::RunResult& result) {
  const Totals3 totals = totals_of(*result.inference);
  std::vector<Row> rows;
  const auto add = [&](const std::string& label, const auto& text) {
    Row row;
    row.label = label;
    for (std::size_t i = 0; i < totals.size(); ++i) {
      row.cells[i] = totals[i] == nullptr ? "-" : text(*totals[i]);
    }
    rows.push_back(std::move(row));
  };
  using Stage = run::PassKind::Stage;
  const run::PassKind& pass = result.inference->pass;
  const bool prefill = pass.stage == Stage::kPrefill;
  add(prefill ? "latency ms (to the first token)" : "latency ms",
      [](const auto& t) { return number(t.latency_us * 1e-3); });
  const std::int64_t inputs = result.inference->batch;
  const auto batch = static_cast<double>(std::max<std::int64_t>(inputs, 1));
  add(inputs > 0 ? fmt::format("inputs per second (batch {})", inputs) : "passes per second",
      [batch](const auto& t) { return number(1e6 * batch / t.latency_us); });
  const double tokens = pass.units();
  if (pass.stage != Stage::kOther) {
    add("tokens per second", [tokens](const auto& t) { return number(1e6 * tokens / t.latency_us); });
  }
  if (pass.stage == Stage::kDecode) {
    add("tokens per second and user", [](const auto& t) { return number(1e6 / t.latency_us); });
  }
  if (totals[0] != nullptr && totals[0]->energy_uj) {
    const bool several = pass.gpus > 1;
    const auto joules = [&](std::string_view unit, double units) {
      add(fmt::format("joules per {}{}", unit, several ? ", all GPUs" : ""),
          [share = pass.gpus / units](const auto& t) { return number(*t.energy_uj * 1e-6 * share); });
    };
    add(several ? "average power W, each GPU" : "average power W", [](const auto& t) { return number(*t.power_w); });
    joules(inputs > 0 ? "input" : "pass", batch);
    if (pass.stage != Stage::kOther) {
      joules("token", tokens);
    }
  }
  add("clock MHz", [](const auto& t) { return fmt::format("{:.0f}", t.clock_mhz); });
  const auto add_part = [&](std::string_view part, const auto& us) {
    add(fmt::format("of it ms: {}", part),
        [us](const auto& t) { return fmt::format("{} ({:.0f} %)", number(us(t) * 1e-3), 100 * us(t) / t.latency_us); });
  };
  for (std::size_t group = 0; group < workload::kWorkGroups; ++group) {
    const auto us = [group](const run::InferenceTotals& t) { return t.group_us[group]; };
    if (std::any_of(totals.begin(), totals.end(), [&](const auto* t) { return t != nullptr && us(*t) > 0; })) {
      add_part(workload::name(static_cast<workload::WorkGroup>(group)), us);
    }
  }
  if (totals[0] != nullptr && totals[0]->waiting_us > 0) {
    add_part("waiting for host", [](const run::InferenceTotals& t) { return t.waiting_us; });
  }
  const auto ms = [](const std::optional<run::VariantTotals>& variant) {
    return variant ? number(variant->time_us * 1e-3) : std::string("-");
  };
  rows.push_back({"GEMMs only, each by itself, ms", {ms(result.totals.dense), ms(result.totals.sparse), ""}});
  return rows;
}

Row head_of(const run::RunResult& result) {
  return {"", {"dense", sparse_column(result), "fastest mix"}};
}

std::string kernels_text(const run::InferenceResult& inference, std::string_view sparse) {
  const auto us = [](const std::optional<run::KernelFigures>& figures) {
    return figures ? fmt::format("{:.2f}", figures->time_us) : std::string("-");
  };
  std::string out = fmt::format("\n  {:<28} {:>6} {:>10} {:>10} {:<6} {}\n", "kernel", "count", "dense us",
                                fmt::format("{} us", sparse), "takes", "why, and what is fused");
  for (const run::InferenceKernel& kernel : inference.kernels) {
    std::string why = kernel.reason;
    if (!kernel.fused.empty()) {
      why += fmt::format("{}with {}", why.empty() ? "" : "; ", fmt::join(kernel.fused, ", "));
    }
    const bool weights = kernel.group == workload::WorkGroup::kGemm;
    out += line_of(fmt::format("  {:<28} {:>6} {:>10} {:>10} {:<6} {}", fitted_layer(kernel.name, 28), kernel.count,
                               us(kernel.dense), us(kernel.sparse),
                               !weights              ? ""
                               : kernel.takes_sparse ? sparse
                                                     : "dense",
                               fitted_name(why, 52)));
  }
  return out;
}

/// What each weight takes in the fastest mix, and why.
std::string choices_text(const run::InferenceResult& inference, std::string_view sparse) {
  std::string out = fmt::format("\n  {:<28} {:<6} {}\n", "weight", "takes", "why");
  for (const run::InferenceKernel& kernel : inference.kernels) {
    if (kernel.group == workload::WorkGroup::kGemm) {
      out += fmt::format("  {:<28} {:<6} {}\n", fitted_layer(kernel.name, 28), kernel.takes_sparse ? sparse : "dense",
                         fitted_name(kernel.reason, 62));
    }
  }
  return out;
}

/// "vllm 0.18".
std::string engine_text(const run::RunResult& result) {
  const std::string& version = result.inference->engine_version;
  return result.inference->engine + (version.empty() ? "" : " " + version);
}

/// "memory of 80 GiB, 2:4: 49.4 = weights 43.7 + metadata 5.4 + cache 0.2", or "does not fit 80 GiB, dense: ..".
std::string memory_line(const std::string& weights, const run::MemoryUse& use) {
  using run::kGib;
  constexpr double kLeast = 0.05;
  std::string parts;
  for (const auto& [name, bytes] : {std::pair("weights", use.weights),
                                    {"metadata", use.metadata},
                                    {"cache", use.cache},
                                    {"activations", use.activations},
                                    {"links", use.communication}}) {
    if (bytes / kGib >= kLeast) {
      parts += fmt::format("{}{} {:.1f}", parts.empty() ? " = " : " + ", name, bytes / kGib);
    }
  }
  return fmt::format("{} {:.0f} GiB, {}: {:.1f}{}", use.fits() ? "memory of" : "does not fit", use.capacity / kGib,
                     weights, use.total() / kGib, parts);
}

std::vector<std::string> not_modelled(const run::InferenceResult& inference) {
  std::vector<std::string> lines;
  for (const run::NotModelled& part : inference.not_modelled) {
    lines.push_back(fmt::format("not modelled: {}{}", part.what,
                                part.share ? fmt::format(" (about {:.1f} %)", 100 * *part.share) : ""));
  }
  return lines;
}

/// What each pass is made of, for a figure: "parts" by name, and by variant "us" of each of them.
Json stacks_of(const run::RunResult& result) {
  const Totals3 totals = totals_of(*result.inference);
  const std::array<std::string, 3> names = head_of(result).cells;
  Json json{{"parts", Json::array()}, {"bars", Json::array()}};
  for (std::size_t group = 0; group < workload::kWorkGroups; ++group) {
    json["parts"].push_back(workload::name(static_cast<workload::WorkGroup>(group)));
  }
  json["parts"].push_back("waiting for the host");
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (totals[i] != nullptr) {
      Json us = totals[i]->group_us;
      us.push_back(totals[i]->waiting_us);
      json["bars"].push_back({{"name", names[i]}, {"us", us}, {"latency_us", totals[i]->latency_us}});
    }
  }
  return json;
}

}  // namespace

std::string inference_text(const run::RunResult& result, bool verbose) {
  std::string out = fmt::format("\none inference under engine {}\n", fitted_name(engine_text(result), 40));
  std::vector<Row> rows = rows_of(result);
  rows.insert(rows.begin(), head_of(result));
  for (const Row& row : rows) {
    std::string line = fmt::format("  {:<32}", row.label);
    for (const std::string& cell : row.cells) {
      line += fmt::format(" {:>14}", cell);
    }
    out += line_of(line);
  }
  for (const auto& [weights, use] : {std::pair(std::string("dense"), &result.dense_memory),
                                     std::pair(std::string(sparse_column(result)), &result.sparse_memory),
                                     std::pair(std::string("fastest mix"), &result.mix_memory)}) {
    const bool is_told = use != &result.mix_memory || (*use && !(*use)->fits());
    out += *use && is_told && result.reports_memory ? "  " + memory_line(weights, **use) + "\n" : "";
  }
  for (const std::string& line : not_modelled(*result.inference)) {
    out += "  " + line + "\n";
  }
  if (verbose) {
    return out + kernels_text(*result.inference, sparse_column(result));
  }
  return result.inference->tells_choices ? out + choices_text(*result.inference, sparse_column(result)) : out;
}

nlohmann::ordered_json inference_table(const run::RunResult& result) {
  Json json{{"engine", engine_text(result)}, {"gemms_only", result.inference->gemms_only},
            {"head", head_of(result).cells}, {"rows", Json::array()},
            {"stacks", stacks_of(result)},   {"not_modelled", not_modelled(*result.inference)}};
  for (const Row& row : rows_of(result)) {
    json["rows"].push_back(Json::array({row.label, row.cells[0], row.cells[1], row.cells[2]}));
  }
  return json;
}

}  // namespace sptc::report
