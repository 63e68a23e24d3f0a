// SPDX-License-Identifier: Apache-2.0
#include "sim/report/energy_tables.h"

#include "models/energy/cost_factor.h"
#include "models/energy/power.h"
#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::report {
namespace {

using energy::TensorCoreArea;
using run::AreaEstimate;
using run::GpuArea;

/// A figure with the numbers of the energy file as they are, and with all of them low and high.
struct Range {
  double usual, low, high;

  nlohmann::ordered_json json() const { return {{"value", usual}, {"low", low}, {"high", high}}; }
};

template <typename Figure>
Range range_of(const AreaEstimate& estimate, const Figure& figure) {
  return {std::invoke(figure, estimate.usual), std::invoke(figure, estimate.low), std::invoke(figure, estimate.high)};
}

struct CorePart {
  const char* key;
  std::string what;
  Range um2;
};

std::vector<CorePart> core_parts(const AreaEstimate& estimate) {
  using Core = TensorCoreArea;
  const auto part = [&](const char* key, const std::string& what, auto um2) {
    return CorePart{key, what,
                    range_of(estimate, [um2](const GpuArea& area) { return std::invoke(um2, area.tensor_core); })};
  };
  return {part("multipliers", "multipliers (f16)", &Core::multipliers_um2),
          part("adders", "align and add", &Core::adders_um2),
          part("rounding", "rounding", &Core::rounding_um2),
          part("operand_registers", "operand registers", &Core::operand_registers_um2),
          part("selector", fmt::format("selector ({}:{})", estimate.selector_kept, estimate.selector_inputs),
               &Core::selector_um2),
          part("metadata", "metadata", &Core::metadata_um2),
          part("total", "total", &Core::total_um2)};
}

Range overhead_percent(const AreaEstimate& estimate) {
  return range_of(estimate, [](const GpuArea& area) { return 100 * area.tensor_core.sparse_overhead(); });
}

/// Calls `visit` with each part of an energy that `rail` feeds, and how much of it.
template <typename Visit>
void for_each_share(const energy::Rail& rail, const Visit& visit) {
  for (std::size_t i = 0; i < rail.shares.size(); ++i) {
    if (rail.shares[i] > 0) {
      visit(energy::kEnergyPartNames[i], rail.shares[i]);
    }
  }
}

}  // namespace

std::string area_text(const AreaEstimate& estimate) {
  std::string text = fmt::format("{}: one tensor core at {} nm\n\n{:<34} {:>12} {:>22}\n", estimate.arch,
                                 estimate.node_nm, "", "um2", "all numbers low, high");
  const auto line = [&](const std::string& what, const Range& um2, double scale) {
    text += fmt::format("{:<34} {:>12.0f} {:>10.0f} {:>11.0f}\n", what, um2.usual / scale, um2.low / scale,
                        um2.high / scale);
  };
  const std::vector<CorePart> parts = core_parts(estimate);
  for (const CorePart& part : parts) {
    line(part.what, part.um2, 1);
  }
  line("per f16 multiplier", parts.back().um2, static_cast<double>(estimate.multipliers));
  const Range overhead = overhead_percent(estimate);
  text += fmt::format(
      "\nsparsity adds {:.1f} % to the core ({:.1f} with all numbers low, {:.1f} high)\n"
      "all {} cores take {:.1f} mm2 ({:.1f} to {:.1f})\n",
      overhead.usual, overhead.low, overhead.high, estimate.tensor_cores, estimate.usual.tensor_cores_mm2,
      estimate.low.tensor_cores_mm2, estimate.high.tensor_cores_mm2);
  const GpuArea& usual = estimate.usual;
  text += fmt::format("registers and shared memory of one SM: {:.2f} mm2 (arrays only)\n",
                      (usual.register_files_mm2 + usual.shared_memories_mm2) / static_cast<double>(estimate.sms));
  text +=
      "Included: f16 multipliers, aligned addition, rounding, operand, metadata and accumulator\n"
      "registers, selector. Not included: wiring and white space, control, clock, test logic, and\n"
      "the multipliers of other formats (f64, integers) that share the core.\n";
  return text;
}

