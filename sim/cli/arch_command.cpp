// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/config/derivation.h"
#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace sptc::cli {
namespace {

int list() {
  std::string text;
  for (const std::string& name : config::architecture_names()) {
    text += name + "\n";
  }
  write_result({}, text);
  return 0;
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
    const auto whole = static_cast<std::int64_t>(parameter.value);
    const bool is_whole = static_cast<double>(whole) == parameter.value;
    json["parameters"].push_back({{"pointer", parameter.pointer},
                                  {"value", is_whole ? nlohmann::ordered_json(whole)
                                                     : nlohmann::ordered_json(parameter.value)},
                                  {"unit", parameter.unit},
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
                      "source");
  for (const config::Parameter& parameter : architecture.parameters) {
    text += fmt::format("{:<52} {:>10} {:<12} {:<8} {}\n", parameter.pointer, parameter.value,
                        parameter.unit, parameter.evidence, parameter.source);
  }
  return text;
}

int show(const std::string& name, std::string_view format) {
  constexpr std::array<std::string_view, 2> kFormats{"text", "json"};
  if (std::find(kFormats.begin(), kFormats.end(), format) == kFormats.end()) {
    throw base::InputError("unknown --format " + base::unknown_name(format, kFormats));
  }
  const config::Architecture architecture = config::load_architecture(name);
  if (format == "json") {
    const nlohmann::json document = config::load_architecture_document(name);
    write_result({}, json_of(architecture, config::parameter_value(document, "/kernels/library")));
  } else {
    write_result({}, text_of(architecture));
  }
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

CLI::App* add_with_name(CLI::App& arch, const char* name, const char* description,
                        std::string& argument) {
  CLI::App* command = arch.add_subcommand(name, description);
  command->add_option("NAME", argument, "a name of 'arch list', or a file")
      ->type_name("NAME|FILE")
      ->required();
  return command;
}

}  // namespace

void add_arch_command(CLI::App& app, Command& chosen) {
  CLI::App* arch = app.add_subcommand("arch", "architectures and the evidence of their numbers");
  arch->add_subcommand("list", "names of the known architectures")->callback([&chosen] {
    chosen = list;
  });
  struct Arguments {
    std::string name;
    std::string format = "text";
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_with_name(
      *arch, "show", "every number with its evidence and source, also those that a file leaves out",
      arguments->name);
  command->add_option("--format", arguments->format, "of the numbers")
      ->type_name("text|json")
      ->capture_default_str();
  command->callback([arguments, &chosen] {
    chosen = [arguments] { return show(arguments->name, arguments->format); };
  });
  add_with_name(*arch, "validate", "read an architecture file and report every problem",
                arguments->name)
      ->callback(
          [arguments, &chosen] { chosen = [arguments] { return validate(arguments->name); }; });
}

}  // namespace sptc::cli
