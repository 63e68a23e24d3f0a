// SPDX-License-Identifier: Apache-2.0
#include "sim/microbench/microbench.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>
#include <variant>

namespace sptc::microbench {
namespace {

std::string cell(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "";
}

}  // namespace

std::vector<MicrobenchCase> asked_cases(const gpu::GpuSpec& spec, const std::string& name,
                                        std::optional<int> warps, std::optional<int> ilp) {
  std::vector<MicrobenchCase> cases = published_cases(spec);
  if (!name.empty()) {
    const BenchInstruction instruction = parse_bench_instruction(name);
    const std::string whole = name_of(instruction);
    std::erase_if(cases,
                  [&](const MicrobenchCase& row) { return name_of(row.instruction) != whole; });
    if (cases.empty() || warps || ilp) {
      const auto* matrix = std::get_if<MatrixInstruction>(&instruction);
      cases = {{instruction, matrix != nullptr ? matrix->instruction.warps() : 1, 1}};
    }
  }
  for (MicrobenchCase& row : cases) {
    row.warps = warps.value_or(row.warps);
    row.ilp = ilp.value_or(row.ilp);
  }
  return cases;
}

std::vector<MicrobenchResult> run_cases(const gpu::GpuSpec& spec,
                                        const std::vector<MicrobenchCase>& cases) {
  Microbench microbench(spec);
  std::vector<MicrobenchResult> rows;
  rows.reserve(cases.size());
  for (const MicrobenchCase& row : cases) {
    rows.push_back(microbench.run(row));
  }
  return rows;
}

std::string rows_text(const gpu::GpuSpec& spec, const std::vector<MicrobenchResult>& rows) {
  std::string text = fmt::format(
      "{}: one SM, simulated. Sparse instructions count the zeros that they skip; in turn:\n"
      "every chain of a warp has its metadata in other lanes (selector) than the one before.\n\n"
      "{:<62} {:>6} {:>5} {:>3} {:>9} {:>10} {:>10}\n",
      spec.name, "instruction", "sparse", "warps", "ilp", "latency", "FMA/clk/SM", "B/clk/SM");
  for (const MicrobenchResult& row : rows) {
    text += fmt::format("{:<62} {:>6} {:>5} {:>3} {:>9.1f} {:>10} {:>10}\n",
                        row.instruction + (row.selectors_in_turn ? " in turn" : ""),
                        row.sparse ? "yes" : "no", row.warps, row.ilp, row.latency_cycles,
                        cell(row.fma_per_clk_per_sm, 1), cell(row.bytes_per_clk_per_sm, 1));
  }
  return text;
}

std::string rows_csv(const std::vector<MicrobenchResult>& rows) {
  std::string text =
      "instruction,sparse,warps,ilp,latency_cycles,fma_per_clk_per_sm,bytes_per_clk_per_sm,"
      "selectors_in_turn\n";
  for (const MicrobenchResult& row : rows) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n", row.instruction, row.sparse, row.warps,
                        row.ilp, row.latency_cycles, cell(row.fma_per_clk_per_sm, 3),
                        cell(row.bytes_per_clk_per_sm, 3), row.selectors_in_turn);
  }
  return text;
}

std::string rows_json(const gpu::GpuSpec& spec, const std::vector<MicrobenchResult>& rows,
                      std::string_view version) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const MicrobenchResult& row : rows) {
    Json json{{"instruction", row.instruction},
              {"sparse", row.sparse},
              {"selectors_in_turn", row.selectors_in_turn},
              {"warps", row.warps},
              {"ilp", row.ilp},
              {"latency_cycles", row.latency_cycles}};
    if (row.fma_per_clk_per_sm) {
      json["fma_per_clk_per_sm"] = *row.fma_per_clk_per_sm;
    }
    if (row.bytes_per_clk_per_sm) {
      json["bytes_per_clk_per_sm"] = *row.bytes_per_clk_per_sm;
    }
    list.push_back(std::move(json));
  }
  const Json root{{"schema", "sptcsim-microbench-1"},
                  {"version", version},
                  {"arch", spec.name},
                  {"rows", std::move(list)}};
  return root.dump(2) + "\n";
}

}  // namespace sptc::microbench
