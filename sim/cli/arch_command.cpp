// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

namespace sptc::sim {
namespace {

int list() {
  std::string text;
  for (const std::string& name : architecture_names()) {
    text += name + "\n";
  }
  write_result({}, text);
  return 0;
}

int show(const std::string& name) {
  const Architecture architecture = load_architecture(name);
  std::string text = fmt::format("{}: {} SMs, boost clock {} MHz, numerics {}\n\n",
                                 architecture.gpu.name, architecture.gpu.sms,
                                 architecture.gpu.boost_clock_mhz, architecture.gpu.numerics);
  text += fmt::format("{:<52} {:>10} {:<12} {:<8} {}\n", "parameter", "value", "unit", "evidence",
                      "source");
  for (const Parameter& parameter : architecture.parameters) {
    text += fmt::format("{:<52} {:>10} {:<12} {:<8} {}\n", parameter.pointer, parameter.value,
                        parameter.unit, parameter.evidence, parameter.source);
  }
  write_result({}, text);
  return 0;
}

int validate(const std::string& file) {
  const Architecture architecture = load_architecture(file);
  std::map<std::string, int> by_evidence;
  for (const Parameter& parameter : architecture.parameters) {
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

/// A subcommand of `arch` that takes one name or file.
void add_with_name(CLI::App& arch, const char* name, const char* description,
                   int (*action)(const std::string&), Command& chosen) {
  auto argument = std::make_shared<std::string>();
  CLI::App* command = arch.add_subcommand(name, description);
  command->add_option("NAME", *argument, "a name of 'arch list', or a file")
      ->type_name("NAME|FILE")
      ->required();
  command->callback(
      [argument, action, &chosen] { chosen = [argument, action] { return action(*argument); }; });
}

}  // namespace

void add_arch_command(CLI::App& app, Command& chosen) {
  CLI::App* arch = app.add_subcommand("arch", "architectures and the evidence of their numbers");
  arch->add_subcommand("list", "names of the known architectures")->callback([&chosen] {
    chosen = list;
  });
  add_with_name(*arch, "show", "every number with its evidence and source", show, chosen);
  add_with_name(*arch, "validate", "read an architecture file and report every problem", validate,
                chosen);
}

}  // namespace sptc::sim
