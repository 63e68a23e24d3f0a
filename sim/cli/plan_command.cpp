// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/import_options.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/io/file_use.h"
#include "sim/prune/plan/plan_model.h"
#include "sim/report/progress.h"
#include "sim/run/option_values.h"

#include <string>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string arch = "a100-sxm4-80gb";
  std::string criterion = "magnitude";
  std::string metric = "higher";
  std::string format = "text";
  std::string jobs, timeout = "600";
  std::string out, report, html, csv;
  RecordingOptions model;  ///< and its extents
  std::string activations, workload;
  bool quiet = false;
  const CLI::App* command = nullptr;
  TableOptions table;
  prune::plan::PlanOptions options;
};

void announce(const Arguments& arguments) {
  for (const std::string* file : {&arguments.model.file, &arguments.activations, &arguments.workload}) {
    if (!file->empty()) {
      io::announce_input(*file);
    }
  }
  require_writable_text("--out", arguments.out);
  require_writable_text("--report", arguments.report);
  require_writable_text("--html", arguments.html);
  require_writable_text("--csv", arguments.csv);
}

prune::plan::PlanOptions options_of(const Arguments& arguments) {
  prune::plan::PlanOptions options = arguments.options;
  options.pruning.criterion = sparsity::parse_criterion(arguments.criterion);
  options.pruning.activations = arguments.activations;
  options.simulation = arguments.table.parsed();
  if (arguments.command->count("--fidelity") == 0) {
    options.simulation.fidelity = run::Fidelity::kAnalytic;
  }
  run::require_consistent(options.simulation);
  options.workload = arguments.workload;
  options.import = arguments.model.import_options();
  options.evaluation.lower_is_better = prune::plan::is_lower_better("--metric", arguments.metric);
  options.evaluation.jobs = parse_jobs(arguments.jobs);
  options.evaluation.timeout_s =
      static_cast<double>(run::parse_positive("--timeout", arguments.timeout, prune::plan::kMostTimeoutS));
  return options;
}

int run(const Arguments& arguments) {
  const bool json = is_json(arguments.format);
  prune::plan::PlanOptions options = options_of(arguments);
  if (!arguments.out.empty() && !options.max_loss && !options.max_time_us && !options.min_gain) {
    throw base::InputError("--out writes the layers of one plan: --max-loss, --max-time or --min-gain chooses it");
  }
  announce(arguments);
  const config::Architecture architecture = config::load_architecture(arguments.arch);
  prune::plan::PlanResult result;
  {
    report::ProgressBar bar(arguments.quiet || options.evaluation.command.empty());
    options.progress = [&](std::size_t done, std::size_t total) { bar.update(done, total, "models evaluated"); };
    result = prune::plan::plan_model(arguments.model.file, architecture, options);
  }
  const bool has_list = !arguments.out.empty() && result.plan && !result.plan->layers.empty();
  const std::string list = has_list ? prune::plan::plan_list(result) : "";
  write_if_asked(arguments.html, [&] { return prune::plan::plan_page(result, command_line()); });
  write_if_asked(arguments.csv, [&] { return prune::plan::plan_csv(result); });
  if (has_list) {
    write_result(arguments.out, list);
  }
  write_result(arguments.report, json ? prune::plan::plan_json(result) : prune::plan::plan_text(result));
  return result.unreached.empty() && (arguments.out.empty() || has_list) ? 0 : 1;
}

void add_wishes(CLI::App& command, Arguments& arguments) {
  command
      .add_option("--max-loss", arguments.options.max_loss, "choose the plan that saves most and loses at most this")
      ->type_name("LOSS");
  command
      .add_option("--max-time", arguments.options.max_time_us,
                  "choose the plan that loses least and takes at most this long")
      ->type_name("US");
  command
      .add_option("--min-gain", arguments.options.min_gain,
                  "choose the plan that loses least and is so many times as fast as dense weights")
      ->type_name("X");
  declare(command, {{"--out", arguments.out, "FILE",
                     "the layers of that plan, for 'prune --layers @FILE' and 'run --sparsity FILE'"}});
}

void add_evaluation(CLI::App& command, Arguments& arguments) {
  declare(
      command,
      {{"--evaluate", arguments.options.evaluation.command, "COMMAND",
        "run for the model and for each layer pruned alone; {} or SPTCSIM_MODEL is the file, and a number on the last "
        "line is the metric, whose fall is the loss. No shell reads it: quotes and backslashes hold words together"},
       {"--metric", arguments.metric, "higher|lower", "which metric of --evaluate is better"},
       {"--timeout", arguments.timeout, "S", "seconds that one evaluation may take"}});
  add_jobs(command, arguments.jobs, "models that are evaluated at once");
}

void add_pruning(CLI::App& command, Arguments& arguments) {
  prune::PruneOptions& options = arguments.options.pruning;
  add_activations(command, arguments.activations);
  add_criterion(command, arguments.criterion);
  declare(command, {{"--layers", options.layers, "REGEX|@FILE", "tensors that may be pruned, as of 'prune'"},
                    {"--exclude", options.exclude, "REGEX", "tensors to leave as they are"}});
  add_axes(command, options);
}

void add_results(CLI::App& command, Arguments& arguments) {
  add_report(command, arguments.report, arguments.format);
  declare(command, {{"--csv", arguments.csv, "FILE", "write a row for each layer"},
                    {"--html", arguments.html, "FILE", "write one page, which needs no network"}});
  command.add_flag("--quiet", arguments.quiet, "no progress bar");
}

}  // namespace

void add_plan_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] = add_command(
      app, chosen, "plan", "which layers of a model to prune: what each loses and saves, the best sets of them", run);
  arguments.command = &command;
  declare(command, {{"MODEL", arguments.model.file, "MODEL",
                     ".onnx; with --workload also .safetensors, its index or directory, .npz, .npy", true},
                    {"--workload", arguments.workload, "FILE",
                     "products of the model: a workload whose operations are called as the tensors, or config.json of "
                     "Hugging Face"}});
  arguments.model.add_extents_to(command);
  declare(command, {{"--arch", arguments.arch, "NAME|FILE", "a name of 'arch list' or a file"}});
  add_wishes(command, arguments);
  add_evaluation(command, arguments);
  add_pruning(command, arguments);
  arguments.table.add(command, {"engine", "fidelity", "dtype", "pattern", "clock", "energy", "power-limit", "l2",
                                "launch", "include", "tp", "ep", "link", "algorithm", "kernels", "library", "seed"});
  add_results(command, arguments);
}

}  // namespace sptc::cli
