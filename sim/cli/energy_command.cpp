// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/config/named_file.h"
#include "sim/io/text_file.h"
#include "sim/run/design_cost.h"
#include "sim/run/option_values.h"
#include "sim/run/run_options.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <memory>
#include <string>
#include <string_view>

namespace sptc::cli {
namespace {

constexpr std::int64_t kMaxExtent = 1 << 20;

int list() {
  std::string text;
  for (const std::string& name : config::energy_names()) {
    text += name + "\n";
  }
  for (const std::string& name : config::stc_design_names()) {
    text += name + " (for 'energy design')\n";
  }
  write_result({}, text);
  return 0;
}

/// The energy file of a GPU, or of the one that it is derived from.
std::string energies_of(const config::Architecture& architecture) {
  run::EnergyFiles files;
  const std::string source = run::energy_source({}, architecture, files).name;
  return source.empty() ? architecture.gpu.name : source;
}

/// Whether `name` is the file of a derived architecture and none of energies.
bool is_derived_architecture(const std::string& name) {
  if (!name.ends_with(".json")) {
    return false;
  }
  return config::read_named_file(name, name).contains("base");
}

int show(const std::string& name) {
  const config::LoadedEnergy energy = config::load_energy(
      is_derived_architecture(name) ? energies_of(config::load_architecture(name)) : name);
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
  write_result({}, text);
  return 0;
}

int area(const std::string& name) {
  using Area = energy::TensorCoreArea;
  const config::Architecture architecture = config::load_architecture(name);
  const gpu::GpuSpec& gpu = architecture.gpu;
  const config::LoadedEnergy loaded = config::load_energy(energies_of(architecture));
  const config::EnergyConfig& energy = loaded.config;
  const tensor_core::TensorCoreSpec& core = gpu.sm.tensor_core;
  const run::GpuArea whole = run::gpu_area(gpu, energy.area);
  const Area& sum = whole.tensor_core;
  const Area low = run::gpu_area(gpu, loaded.area_at(&config::EnergyParameter::low)).tensor_core;
  const Area high = run::gpu_area(gpu, loaded.area_at(&config::EnergyParameter::high)).tensor_core;
  const double cores = double{1} * gpu.sms * gpu.sm.sub_partitions;
  const energy::TensorCoreShape shape = config::tensor_core_shape(core);
  const double multipliers = double{1} * shape.dot_units * shape.products_per_unit;

  std::string text = fmt::format("{}: one tensor core at {} nm\n\n{:<34} {:>12} {:>22}\n", gpu.name,
                                 energy.node_nm, "", "um2", "all numbers low, high");
  const auto line = [&](const char* what, const auto& um2) {
    text +=
        fmt::format("{:<34} {:>12.0f} {:>10.0f} {:>11.0f}\n", what, um2(sum), um2(low), um2(high));
  };
  line("multipliers (f16)", [](const Area& core_area) { return core_area.multipliers_um2; });
  line("align and add", [](const Area& core_area) { return core_area.adders_um2; });
  line("rounding", [](const Area& core_area) { return core_area.rounding_um2; });
  line("operand registers", [](const Area& core_area) { return core_area.operand_registers_um2; });
  line(fmt::format("selector ({}:{})", core.selector_kept, core.selector_inputs).c_str(),
       [](const Area& core_area) { return core_area.selector_um2; });
  line("metadata", [](const Area& core_area) { return core_area.metadata_um2; });
  line("total", [](const Area& core_area) { return core_area.total_um2(); });
  line("per f16 multiplier",
       [&](const Area& core_area) { return core_area.total_um2() / multipliers; });
  text += fmt::format(
      "\nsparsity adds {:.1f} % to the core ({:.1f} with all numbers low, {:.1f} high)\n"
      "all {:.0f} cores take {:.1f} mm2 ({:.1f} to {:.1f})\n",
      100 * sum.sparse_overhead(), 100 * low.sparse_overhead(), 100 * high.sparse_overhead(), cores,
      whole.tensor_cores_mm2, cores * low.total_um2() * 1e-6, cores * high.total_um2() * 1e-6);
  text += fmt::format("registers and shared memory of one SM: {:.2f} mm2 (arrays only)\n",
                      (4.0 * gpu.sm.registers + static_cast<double>(gpu.sm.shared_memory.count())) *
                          energy.area.sram_um2_per_byte * 1e-6);
  text +=
      "Included: f16 multipliers, aligned addition, rounding, operand, metadata and accumulator\n"
      "registers, selector. Not included: wiring and white space, control, clock, test logic, and\n"
      "the multipliers of other formats (f64, integers) that share the core.\n";
  write_result({}, text);
  return 0;
}

struct DesignArguments {
  std::string m, n, k;
  std::string design = "sparseloop-stc";
  std::string pattern = "2:4";
};

/// "N:M".
sparsity::Pattern parse_pattern(const std::string& text) {
  sparsity::Pattern pattern;
  const char* const end = text.data() + text.size();
  const auto kept = std::from_chars(text.data(), end, pattern.kept);
  if (kept.ec == std::errc() && kept.ptr != end && *kept.ptr == ':') {
    const auto group = std::from_chars(kept.ptr + 1, end, pattern.group);
    if (group.ec == std::errc() && group.ptr == end) {
      return pattern;
    }
  }
  throw base::InputError(
      fmt::format("--pattern must be N:M, for example 2:4, not '{}'", io::printable(text)));
}

std::string design_text(const DesignArguments& arguments, const base::GemmShape& shape,
                        const energy::StcResult& result) {
  const energy::StcAccesses& accesses = result.accesses;
  const energy::StcEnergy& energy = result.energy;
  const auto macs = static_cast<double>(shape.macs());
  std::string text =
      fmt::format("{}, weights {}: {} x {} x {} (padded {} x {} x {})\n\n",
                  io::printable(arguments.design), io::printable(arguments.pattern), shape.m,
                  shape.n, shape.k, result.padded.m, result.padded.n, result.padded.k);
  const char* bound = result.cycles == result.compute_cycles         ? "compute"
                      : result.cycles == result.shared_memory_cycles ? "shared memory"
                                                                     : "DRAM";
  text +=
      fmt::format("cycles {} (bound by {}; compute {}, shared memory {}, DRAM {})\n", result.cycles,
                  bound, result.compute_cycles, result.shared_memory_cycles, result.dram_cycles);
  text += fmt::format("utilization {:.3f}, multiply-accumulates {}, executed {}\n\n",
                      result.utilization, shape.macs(), result.macs);
  text += fmt::format("{:<18} {:>14} {:>12} {:>22}\n", "level", "accesses", "energy uJ",
                      "pJ per effective MAC");
  const auto row = [&](const char* level, std::int64_t count, double pj) {
    text += fmt::format("{:<18} {:>14} {:>12.3f} {:>22.4f}\n", level, count, pj * 1e-6, pj / macs);
  };
  row("multiply", result.macs, energy.multiply_pj);
  row("weight registers", accesses.weight_registers, energy.weight_registers_pj);
  row("register file", accesses.registers, energy.registers_pj);
  row("shared memory", accesses.shared_memory, energy.shared_memory_pj);
  row("DRAM", accesses.dram, energy.dram_pj);
  text += fmt::format("{:<18} {:>14} {:>12.3f} {:>22.4f}\n", "total", "", energy.total_pj() * 1e-6,
                      energy.total_pj() / macs);
  text += fmt::format("metadata indices: {} read from shared memory, {} from DRAM\n",
                      accesses.shared_memory_metadata_reads, accesses.dram_metadata);
  return text;
}

int design(const DesignArguments& arguments) {
  const base::GemmShape shape{run::parse_positive("M", arguments.m, kMaxExtent),
                              run::parse_positive("N", arguments.n, kMaxExtent),
                              run::parse_positive("K", arguments.k, kMaxExtent)};
  const energy::StcResult result =
      evaluate(config::load_stc_design(arguments.design), shape, parse_pattern(arguments.pattern));
  write_result({}, design_text(arguments, shape, result));
  return 0;
}

void add_with_name(CLI::App& energy, const char* name, const char* description, const char* what,
                   int (*action)(const std::string&), Command& chosen) {
  auto argument = std::make_shared<std::string>();
  CLI::App* command = energy.add_subcommand(name, description);
  command->add_option("NAME", *argument, what)->type_name("NAME|FILE")->required();
  command->callback(
      [argument, action, &chosen] { chosen = [argument, action] { return action(*argument); }; });
}

}  // namespace

void add_energy_command(CLI::App& app, Command& chosen) {
  CLI::App* energy =
      app.add_subcommand("energy", "energies, power and area, and the evidence of their numbers");
  energy->add_subcommand("list", "names of the known energy files and designs")
      ->callback([&chosen] { chosen = list; });
  add_with_name(*energy, "show", "every number with its range, evidence and source",
                "a name of 'energy list', a file, or the file of a derived architecture", show,
                chosen);
  add_with_name(
      *energy, "area", "coarse silicon area of a tensor core",
      "an architecture of 'arch list', or a file derived from one, that has an energy file", area,
      chosen);
  auto arguments = std::make_shared<DesignArguments>();
  CLI::App* command = energy->add_subcommand(
      "design", "cycles, accesses and energy of a GEMM on a design of Sparseloop's kind");
  command->add_option("M", arguments->m, "rows of A and D")->type_name("INT")->required();
  command->add_option("N", arguments->n, "columns of B and D")->type_name("INT")->required();
  command->add_option("K", arguments->k, "columns of A, rows of B")->type_name("INT")->required();
  command->add_option("--design", arguments->design, "sparseloop-stc, sparseloop-tc, or a file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  command->add_option("--pattern", arguments->pattern, "kept:group of A; 1:1 is dense")
      ->type_name("N:M")
      ->capture_default_str();
  command->callback([arguments, &chosen] { chosen = [arguments] { return design(*arguments); }; });
}

}  // namespace sptc::cli
