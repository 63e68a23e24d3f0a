// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/config/architecture_fields.h"
#include "sim/config/board_names.h"
#include "sim/config/derivation.h"
#include "sim/config/documented_architecture.h"
#include "sim/config/energy.h"
#include "sim/io/json_reader.h"
#include "sim/report/peak_table.h"
#include "sim/report/version.h"
#include "sim/run/peaks.h"

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

/// What `arch list` says of a board; rates are at the boost clock.
struct BoardRow {
  std::string name, chip, generation;  ///< chip: empty where it is not known
  int sms = 0;
  double boost_clock_mhz = 0;
  std::optional<run::Peak> f16, s8;  ///< nothing: no such instruction
  double dram_gb_per_s = 0;
  std::optional<double> dram_gb;        ///< of 2^30 bytes
  std::optional<double> power_limit_w;  ///< of the board's energy file

  std::optional<double> f16_sparse_tflops() const { return f16 ? f16->sparse_tflops : std::nullopt; }
  std::optional<double> s8_tops() const { return s8 ? std::optional(s8->dense_tflops) : std::nullopt; }
};

std::vector<BoardRow> board_rows() {
  constexpr double kBytesPerGb = 1 << 30;
  const std::vector<std::string> with_energies = config::energy_names();
  std::vector<BoardRow> rows;
  for (const std::string& name : config::architecture_names()) {
    const config::Architecture architecture = config::load_architecture(name);
    const gpu::GpuSpec& gpu = architecture.gpu;
    BoardRow row;
    row.name = name;
    row.chip = config::chip_of_board(architecture);
    row.generation = gpu.instruction_set;
    row.sms = gpu.sms;
    row.boost_clock_mhz = gpu.boost_clock_mhz;
    row.f16 = run::peak_of(gpu, {numerics::DataType::kF16});
    row.s8 = run::peak_of(gpu, {numerics::DataType::kS8});
    row.dram_gb_per_s = gpu.memory.dram_gb_per_s;
    if (const auto bytes = static_cast<double>(gpu.memory.dram_capacity.count()); bytes > 0) {
      row.dram_gb = bytes / kBytesPerGb;
    }
    if (std::find(with_energies.begin(), with_energies.end(), name) != with_energies.end()) {
      row.power_limit_w = config::load_energy(name).config.power.power_limit_w;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string boards_text() {
  constexpr const char* kRow = "{:<28} {:<13} {:>4} {:>7} {:>7} {:>7} {:>6} {:>5} {:>6}\n";
  std::string text = fmt::format(kRow, "board", "chip", "SMs", "f16", "2:4", "8-bit", "GB/s", "GB", "W");
  const auto cell = [](const std::optional<double>& rate) {
    return rate ? report::rate_text(*rate) : std::string("-");
  };
  const auto whole = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.0f}", *value) : std::string("-");
  };
  for (const BoardRow& row : board_rows()) {
    text +=
        fmt::format(kRow, row.name, row.chip.empty() ? row.generation : row.chip, row.sms,
                    cell(row.f16 ? std::optional(row.f16->dense_tflops) : std::nullopt), cell(row.f16_sparse_tflops()),
                    cell(row.s8_tops()), whole(row.dram_gb_per_s), whole(row.dram_gb), whole(row.power_limit_w));
  }
  return text +
         "At the boost clock. f16, 2:4: TFLOP/s with f32 sums, dense and sparse; 8-bit: TOP/s of "
         "s8, dense.\n"
         "A data sheet prints 2:4 first. GB/s, GB: of DRAM; W: power limit. 'arch show NAME': all "
         "types.\n";
}

std::string boards_json() {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  Json json{{"schema", "sptcsim-architecture-list/0.1"},
            {"version", std::string(report::program_version())},
            {"architectures", Json::array()}};
  for (const BoardRow& row : board_rows()) {
    json["architectures"].push_back({{"name", row.name},
                                     {"chip", row.chip.empty() ? Json() : Json(row.chip)},
                                     {"generation", row.generation},
                                     {"sms", row.sms},
                                     {"boost_clock_mhz", row.boost_clock_mhz},
                                     {"f16_tflops", row.f16 ? Json(row.f16->dense_tflops) : Json()},
                                     {"f16_sparse_tflops", or_null(row.f16_sparse_tflops())},
                                     {"s8_tops", or_null(row.s8_tops())},
                                     {"dram_gb_per_s", row.dram_gb_per_s},
                                     {"dram_gb", or_null(row.dram_gb)},
                                     {"power_limit_w", or_null(row.power_limit_w)}});
  }
  return json.dump(2) + "\n";
}

int list(bool only_names, std::string_view format) {
  require_format(format, {"text", "json"});
  write_result({}, only_names         ? fmt::format("{}\n", fmt::join(config::architecture_names(), "\n"))
                   : format == "json" ? boards_json()
                                      : boards_text());
  return 0;
}

/// What the number at `pointer` says, in a line; "" for one that no table has.
std::string meaning_of(const std::string& pointer) {
  const config::ArchitectureField* const field = config::find_architecture_field(pointer);
  return field == nullptr ? "" : std::string(field->meaning);
}

/// The peaks, then all numbers with their evidence, also those that the file leaves out, and the
/// two words beside them: enough to write the file anew.
std::string json_of(const config::Architecture& architecture, const std::string& library) {
  using Json = nlohmann::ordered_json;
  const run::BoardPeaks board = run::board_peaks(architecture);
  const std::string chip = config::chip_of_board(architecture);
  Json json{{"schema", "sptcsim-architecture/0.1"},
            {"version", std::string(report::program_version())},
            {"name", architecture.gpu.name},
            {"chip", chip.empty() ? Json() : Json(chip)},
            {"bases", architecture.bases},
            {"numerics", architecture.gpu.numerics},
            {"library", library},
            {"power_limit_w", board.power_limit_w ? Json(*board.power_limit_w) : Json()},
            {"peaks", report::peaks_json(board)},
            {"parameters", Json::array()}};
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
  const std::string chip = config::chip_of_board(architecture);
  std::string text = fmt::format("{}: {} SMs, boost clock {} MHz, numerics {}, chip {}\n\n", architecture.gpu.name,
                                 architecture.gpu.sms, architecture.gpu.boost_clock_mhz, architecture.gpu.numerics,
                                 chip.empty() ? "not known" : chip);
  text += report::peaks_text(run::board_peaks(architecture)) + "\n";
  text +=
      fmt::format("{:<52} {:>10} {:<12} {:<8} {}\n", "parameter", "value", "unit", "evidence", "meaning, and source");
  for (const config::Parameter& parameter : architecture.parameters) {
    text += fmt::format("{:<52} {:>10} {:<12} {:<8} {}\n    {}\n", parameter.pointer, parameter.value, parameter.unit,
                        parameter.evidence, meaning_of(parameter.pointer), parameter.source);
  }
  return text;
}

int show(const std::string& name, std::string_view format) {
  require_format(format, {"text", "json"});
  const auto [architecture, document] = config::load_documented_architecture(name);
  write_result({}, format == "json" ? json_of(architecture, config::parameter_value(document, "/kernels/library"))
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
  write_result({}, fmt::format("{}: valid, {} parameters ({})\n", file, architecture.parameters.size(), counts));
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
    command->callback([arguments, action, &chosen] { chosen = [arguments, action] { return action(*arguments); }; });
    return command;
  };
  const WordOption name{"NAME", arguments->name, "NAME|FILE", "a name of 'arch list', or a file", true};
  CLI::App* command = add("list", "the known architectures: chip, SMs, dense and 2:4 peaks, DRAM, power limit",
                          [](const Arguments& given) { return list(given.only_names, given.format); });
  CLI::Option* names = command->add_flag("--names", arguments->only_names, "names alone");
  declare(*command, {{"--format", arguments->format, "text|json", "format of the list"}});
  command->get_option("--format")->excludes(names);
  command = add("show",
                "the peaks of every type, dense and 2:4, at boost and at the power limit; then every "
                "number with its evidence and source, also those that a file leaves out",
                [](const Arguments& given) { return show(given.name, given.format); });
  declare(*command, {name, {"--format", arguments->format, "text|json", "format of the numbers"}});
  command = add("validate", "read an architecture file and report every problem",
                [](const Arguments& given) { return validate(given.name); });
  declare(*command, {name});
}

}  // namespace sptc::cli
