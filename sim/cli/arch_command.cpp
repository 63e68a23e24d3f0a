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
#include <optional>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  bool only_names = false;
  std::string name;
  std::string format = "text";
};

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

/// Null where the chip is not known.
Json chip_of(const config::Architecture& architecture) {
  const std::string chip = config::chip_of_board(architecture);
  return chip.empty() ? Json() : Json(chip);
}

/// What `arch list` says of a board; rates are at the boost clock, dram_gb is of 2^30 bytes.
Json board_row(const std::string& name, const std::vector<std::string>& with_energies) {
  constexpr double kBytesPerGb = 1 << 30;
  const config::Architecture architecture = config::load_architecture(name);
  const gpu::GpuSpec& gpu = architecture.gpu;
  const std::optional<run::Peak> f16 = run::peak_of(gpu, {numerics::DataType::kF16});
  const std::optional<run::Peak> s8 = run::peak_of(gpu, {numerics::DataType::kS8});
  const auto bytes = static_cast<double>(gpu.memory.dram_capacity.count());
  const bool has_energies = std::ranges::find(with_energies, name) != with_energies.end();
  return {{"name", name},
          {"chip", chip_of(architecture)},
          {"generation", gpu.instruction_set},
          {"sms", gpu.sms},
          {"boost_clock_mhz", gpu.boost_clock_mhz},
          {"f16_tflops", f16 ? Json(f16->dense_tflops) : Json()},
          {"f16_sparse_tflops", f16 ? or_null(f16->sparse_tflops) : Json()},
          {"s8_tops", s8 ? Json(s8->dense_tflops) : Json()},
          {"dram_gb_per_s", gpu.memory.dram_gb_per_s},
          {"dram_gb", bytes > 0 ? Json(bytes / kBytesPerGb) : Json()},
          {"power_limit_w", has_energies ? Json(config::load_energy(name).config.power.power_limit_w) : Json()}};
}

Json board_rows() {
  const std::vector<std::string> with_energies = config::energy_names();
  Json rows = Json::array();
  for (const std::string& name : config::architecture_names()) {
    rows.push_back(board_row(name, with_energies));
  }
  return rows;
}

std::string boards_text() {
  constexpr const char* kRow = "{:<28} {:<13} {:>4} {:>7} {:>7} {:>7} {:>6} {:>5} {:>6}\n";
  std::string text = fmt::format(kRow, "board", "chip", "SMs", "f16", "2:4", "8-bit", "GB/s", "GB", "W");
  const auto cell = [](const Json& rate) { return rate.is_null() ? "-" : report::rate_text(rate.get<double>()); };
  const auto whole = [](const Json& value) {
    return value.is_null() ? "-" : fmt::format("{:.0f}", value.get<double>());
  };
  for (const Json& row : board_rows()) {
    text += fmt::format(kRow, row["name"].get<std::string>(),
                        row[row["chip"].is_null() ? "generation" : "chip"].get<std::string>(), row["sms"].get<int>(),
                        cell(row["f16_tflops"]), cell(row["f16_sparse_tflops"]), cell(row["s8_tops"]),
                        whole(row["dram_gb_per_s"]), whole(row["dram_gb"]), whole(row["power_limit_w"]));
  }
  return text +
         "At the boost clock. f16, 2:4: TFLOP/s with f32 sums, dense and sparse; 8-bit: TOP/s of s8, dense.\n"
         "A data sheet prints 2:4 first. GB/s, GB: of DRAM; W: power limit. 'arch show NAME': all types.\n";
}

std::string boards_json() {
  const Json json{{"schema", "sptcsim-architecture-list/0.1"},
                  {"version", std::string(report::program_version())},
                  {"architectures", board_rows()}};
  return json.dump(2) + "\n";
}

int list(const Arguments& arguments) {
  const bool json = is_json(arguments.format);
  write_result({}, arguments.only_names ? fmt::format("{}\n", fmt::join(config::architecture_names(), "\n"))
                   : json               ? boards_json()
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
  const run::BoardPeaks board = run::board_peaks(architecture);
  Json json{{"schema", "sptcsim-architecture/0.1"},
            {"version", std::string(report::program_version())},
            {"name", architecture.gpu.name},
            {"chip", chip_of(architecture)},
            {"bases", architecture.bases},
            {"numerics", architecture.gpu.numerics},
            {"library", library},
            {"power_limit_w", or_null(board.power_limit_w)},
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

int show(const Arguments& arguments) {
  const bool json = is_json(arguments.format);
  const auto [architecture, document] = config::load_documented_architecture(arguments.name);
  write_result(
      {}, json ? json_of(architecture, config::parameter_value(document, "/kernels/library")) : text_of(architecture));
  return 0;
}

int validate(const Arguments& arguments) {
  const config::Architecture architecture = config::load_architecture(arguments.name);
  std::map<std::string, int> by_evidence;
  for (const config::Parameter& parameter : architecture.parameters) {
    ++by_evidence[parameter.evidence];
  }
  std::string counts;
  for (const auto& [evidence, count] : by_evidence) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, evidence);
  }
  write_result({},
               fmt::format("{}: valid, {} parameters ({})\n", arguments.name, architecture.parameters.size(), counts));
  return 0;
}

}  // namespace

void add_arch_command(CLI::App& app, Command& chosen) {
  CLI::App& arch = *app.add_subcommand("arch", "architectures and the evidence of their numbers");
  const auto name_of = [](Arguments& arguments) {
    return WordOption{"NAME", arguments.name, "NAME|FILE", "a name of 'arch list', or a file", true};
  };
  auto [list_command, listed] = add_command(
      arch, chosen, "list", "the known architectures: chip, SMs, dense and 2:4 peaks, DRAM, power limit", list);
  CLI::Option* names = list_command.add_flag("--names", listed.only_names, "names alone");
  declare(list_command, {{"--format", listed.format, "text|json", "format of the list"}});
  list_command.get_option("--format")->excludes(names);
  auto [show_command, shown] =
      add_command(arch, chosen, "show",
                  "the peaks of every type, dense and 2:4, at boost and at the power limit; then every number with its "
                  "evidence and source, also those that a file leaves out",
                  show);
  declare(show_command, {name_of(shown), {"--format", shown.format, "text|json", "format of the numbers"}});
  auto [validate_command, validated] =
      add_command(arch, chosen, "validate", "read an architecture file and report every problem", validate);
  declare(validate_command, {name_of(validated)});
}

}  // namespace sptc::cli
