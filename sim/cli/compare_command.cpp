// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/cli/table_options.h"
#include "sim/compare/comparison.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"
#include "sim/report/progress.h"
#include "sim/run/option_table.h"
#include "sim/run/option_values.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/dim_lists.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string arch = "A100,H100";
  std::vector<std::string> dims;
  std::string types;
  std::string sparsity = "all";
  std::string gpus = "1";
  std::string jobs;
  std::string format = "text";
  std::string out, html;
  bool quiet = false;
  TableOptions options;
  CLI::App* command = nullptr;
};

std::vector<config::Architecture> boards_of(const std::string& list) {
  std::vector<config::Architecture> boards;
  for (const std::string& name : parts_of(list)) {
    boards.push_back(config::load_architecture(name));
  }
  return boards;
}

void write(const Arguments& arguments, const compare::BoardComparison& comparison) {
  if (!arguments.html.empty()) {
    write_result(arguments.html, compare::comparison_page(comparison, command_line()));
  }
  write_result(arguments.out, arguments.format == "json"  ? compare::comparison_json(comparison)
                              : arguments.format == "csv" ? compare::comparison_csv(comparison)
                                                          : compare::comparison_text(comparison));
}

/// Whether --sparsity has the weights that are compared: dense, 2:4 or both.
bool lists_weights(const std::string& sparsity) {
  const std::vector<std::string> parts = parts_of(sparsity);
  return std::ranges::all_of(
      parts, [](const std::string& part) { return part == "dense" || part == "2:4"; });
}

/// The options of the table, and --sparsity and --tp as that has them where they are no lists of
/// what --types compares.
run::SimulationOptions options_of(const Arguments& arguments) {
  run::SimulationOptions options = arguments.options.parsed();
  const bool lists = lists_weights(arguments.sparsity);
  if (lists && arguments.types.empty()) {
    throw base::InputError("--sparsity dense,2:4 goes with --types: --variants says the same");
  }
  if (!lists) {
    run::set_option(options, "sparsity", arguments.sparsity);
  }
  if (arguments.types.empty()) {
    run::set_option(options, "tp", arguments.gpus);
  }
  return options;
}

/// What --types, --sparsity and --tp ask for. Throws InputError.
compare::TriedWays ways_of(const Arguments& arguments, const run::SimulationOptions& options) {
  const auto refuse_again = [](const char* option, auto list) {
    std::ranges::sort(list);
    if (std::ranges::adjacent_find(list) != list.end()) {
      throw base::InputError(std::string(option) + " names one thing twice");
    }
  };
  compare::TriedWays ways;
  ways.types = parts_of(arguments.types);
  refuse_again("--types", ways.types);
  ways.gpus.clear();
  for (const std::string& number : parts_of(arguments.gpus)) {
    run::SimulationOptions one;
    run::set_option(one, "tp", number);
    ways.gpus.push_back(one.tensor_parallel);
  }
  refuse_again("--tp", ways.gpus);
  ways.dense = options.variants != run::Variants::kSparse;
  ways.sparse = options.variants != run::Variants::kDense;
  if (lists_weights(arguments.sparsity)) {
    if (options.variants != run::Variants::kBoth) {
      throw base::InputError("--variants and --sparsity both say which weights: give one");
    }
    const std::vector<std::string> weights = parts_of(arguments.sparsity);
    refuse_again("--sparsity", weights);
    ways.dense = std::ranges::find(weights, "dense") != weights.end();
    ways.sparse = std::ranges::find(weights, "2:4") != weights.end();
  }
  return ways;
}

/// What compare::compare() or, with --types, compare::compare_types() finds.
compare::BoardComparison compared(const Arguments& arguments, run::SimulationOptions options,
                                  const std::vector<compare::ComparedWorkload>& workloads,
                                  const std::vector<config::Architecture>& boards, int jobs) {
  report::ProgressBar bar(arguments.quiet);
  const auto show = [&](std::size_t begun, std::size_t total) {
    const std::size_t of_board = total / workloads.size() / boards.size();
    bar.update(begun, total,
               begun < total ? boards[begun / of_board % boards.size()].gpu.name : "");
  };
  if (arguments.types.empty()) {
    return compare::compare(workloads, boards, options, jobs, show);
  }
  const compare::TriedWays ways = ways_of(arguments, options);
  if (arguments.command->count("--engine") == 0) {
    options.engine.clear();  // that of comparisons of types, not of the table
  }
  return compare::compare_types(workloads, boards, options, ways, jobs, show);
}

int run(const Arguments& arguments) {
  const bool saved = arguments.files.size() > 1;
  if (!saved && compare::is_saved_result(arguments.files.front())) {
    throw base::InputError(io::printable(arguments.files.front()) +
                           " is a saved result: name a second one to set beside it");
  }
  require_format(arguments.format, {"text", "json", "csv"});
  const std::string other =
      given_beside(*arguments.command, {"FILE", "--format", "--out", "--html", "--quiet"});
  if (saved && !other.empty()) {
    throw base::InputError(other +
                           " has no effect on saved results: compare takes one workload, "
                           "or several results of 'run --format json'");
  }
  const int jobs = parse_jobs(arguments.jobs);
  const run::SimulationOptions options = options_of(arguments);
  run::require_consistent(options);
  require_writable_text("--out", arguments.out);
  require_writable_text("--html", arguments.html);
  if (saved) {
    write(arguments, compare::compare_saved({arguments.files.begin(), arguments.files.end()}));
    return 0;
  }
  const std::vector<config::Architecture> boards = boards_of(arguments.arch);
  const std::vector<compare::ComparedWorkload> workloads = compare::compared_workloads(
      arguments.files.front(), workload::parse_dim_lists(arguments.dims));
  for (const std::string& note : workloads.front().workload.notes) {
    report::write_message("note: " + note + "\n");
  }
  write(arguments, compared(arguments, options, workloads, boards, jobs));
  return 0;
}

}  // namespace

void add_compare_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "compare",
      "a workload on several GPUs and with several extents, or saved results, side by side");
  arguments->command = command;
  command
      ->add_option("FILE", arguments->files,
                   "workload or recording, recognised by content; or two and more results of 'run "
                   "--format json'")
      ->type_name("FILE")
      ->required();
  declare(*command,
          {{"--arch", arguments->arch, "NAME,..", "boards or files, with commas between"}});
  command->add_option("--dim", arguments->dims, "values of a dimension of the file: batch=1,8,64")
      ->type_name("NAME=V,..");
  declare(
      *command,
      {{"--types", arguments->types, "TYPE,..",
        "operand types to compare end to end, as --dtype has them: bf16,e4m3,nvfp4,w4a16 (under "
        "engine 'compiled' unless --engine says another)"}});
  arguments->options.add_all(*command, {"sparsity", "tp"});
  declare(*command,
          {{"--sparsity", arguments->sparsity, "dense,2:4|all|auto|FILE",
            "with --types the weights to compare: dense, 2:4 or both; else, and for which weights "
            "may be 2:4, as of 'run'"},
           {"--tp", arguments->gpus, "N,..",
            "split each layer over 1 to 8 GPUs, with --types over each of several numbers of them "
            "(needs --link and an engine)"}});
  add_jobs(*command, arguments->jobs, "points that are simulated at once");
  declare(*command,
          {{"--format", arguments->format, "text|json|csv", "of the result"},
           {"--out", arguments->out, "FILE", "write the result to FILE instead of stdout"},
           {"--html", arguments->html, "FILE", "write one page, which needs no network"}});
  command->add_flag("--quiet", arguments->quiet, "no progress bar");
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::cli
