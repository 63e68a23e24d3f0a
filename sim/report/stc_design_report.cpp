// SPDX-License-Identifier: Apache-2.0
#include "sim/report/stc_design_report.h"

#include "sim/io/text_file.h"
#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string_view>

namespace sptc::report {
namespace {

struct Level {
  const char* name;
  std::int64_t accesses;
  double pj;
};

std::array<Level, 5> levels_of(const StcDesignRun& run) {
  const energy::StcResult& result = run.result;
  const energy::StcAccesses& accesses = result.accesses;
  const energy::StcEnergy& energy = result.energy;
  return {{{"multiply", result.macs, energy.multiply_pj},
           {run.dual_side ? "operand registers" : "weight registers", accesses.weight_registers,
            energy.weight_registers_pj},
           {"register file", accesses.registers, energy.registers_pj},
           {"shared memory", accesses.shared_memory, energy.shared_memory_pj},
           {"DRAM", accesses.dram, energy.dram_pj}}};
}

std::string_view bound_of(const energy::StcResult& result) {
  return result.cycles == result.compute_cycles         ? "compute"
         : result.cycles == result.shared_memory_cycles ? "shared memory"
                                                        : "DRAM";
}

std::string operands_of(const StcDesignRun& run) {
  return run.dual_side
             ? fmt::format("densities {:g} of A, {:g} of B", run.densities.a, run.densities.b)
             : "weights " + run.pattern.name();
}

nlohmann::ordered_json extents(const base::GemmShape& shape) {
  return {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}};
}

}  // namespace

StcDesignRun run_stc_design(const std::string& name, const energy::StcDesign& design,
                            const base::GemmShape& shape, const sparsity::Pattern& pattern,
                            std::optional<double> a_density, std::optional<double> b_density) {
  StcDesignRun run;
  run.design = name;
  run.shape = shape;
  run.pattern = pattern;
  run.dual_side = design.dual_side.has_value();
  run.result = evaluate(design, shape, pattern, a_density, b_density);
  run.densities = {a_density.value_or(static_cast<double>(pattern.kept) / pattern.group),
                   b_density.value_or(1)};
  run.area_mm2 = design.area_mm2;
  return run;
}

std::string stc_design_text(const StcDesignRun& run) {
  const energy::StcResult& result = run.result;
  const base::GemmShape& shape = run.shape;
  const auto macs = static_cast<double>(shape.macs());
  std::string text = fmt::format("{}, {}: {} x {} x {} (padded {} x {} x {})\n\n",
                                 io::printable(run.design), operands_of(run), shape.m, shape.n,
                                 shape.k, result.padded.m, result.padded.n, result.padded.k);
  text += fmt::format("cycles {} (bound by {}; compute {}, shared memory {}, DRAM {})\n",
                      result.cycles, bound_of(result), result.compute_cycles,
                      result.shared_memory_cycles, result.dram_cycles);
  text += fmt::format("utilization {:.3f}, multiply-accumulates {}, executed {}\n\n",
                      result.utilization, shape.macs(), result.macs);
  text += fmt::format("{:<18} {:>14} {:>12} {:>22}\n", "level", "accesses", "energy uJ",
                      "pJ per effective MAC");
  for (const Level& level : levels_of(run)) {
    text += fmt::format("{:<18} {:>14} {:>12.3f} {:>22.4f}\n", level.name, level.accesses,
                        level.pj * 1e-6, level.pj / macs);
  }
  const double total = result.energy.total_pj();
  text +=
      fmt::format("{:<18} {:>14} {:>12.3f} {:>22.4f}\n", "total", "", total * 1e-6, total / macs);
  text += fmt::format("metadata {}: {} read from shared memory, {} from DRAM\n",
                      run.dual_side ? "bits" : "indices",
                      result.accesses.shared_memory_metadata_reads, result.accesses.dram_metadata);
  if (run.area_mm2 > 0) {
    text += fmt::format("area {:.2f} mm2\n", run.area_mm2);
  }
  return text;
}

std::string stc_design_json(const StcDesignRun& run) {
  const energy::StcResult& result = run.result;
  nlohmann::ordered_json levels = nlohmann::ordered_json::array();
  for (const Level& level : levels_of(run)) {
    levels.push_back(
        {{"level", level.name}, {"accesses", level.accesses}, {"energy_pj", level.pj}});
  }
  nlohmann::ordered_json json{
      {"schema", "sptcsim-stc-design/0.1"},
      {"version", std::string(program_version())},
      {"design", io::printable(run.design)},
      {"pattern", run.pattern.name()},
      {"shape", extents(run.shape)},
      {"padded", extents(result.padded)},
      {"cycles", result.cycles},
      {"bound_by", bound_of(result)},
      {"compute_cycles", result.compute_cycles},
      {"shared_memory_cycles", result.shared_memory_cycles},
      {"dram_cycles", result.dram_cycles},
      {"utilization", result.utilization},
      {"macs", run.shape.macs()},
      {"executed_macs", result.macs},
      {"levels", levels},
      {"energy_pj", result.energy.total_pj()},
      {"shared_memory_metadata_reads", result.accesses.shared_memory_metadata_reads},
      {"dram_metadata_reads", result.accesses.dram_metadata}};
  if (run.dual_side) {
    json["densities"] = {{"a", run.densities.a}, {"b", run.densities.b}};
  }
  if (run.area_mm2 > 0) {
    json["area_mm2"] = run.area_mm2;
  }
  return json.dump(2) + "\n";
}

}  // namespace sptc::report
