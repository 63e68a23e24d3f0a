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

std::array<Level, 5> levels_of(const energy::StcResult& result) {
  const energy::StcAccesses& accesses = result.accesses;
  const energy::StcEnergy& energy = result.energy;
  return {{{"multiply", result.macs, energy.multiply_pj},
           {"weight registers", accesses.weight_registers, energy.weight_registers_pj},
           {"register file", accesses.registers, energy.registers_pj},
           {"shared memory", accesses.shared_memory, energy.shared_memory_pj},
           {"DRAM", accesses.dram, energy.dram_pj}}};
}

std::string_view bound_of(const energy::StcResult& result) {
  return result.cycles == result.compute_cycles         ? "compute"
         : result.cycles == result.shared_memory_cycles ? "shared memory"
                                                        : "DRAM";
}

nlohmann::ordered_json extents(const base::GemmShape& shape) {
  return {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}};
}

}  // namespace

std::string stc_design_text(const StcDesignRun& run) {
  const energy::StcResult& result = run.result;
  const base::GemmShape& shape = run.shape;
  const auto macs = static_cast<double>(shape.macs());
  std::string text = fmt::format("{}, weights {}: {} x {} x {} (padded {} x {} x {})\n\n",
                                 io::printable(run.design), run.pattern.name(), shape.m, shape.n,
                                 shape.k, result.padded.m, result.padded.n, result.padded.k);
  text += fmt::format("cycles {} (bound by {}; compute {}, shared memory {}, DRAM {})\n",
                      result.cycles, bound_of(result), result.compute_cycles,
                      result.shared_memory_cycles, result.dram_cycles);
  text += fmt::format("utilization {:.3f}, multiply-accumulates {}, executed {}\n\n",
                      result.utilization, shape.macs(), result.macs);
  text += fmt::format("{:<18} {:>14} {:>12} {:>22}\n", "level", "accesses", "energy uJ",
                      "pJ per effective MAC");
  for (const Level& level : levels_of(result)) {
    text += fmt::format("{:<18} {:>14} {:>12.3f} {:>22.4f}\n", level.name, level.accesses,
                        level.pj * 1e-6, level.pj / macs);
  }
  const double total = result.energy.total_pj();
  text +=
      fmt::format("{:<18} {:>14} {:>12.3f} {:>22.4f}\n", "total", "", total * 1e-6, total / macs);
  text += fmt::format("metadata indices: {} read from shared memory, {} from DRAM\n",
                      result.accesses.shared_memory_metadata_reads, result.accesses.dram_metadata);
  return text;
}

std::string stc_design_json(const StcDesignRun& run) {
  const energy::StcResult& result = run.result;
  nlohmann::ordered_json levels = nlohmann::ordered_json::array();
  for (const Level& level : levels_of(result)) {
    levels.push_back(
        {{"level", level.name}, {"accesses", level.accesses}, {"energy_pj", level.pj}});
  }
  const nlohmann::ordered_json json{
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
  return json.dump(2) + "\n";
}

}  // namespace sptc::report
