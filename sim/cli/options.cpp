// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/options.h"

#include "models/base/error.h"
#include "models/mma/step_rules.h"
#include "sim/cli/output.h"
#include "sim/prune/prune_options.h"
#include "sim/run/option_table.h"
#include "sim/run/option_values.h"

#include <algorithm>
#include <cstdint>
#include <thread>

namespace sptc::cli {

void declare(CLI::App& command, std::initializer_list<WordOption> options) {
  for (const WordOption& option : options) {
    CLI::Option* const declared =
        command.add_option(option.name, option.value, option.help)->type_name(option.type)->required(option.required);
    if (!option.value.empty()) {
      declared->capture_default_str();
    }
  }
}

void TableOptions::add_all(CLI::App& command, std::initializer_list<std::string_view> without) {
  for (const run::SimulationOption& option : run::simulation_options()) {
    if (std::ranges::find(without, option.name) == without.end()) {
      add(command, {option.name});
    }
  }
}

void TableOptions::add(CLI::App& command, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const run::SimulationOption& option = run::simulation_option(name);
    std::string& text = texts_[option.name];
    const std::string typed = "--" + std::string(option.name), type(option.type), help(option.help);
    if (type.empty()) {
      command.add_flag(typed, text, help);
    } else {
      text = option.usual;
      declare(command, {{typed.c_str(), text, type.c_str(), help}});
    }
  }
}

run::SimulationOptions TableOptions::parsed() const {
  run::SimulationOptions options;
  for (const run::SimulationOption& option : run::simulation_options()) {
    const auto typed = texts_.find(option.name);
    if (typed != texts_.end() && !typed->second.empty()) {
      run::set_option(options, option.name, typed->second);
    }
  }
  return options;
}

void add_jobs(CLI::App& command, std::string& text, const std::string& what) {
  declare(command, {{"--jobs", text, "N", what + " (default: all processors)"}});
}

int parse_jobs(const std::string& text) {
  constexpr std::int64_t kMostJobs = 1024;
  return text.empty() ? std::max(1, static_cast<int>(std::thread::hardware_concurrency()))
                      : static_cast<int>(run::parse_positive("--jobs", text, kMostJobs));
}

void ComparisonOptions::add_to(CLI::App& command) {
  declare(command, {{"--profile", profile, "hardware|mma-sim",
                     "hardware: the models tuned against GPUs; mma-sim: MMA-Sim, word for word"},
                    {"--format", format, "text|json", "format of the report"},
                    {"--out", out, "FILE", "write the report to FILE instead of stdout"}});
}

void ComparisonOptions::require_valid() const {
  mma::parse_profile(profile);
  require_format(format, {"text", "json"});
  require_writable_text("--out", out);
}

void add_activations(CLI::App& command, std::string& activations) {
  declare(command, {{"--activations", activations, "FILE",
                     "inputs of the layers for calibration: tensors '<layer>' [samples.., k]"}});
}

void add_criterion(CLI::App& command, std::string& criterion) {
  declare(command, {{"--criterion", criterion, "magnitude|wanda|sparsegpt",
                     "what stays; all but the first need --activations"}});
}

void add_report(CLI::App& command, std::string& report, std::string& format) {
  declare(command, {{"--report", report, "FILE", "write the report to FILE instead of stdout"},
                    {"--format", format, "text|json", "format of the report"}});
}

void add_axes(CLI::App& command, prune::PruneOptions& options) {
  declare(command, {{"--transposed", options.transposed, "REGEX", "tensors that are [k, rows]"},
                    {"--k-axis", options.k_axis, "last|1",
                     "k of tensors of three axes: last, of experts [experts, rows, k], or 1, of [experts, k, rows] and "
                     "filters (default: as names and extents say)"}});
}

void add_include(CLI::App& command, prune::PruneOptions& options) {
  declare(command, {{"--include", options.include, "REGEX",
                     "tensors to prune, too, that stay dense by name: heads, embeddings, routers, state matrices"}});
}

std::vector<CLI::App*> children_of(CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> parts_of(const std::string& list, char mark) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(mark, begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string given_beside(const CLI::App& command, std::initializer_list<std::string_view> taken) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0 && std::ranges::find(taken, option->get_name()) == taken.end()) {
      return option->get_name();
    }
  }
  return "";
}

void check_given_options(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (std::ranges::any_of(option->results(), [](const auto& value) { return value.empty(); })) {
      throw base::InputError(option->get_name() + ": the value is empty");
    }
  }
  if (!app.get_subcommands().empty()) {
    check_given_options(*app.get_subcommands().front());
  }
}

}  // namespace sptc::cli
