// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/config/architecture_fields.h"
#include "sim/config/derivation.h"
#include "sim/config/documented_architecture.h"
#include "sim/config/energy.h"
#include "sim/io/json_reader.h"
#include "sim/report/version.h"
#include "sim/run/design_cost.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::cli {
namespace {

/// What `arch list` says of a board.
struct BoardRow {
  std::string name;
  int sms = 0;
  double boost_clock_mhz = 0;
  double f16_tflops = 0, s8_tops = 0;  ///< dense, at the boost clock
  double dram_gb_per_s = 0;
  std::optional<double> power_limit_w;  ///< of the board's energy file
};

std::vector<BoardRow> board_rows() {
  const std::vector<std::string> with_energies = config::energy_names();
  std::vector<BoardRow> rows;
  for (const std::string& name : config::architecture_names()) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    BoardRow row{name,
                 gpu.sms,
                 gpu.boost_clock_mhz,
                 run::peak_tflops(gpu, numerics::DataType::kF16),
                 run::peak_tflops(gpu, numerics::DataType::kS8),
                 gpu.memory.dram_gb_per_s,
                 {}};
    if (std::find(with_energies.begin(), with_energies.end(), name) != with_energies.end()) {
      row.power_limit_w = config::load_energy(name).config.power.power_limit_w;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string boards_text() {
  constexpr const char* kRow = "{:<28} {:>4} {:>6} {:>9} {:>9} {:>6} {:>6} {:>8}\n";
  std::string text = fmt::format(kRow, "board", "SMs", "MHz", "f16", "s8", "GB/s", "W", "energies");
  const auto whole = [](double value) { return fmt::format("{:.0f}", value); };
  for (const BoardRow& row : board_rows()) {
    text += fmt::format(kRow, row.name, row.sms, whole(row.boost_clock_mhz), whole(row.f16_tflops),
                        whole(row.s8_tops), whole(row.dram_gb_per_s),
                        row.power_limit_w ? whole(*row.power_limit_w) : "-",
                        row.power_limit_w ? "yes" : "no");
  }
  return text +
         "f16, s8: dense TFLOP/s and TOP/s at the boost clock; GB/s: of DRAM; W: power limit.\n";
}

std::string boards_json() {
  nlohmann::ordered_json json{{"schema", "sptcsim-architecture-list/0.1"},
                              {"version", std::string(report::program_version())},
                              {"architectures", nlohmann::ordered_json::array()}};
  for (const BoardRow& row : board_rows()) {
    json["architectures"].push_back(
        {{"name", row.name},
         {"sms", row.sms},
         {"boost_clock_mhz", row.boost_clock_mhz},
         {"f16_tflops", row.f16_tflops},
         {"s8_tops", row.s8_tops},
         {"dram_gb_per_s", row.dram_gb_per_s},
         {"power_limit_w",
          row.power_limit_w ? nlohmann::ordered_json(*row.power_limit_w) : nullptr}});
  }
  return json.dump(2) + "\n";
}

int list(bool only_names, std::string_view format) {
  require_format(format, {"text", "json"});
  write_result({}, only_names ? fmt::format("{}\n", fmt::join(config::architecture_names(), "\n"))
                   : format == "json" ? boards_json()
                                      : boards_text());
  return 0;
}

/// What the number at `pointer` says, in a line; "" for one that no table has.
std::string meaning_of(const std::string& pointer) {
  const config::ArchitectureField* const field = config::find_architecture_field(pointer);
  return field == nullptr ? "" : std::string(field->meaning);
}

/// All numbers with their evidence, also those that the file leaves out, and the two words beside
/// them: enough to write the file anew.
std::string json_of(const config::Architecture& architecture, const std::string& library) {
  nlohmann::ordered_json json{{"schema", "sptcsim-architecture/0.1"},
                              {"version", std::string(report::program_version())},
                              {"name", architecture.gpu.name},
                              {"bases", architecture.bases},
                              {"numerics", architecture.gpu.numerics},
                              {"library", library},
                              {"parameters", nlohmann::ordered_json::array()}};
  for (const config::Parameter& parameter : architecture.parameters) {
    json["parameters"].push_back({{"pointer", parameter.pointer},
                                  {"value", io::number_as_json(parameter.value)},
                                  {"unit", parameter.unit},
                                  {"meaning", meaning_of(parameter.pointer)},
                                  {"evidence", parameter.evidence},
                                  {"source", parameter.source}});
  }
  return json.dump(2) + "\n";
}

std::string text_of(const config::Architecture& architecture) {
  std::string text = fmt::format("{}: {} SMs, boost clock {} MHz, numerics {}\n\n",
                                 architecture.gpu.name, architecture.gpu.sms,
                                 architecture.gpu.boost_clock_mhz, architecture.gpu.numerics);
  text += fmt::format("{:<52} {:>10} {:<12} {:<8} {}\n", "parameter", "value", "unit", "evidence",
                      "meaning, and source");
  for (const config::Parameter& parameter : architecture.parameters) {
    text += fmt::format("{:<52} {:>10} {:<12} {:<8} {}\n    {}\n", parameter.pointer,
                        parameter.value, parameter.unit, parameter.evidence,
                        meaning_of(parameter.pointer), parameter.source);
  }
  return text;
}

int show(const std::string& name, std::string_view format) {
  require_format(format, {"text", "json"});
  const auto [architecture, document] = config::load_documented_architecture(name);
  write_result({}, format == "json" ? json_of(architecture,
                                              config::parameter_value(document, "/kernels/library"))
                                    : text_of(architecture));
  return 0;
}

int validate(const std::string& file) {
  const config::Architecture architecture = config::load_architecture(file);
  std::map<std::string, int> by_evidence;
  for (const config::Parameter& parameter : architecture.parameters) {
    ++by_evidence[parameter.evidence];
  }
  std::string counts;
  for (const auto& [evidence, count] : by_evidence) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, evidence);
  }
  write_result({}, fmt::format("{}: valid, {} parameters ({})\n", file,
                               architecture.parameters.size(), counts));
  return 0;
}

}  // namespace

void add_arch_command(CLI::App& app, Command& chosen) {
  struct Arguments {
    bool only_names = false;
    std::string name;
    std::string format = "text";
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* arch = app.add_subcommand("arch", "architectures and the evidence of their numbers");
  const auto add = [&](const char* name, const char* description, auto action) {
    CLI::App* command = arch->add_subcommand(name, description);
    command->callback([arguments, action, &chosen] {
      chosen = [arguments, action] { return action(*arguments); };
    });
    return command;
  };
  const WordOption name{"NAME", arguments->name, "NAME|FILE", "a name of 'arch list', or a file",
                        true};
  CLI::App* command =
      add("list", "the known architectures: SMs, peak, bandwidth, power limit, energies",
          [](const Arguments& given) { return list(given.only_names, given.format); });
  CLI::Option* names = command->add_flag("--names", arguments->only_names, "names alone");
  declare(*command, {{"--format", arguments->format, "text|json", "of the list"}});
  command->get_option("--format")->excludes(names);
  command =
      add("show", "every number with its evidence and source, also those that a file leaves out",
          [](const Arguments& given) { return show(given.name, given.format); });
  declare(*command, {name, {"--format", arguments->format, "text|json", "of the numbers"}});
  command = add("validate", "read an architecture file and report every problem",
                [](const Arguments& given) { return validate(given.name); });
  declare(*command, {name});
}

}  // namespace sptc::cli
