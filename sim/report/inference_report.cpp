// SPDX-License-Identifier: Apache-2.0
#include "sim/report/inference_report.h"

#include "sim/report/verdict.h"
#include "sim/report/words.h"

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
  const auto pointer = [](const std::optional<run::InferenceTotals>& totals) {
    return totals ? &*totals : nullptr;
  };
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
  add("latency ms", [](const auto& t) { return number(t.latency_us * 1e-3); });
  const std::int64_t inputs = result.inference->batch;
  const auto batch = static_cast<double>(std::max<std::int64_t>(inputs, 1));
  add(inputs > 0 ? fmt::format("inputs per second (batch {})", inputs) : "passes per second",
      [batch](const auto& t) { return number(1e6 * batch / t.latency_us); });
  if (totals[0] != nullptr && totals[0]->energy_uj) {
    add("average power W", [](const auto& t) { return number(*t.power_w); });
    add(inputs > 0 ? "joules per input" : "joules per pass",
        [batch](const auto& t) { return number(*t.energy_uj * 1e-6 / batch); });
  }
  add("clock MHz", [](const auto& t) { return fmt::format("{:.0f}", t.clock_mhz); });
  const auto add_part = [&](std::string_view part, const auto& us) {
    add(fmt::format("of it ms: {}", part), [us](const auto& t) {
      return fmt::format("{} ({:.0f} %)", number(us(t) * 1e-3), 100 * us(t) / t.latency_us);
    });
  };
  for (std::size_t group = 0; group < workload::kWorkGroups; ++group) {
    const auto us = [group](const run::InferenceTotals& t) { return t.group_us[group]; };
    if (std::any_of(totals.begin(), totals.end(),
                    [&](const auto* t) { return t != nullptr && us(*t) > 0; })) {
      add_part(workload::name(static_cast<workload::WorkGroup>(group)), us);
    }
  }
  if (totals[0] != nullptr && totals[0]->waiting_us > 0) {
    add_part("waiting for host", [](const run::InferenceTotals& t) { return t.waiting_us; });
  }
  const auto ms = [](const std::optional<run::VariantTotals>& variant) {
    return variant ? number(variant->time_us * 1e-3) : std::string("-");
  };
  rows.push_back(
      {"GEMMs only, each by itself, ms", {ms(result.totals.dense), ms(result.totals.sparse), ""}});
  return rows;
}

Row head_of(const run::RunResult& result) {
  return {"", {"dense", sparse_column(result), "fastest mix"}};
}

void append_kernels(std::string& out, const run::InferenceResult& inference,
                    std::string_view sparse) {
  const auto us = [](const std::optional<run::KernelFigures>& figures) {
    return figures ? fmt::format("{:.2f}", figures->time_us) : std::string("-");
  };
  out += fmt::format("\n  {:<28} {:>6} {:>10} {:>10} {:<6} {}\n", "kernel", "count", "dense us",
                     fmt::format("{} us", sparse), "takes", "why, and what is fused");
  for (const run::InferenceKernel& kernel : inference.kernels) {
    std::string why = kernel.reason;
    if (!kernel.fused.empty()) {
      why += fmt::format("{}with {}", why.empty() ? "" : "; ", fmt::join(kernel.fused, ", "));
    }
    const bool weights = kernel.group == workload::WorkGroup::kGemm;
    out +=
        line_of(fmt::format("  {:<28} {:>6} {:>10} {:>10} {:<6} {}", fitted_layer(kernel.name, 28),
                            kernel.count, us(kernel.dense), us(kernel.sparse),
                            !weights              ? ""
                            : kernel.takes_sparse ? sparse
                                                  : "dense",
                            fitted_name(why, 52)));
  }
}

/// Of each weight, what it takes in the fastest mix, and why.
void append_choices(std::string& out, const run::InferenceResult& inference,
                    std::string_view sparse) {
  out += fmt::format("\n  {:<28} {:<6} {}\n", "weight", "takes", "why");
  for (const run::InferenceKernel& kernel : inference.kernels) {
    if (kernel.group == workload::WorkGroup::kGemm) {
      out += fmt::format("  {:<28} {:<6} {}\n", fitted_layer(kernel.name, 28),
                         kernel.takes_sparse ? sparse : "dense", fitted_name(kernel.reason, 62));
    }
  }
}

std::vector<std::string> not_modelled(const run::InferenceResult& inference) {
  std::vector<std::string> lines;
  for (const run::NotModelled& part : inference.not_modelled) {
    lines.push_back(
        fmt::format("not modelled: {}{}", part.what,
                    part.share ? fmt::format(" (about {:.1f} %)", 100 * *part.share) : ""));
  }
  return lines;
}

}  // namespace

std::string inference_totals_text(const run::RunResult& result) {
  std::string out =
      fmt::format("\none inference under engine {}\n", fitted_name(result.inference->engine, 40));
  std::vector<Row> rows = rows_of(result);
  rows.insert(rows.begin(), head_of(result));
  for (const Row& row : rows) {
    std::string line = fmt::format("  {:<32}", row.label);
    for (const std::string& cell : row.cells) {
      line += fmt::format(" {:>14}", cell);
    }
    out += line_of(line);
  }
  for (const std::string& line : not_modelled(*result.inference)) {
    out += "  " + line + "\n";
  }
  return out;
}

nlohmann::ordered_json inference_table(const run::RunResult& result) {
  Json json{{"engine", result.inference->engine},
            {"gemms_only", result.inference->gemms_only},
            {"head", head_of(result).cells},
            {"rows", Json::array()},
            {"not_modelled", not_modelled(*result.inference)}};
  for (const Row& row : rows_of(result)) {
    json["rows"].push_back(Json::array({row.label, row.cells[0], row.cells[1], row.cells[2]}));
  }
  return json;
}

std::string inference_short_text(const run::RunResult& result) {
  std::string out = inference_totals_text(result);
  if (result.inference->tells_choices) {
    append_choices(out, *result.inference, sparse_column(result));
  }
  return out;
}

std::string inference_text(const run::RunResult& result) {
  std::string out = inference_totals_text(result);
  append_kernels(out, *result.inference, sparse_column(result));
  return out;
}

}  // namespace sptc::report
