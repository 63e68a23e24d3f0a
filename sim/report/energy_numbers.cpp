// SPDX-License-Identifier: Apache-2.0
#include "sim/report/energy_numbers.h"

#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sptc::report {

std::string energy_numbers_text(const config::LoadedEnergy& energy) {
  std::string text =
      fmt::format("{}: {} nm, energies at {} V with N(0,1) operands\n\n", energy.config.name,
                  energy.config.node_nm, energy.config.power.table.supply_volts);
  text += fmt::format("{:<44} {:>9} {:>19} {:>5} {:>7} {:<8} {}\n", "parameter", "value", "range",
                      "node", "scale", "evidence", "source");
  for (const config::EnergyParameter& parameter : energy.parameters) {
    const bool has_range = parameter.low < parameter.high;
    text += fmt::format(
        "{:<44} {:>9} {:>19} {:>5} {:>7} {:<8} {}\n", parameter.pointer, parameter.value,
        has_range ? fmt::format("{:.4g} to {:.4g}", parameter.low, parameter.high) : "",
        parameter.node_nm > 0 ? std::to_string(parameter.node_nm) : "",
        parameter.scale != 1 ? fmt::format("{:.4g}", parameter.scale) : "", parameter.evidence,
        parameter.source);
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
  return json.dump(2) + "\n";
}

}  // namespace sptc::report
