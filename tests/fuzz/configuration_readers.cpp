// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/config/architecture.h"
#include "sim/config/board_names.h"
#include "sim/config/energy.h"
#include "sim/config/kernel_library.h"
#include "sim/prune/plan/command.h"
#include "sim/run/microbench/microbench_case.h"
#include "sim/run/network/engine.h"
#include "sim/run/option_table.h"
#include "sim/run/option_values.h"
#include "sim/workload/dim_lists.h"
#include "tests/fuzz/readers.h"

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace sptc::fuzz {
namespace {

void read_architecture(const std::string& bytes) {
  config::parse_architecture(bytes, "f.json");
}

void read_energy(const std::string& bytes) {
  const config::LoadedEnergy loaded = config::parse_energy(bytes, "f.json");
  loaded.area_at(&config::EnergyParameter::high);
}

void read_kernel_library(const std::string& bytes) {
  config::parse_kernel_library(bytes, "f.json");
}

void read_engine(const std::string& bytes) {
  run::network::parse_engine(bytes, "f.json");
}

/// The first line names an option, the rest is its value.
void read_option(const std::string& bytes) {
  static const std::map<std::string, std::function<void(const std::string&)>, std::less<>> others = {
      {"vcd-window", [](const auto& text) { run::parse_window("--vcd-window", text); }},
      {"vcd-element", [](const auto& text) { run::parse_element("--vcd-element", text); }},
      {"dim", [](const auto& text) { workload::combinations(workload::parse_dim_lists({text})); }},
      {"microbench",
       [](const auto& text) { run::microbench::name_of(run::microbench::parse_bench_instruction(text)); }},
      {"instruction", [](const auto& text) { mma::parse_instruction(text); }},
      {"pattern", [](const auto& text) { sparsity::parse_weight_pattern(text); }},
      {"board", [](const auto& text) { config::target_of(text); }},
  };
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const std::string name = bytes.substr(0, end);
  const std::string value = end < bytes.size() ? bytes.substr(end + 1) : "";
  if (const auto other = others.find(name); other != others.end()) {
    other->second(value);
    return;
  }
  run::SimulationOptions options;
  run::set_option(options, name, value);
}

void read_command(const std::string& bytes) {
  if (prune::plan::command_words(bytes).empty()) {
    throw std::logic_error("a command without a word");
  }
}

constexpr Reader kReaders[] = {
    {"architecture", Content::kJson, read_architecture},
    {"energy", Content::kJson, read_energy},
    {"kernel_library", Content::kJson, read_kernel_library},
    {"engine", Content::kJson, read_engine},
    {"option", Content::kText, read_option},
    {"command", Content::kText, read_command},
};

}  // namespace

std::span<const Reader> configuration_readers() {
  return kReaders;
}

}  // namespace sptc::fuzz
