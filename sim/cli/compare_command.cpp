// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/compare/comparison.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"
#include "sim/report/progress.h"
#include "sim/run/option_table.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/dim_lists.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
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
  std::string expert_gpus = "1";
  std::string jobs;
  std::string format = "text";
  std::string out, html;
  bool quiet = false;
  TableOptions options;
  const CLI::App* command = nullptr;
};

std::vector<config::Architecture> boards_of(const std::string& list) {
  std::vector<config::Architecture> boards;
  for (const std::string& name : parts_of(list)) {
    boards.push_back(config::load_architecture(name));
  }
  return boards;
}

void write(const Arguments& arguments, const compare::BoardComparison& comparison) {
  write_if_asked(arguments.html, [&] { return compare::comparison_page(comparison, command_line()); });
  write_result(arguments.out, arguments.format == "json"  ? compare::comparison_json(comparison)
                              : arguments.format == "csv" ? compare::comparison_csv(comparison)
                                                          : compare::comparison_text(comparison));
}

/// The options of the table; without --types also --sparsity, --tp and --ep, which with it are lists.
run::SimulationOptions options_of(const Arguments& arguments) {
  run::SimulationOptions options = arguments.options.parsed();
  if (!arguments.types.empty()) {
    return options;
  }
  const std::vector<std::string> weights = parts_of(arguments.sparsity);
  if (std::ranges::all_of(weights, [](const std::string& part) { return part == "dense" || part == "2:4"; })) {
    throw base::InputError("--sparsity dense,2:4 needs --types; without it --variants says the same");
  }
  for (const auto& [option, list] : {std::pair("--tp", &arguments.gpus), {"--ep", &arguments.expert_gpus}}) {
    if (parts_of(*list).size() > 1) {
      throw base::InputError(std::string(option) + " takes one number: a list of them needs --types");
    }
  }
  run::set_option(options, "sparsity", arguments.sparsity);
  run::set_option(options, "tp", arguments.gpus);
  run::set_option(options, "ep", arguments.expert_gpus);
  return options;
}

/// What compare::compare() or, with --types, compare::compare_types() finds.
compare::BoardComparison compared(const Arguments& arguments, run::SimulationOptions options,
                                  const std::vector<compare::ComparedWorkload>& workloads,
                                  const std::vector<config::Architecture>& boards, int jobs) {
  report::ProgressBar bar(arguments.quiet);
  const auto show = [&](std::size_t begun, std::size_t total) {
    const std::size_t of_board = total / workloads.size() / boards.size();
    bar.update(begun, total, begun < total ? boards[begun / of_board % boards.size()].gpu.name : "");
  };
  if (arguments.types.empty()) {
    return compare::compare(workloads, boards, options, jobs, show);
  }
  const auto list_of = [&](const char* option, const std::string& list) {
    return arguments.command->count(option) > 0 ? parts_of(list) : std::vector<std::string>();
  };
  const compare::TriedWays ways =
      compare::parse_ways({parts_of(arguments.types), parts_of(arguments.sparsity), list_of("--tp", arguments.gpus),
                           list_of("--ep", arguments.expert_gpus)},
                          options);
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
  const std::string other = given_beside(*arguments.command, {"FILE", "--format", "--out", "--html", "--quiet"});
  if (saved && !other.empty()) {
    throw base::InputError(
        other +
        " has no effect on saved results: compare takes one workload, or several results of 'run --format json'");
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
  const std::vector<compare::ComparedWorkload> workloads =
      compare::compared_workloads(arguments.files.front(), workload::parse_dim_lists(arguments.dims));
  for (const std::string& note : workloads.front().workload.notes) {
    report::write_message("note: " + note + "\n");
  }
  write(arguments, compared(arguments, options, workloads, boards, jobs));
  return 0;
}

}  // namespace

void add_compare_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      add_command(app, chosen, "compare",
                  "a workload on several GPUs and with several extents, or saved results, side by side", run);
  arguments.command = &command;
  command
      .add_option("FILE", arguments.files,
                  "workload or recording, recognised by content; or two and more results of 'run --format json'")
      ->type_name("FILE")
      ->required();
  declare(command, {{"--arch", arguments.arch, "NAME,..", "boards or files, with commas between"}});
  command.add_option("--dim", arguments.dims, "values of a dimension of the file: batch=1,8,64")
      ->type_name("NAME=V,..");
  declare(command, {{"--types", arguments.types, "TYPE,..",
                     "operand types to compare end to end, as --dtype has them: bf16,e4m3,nvfp4,w4a16 (under engine "
                     "'compiled' unless --engine says another)"}});
  arguments.options.add_all(command, {"sparsity", "tp", "ep"});
  declare(
      command,
      {{"--sparsity", arguments.sparsity, "dense,2:4|all|auto|FILE",
        "with --types the weights to compare: dense, 2:4 or both; else, and for which weights may be 2:4, as of 'run'"},
       {"--tp", arguments.gpus, "N,..",
        "split each layer over 1 to 8 GPUs, with --types over each of several numbers of them (needs --link and an "
        "engine)"},
       {"--ep", arguments.expert_gpus, "N,..",
        "share the experts of a mixture out over 1 to 72 GPUs, each with a part of the sequences and all other "
        "weights; with --types each of several numbers, beside those of --tp (needs --link and an engine)"}});
  add_jobs(command, arguments.jobs, "points that are simulated at once");
  declare(command, {{"--format", arguments.format, "text|json|csv", "format of the result"},
                    {"--out", arguments.out, "FILE", "write the result to FILE instead of stdout"},
                    {"--html", arguments.html, "FILE", "write one page, which needs no network"}});
  command.add_flag("--quiet", arguments.quiet, "no progress bar");
}

}  // namespace sptc::cli