std::string area_json(const AreaEstimate& estimate) {
  nlohmann::ordered_json core = nlohmann::ordered_json::object();
  for (const CorePart& part : core_parts(estimate)) {
    core[part.key] = part.um2.json();
  }
  const auto mm2 = [&](auto figure) { return range_of(estimate, figure).json(); };
  nlohmann::ordered_json json{{"schema", "sptcsim-area/0.1"},
                              {"version", std::string(program_version())},
                              {"arch", estimate.arch},
                              {"node_nm", estimate.node_nm},
                              {"selector", fmt::format("{}:{}", estimate.selector_kept, estimate.selector_inputs)},
                              {"sms", estimate.sms},
                              {"tensor_cores", estimate.tensor_cores},
                              {"multipliers_per_core", estimate.multipliers},
                              {"core_um2", core},
                              {"sparse_overhead_percent", overhead_percent(estimate).json()},
                              {"gpu_mm2",
                               {{"tensor_cores", mm2(&GpuArea::tensor_cores_mm2)},
                                {"register_files", mm2(&GpuArea::register_files_mm2)},
                                {"shared_memories", mm2(&GpuArea::shared_memories_mm2)},
                                {"l2", mm2(&GpuArea::l2_mm2)},
                                {"total", mm2(&GpuArea::total_mm2)}}}};
  return json.dump(2) + "\n";
}

std::string energy_numbers_text(const config::LoadedEnergy& energy) {
  std::string text = fmt::format("{}: {} nm, energies at {} V with N(0,1) operands\n\n", energy.config.name,
                                 energy.config.node_nm, energy.config.power.table.supply_volts);
  text += fmt::format("{:<44} {:>9} {:>19} {:>5} {:>7} {:<8} {}\n", "parameter", "value", "range", "node", "scale",
                      "evidence", "source");
  for (const config::EnergyParameter& parameter : energy.parameters) {
    const bool has_range = parameter.low < parameter.high;
    text += fmt::format("{:<44} {:>9} {:>19} {:>5} {:>7} {:<8} {}\n", parameter.pointer, parameter.value,
                        has_range ? fmt::format("{:.4g} to {:.4g}", parameter.low, parameter.high) : "",
                        parameter.node_nm > 0 ? std::to_string(parameter.node_nm) : "",
                        parameter.scale != 1 ? fmt::format("{:.4g}", parameter.scale) : "", parameter.evidence,
                        parameter.source);
  }
  for (const auto& rail : energy.config.power.rails) {
    text += fmt::format("\nrail {} ({}: {}):\n ", rail.name, rail.evidence, rail.source);
    for_each_share(rail, [&](std::string_view part, double share) {
      text += share < 1 ? fmt::format(" {:.3g} of {}", share, part) : fmt::format(" {}", part);
    });
    text += "\n";
  }
  return text;
}

std::string energy_numbers_json(const config::LoadedEnergy& energy) {
  nlohmann::ordered_json json{{"schema", "sptcsim-energy-numbers/0.1"},
                              {"version", std::string(program_version())},
                              {"name", energy.config.name},
                              {"node_nm", energy.config.node_nm},
                              {"supply_v", energy.config.power.table.supply_volts},
                              {"parameters", nlohmann::ordered_json::array()}};
  for (const config::EnergyParameter& parameter : energy.parameters) {
    json["parameters"].push_back({{"pointer", parameter.pointer},
                                  {"value", parameter.value},
                                  {"low", parameter.low},
                                  {"high", parameter.high},
                                  {"node_nm", parameter.node_nm},
                                  {"scale", parameter.scale},
                                  {"evidence", parameter.evidence},
                                  {"source", parameter.source}});
  }
  for (const auto& rail : energy.config.power.rails) {
    nlohmann::ordered_json shares = nlohmann::ordered_json::object();
    for_each_share(rail, [&](std::string_view part, double share) { shares[std::string(part)] = share; });
    json["rails"].push_back(
        {{"name", rail.name}, {"shares", shares}, {"evidence", rail.evidence}, {"source", rail.source}});
  }
  return json.dump(2) + "\n";
}

}  // namespace sptc::report
