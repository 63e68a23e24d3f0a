// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/cli/sweep_arguments.h"
#include "sim/io/file_use.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"
#include "sim/run/option_values.h"
#include "sim/sweep/execution/emit.h"
#include "sim/sweep/execution/plan_summary.h"
#include "sim/sweep/execution/sweep_status.h"
#include "sim/sweep/point/simulation_point_runner.h"
#include "sim/sweep/reports/sweep_report.h"
#include "sim/sweep/store/results_file.h"
#include "sim/sweep/store/sweep_store.h"

#include <fmt/format.h>

namespace sptc::cli {
namespace {

constexpr std::uint64_t kUsualArray = 1000;  // tasks: MaxArraySize is 1001 unless set

int show_plan(const SweepArguments& arguments) {
  require_format(arguments.format, {"text", "json"});
  require_writable_text("--out", arguments.out);
  const sweep::space::SweepPlan plan = plan_of(arguments);
  const auto jobs = static_cast<std::size_t>(parse_jobs(arguments.jobs));
  const std::int64_t first = run::parse_positive("--first", arguments.first, 1000000000);
  sweep::point::SimulationPointRunner runner;
  const sweep::execution::PlanSummary summary = sweep::execution::summarize_plan(
      plan, runner, parse_shard(arguments.shard), static_cast<std::size_t>(first));
  write_result(arguments.out, arguments.format == "json"
                                  ? sweep::execution::plan_json(plan, summary, jobs)
                                  : sweep::execution::plan_text(plan, summary, jobs));
  return 0;
}

sweep::execution::SlurmOptions slurm_options(const SweepArguments& arguments) {
  sweep::execution::SlurmOptions slurm;
  slurm.time = arguments.time;
  slurm.memory = arguments.mem;
  slurm.partition = arguments.partition;
  slurm.account = arguments.account;
  slurm.whole_node = arguments.whole_node;
  if (!arguments.at_once.empty()) {
    slurm.at_once =
        static_cast<std::uint64_t>(run::parse_positive("--at-once", arguments.at_once, kMaxShards));
  }
  slurm.directives = arguments.directives;
  return slurm;
}

int emit(const SweepArguments& arguments, const std::string& kind) {
  const sweep::space::SweepPlan plan = plan_of(arguments);
  require_writable_text("--out", arguments.out);
  sweep::execution::EmitOptions options;
  options.program = std::filesystem::read_symlink("/proc/self/exe");
  options.spec = arguments.spec;
  options.results = results_of(arguments);
  options.name = plan.spec().name;
  options.shards =
      static_cast<std::uint64_t>(run::parse_positive("--shards", arguments.shards, kMaxShards));
  if (arguments.whole_node && !arguments.jobs.empty()) {
    throw base::InputError(
        "--jobs has no effect with --whole-node: a shard takes all processors of its node");
  }
  options.jobs =
      arguments.jobs.empty() ? 1 : static_cast<std::uint64_t>(parse_jobs(arguments.jobs));
  options.setup = arguments.setup;
  write_result(arguments.out,
               kind == "slurm" ? sweep::execution::slurm_script(options, slurm_options(arguments))
                               : sweep::execution::gnu_parallel_script(options));
  if (kind == "slurm" && options.shards > kUsualArray) {
    report::write_message(fmt::format(
        "{} shards: clusters take arrays of {} tasks unless their MaxArraySize is larger\n",
        options.shards, kUsualArray));
  }
  return 0;
}

void add_plan(CLI::App& sweep, Command& chosen) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command =
      sweep.add_subcommand("plan", "number of points, estimated time and the first few");
  add_spec(*command, arguments);
  declare(*command, {{"--first", arguments->first, "N", "points to list"},
                     {"--format", arguments->format, "text|json", "of the output"},
                     {"--out", arguments->out, "FILE", "write to FILE instead of stdout"},
                     {"--shard", arguments->shard, "I/N", "only part I of N"}});
  add_jobs(*command, arguments->jobs, "processes, for the estimate");
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return show_plan(*arguments); }; });
}

void add_slurm_options(CLI::App& command, const std::shared_ptr<SweepArguments>& arguments) {
  declare(command,
          {{"--time", arguments->time, "T", "time limit of a part: 90 (minutes), 1:30:00, 2-12"},
           {"--mem", arguments->mem, "SIZE", "memory of a part: 16G, 0 (all of the node)"},
           {"--partition", arguments->partition, "NAME", "partition of the cluster"},
           {"--account", arguments->account, "NAME", "account that pays"}});
  command.add_flag("--whole-node", arguments->whole_node,
                   "each part has a node for itself and a process for each of its processors");
  declare(command, {{"--at-once", arguments->at_once, "N", "parts that may run at once"}});
  command
      .add_option("--sbatch", arguments->directives,
                  "another option of sbatch, such as --sbatch=--qos=high; repeatable")
      ->type_name("OPTION")
      ->take_all();
}

void add_emit(CLI::App& sweep, Command& chosen) {
  CLI::App* command = sweep.add_subcommand("emit", "job scripts for many machines");
  for (const char* kind : {"slurm", "gnu-parallel"}) {
    auto arguments = std::make_shared<SweepArguments>();
    CLI::App* inner = command->add_subcommand(kind, "a script that runs the shards and merges");
    inner->allow_extras();
    add_spec(*inner, arguments);
    declare(*inner, {{"--shards", arguments->shards, "N", "parts", true},
                     {"--jobs", arguments->jobs, "N", "worker processes of each part"},
                     {"--db", arguments->db, "FILE", "the united results"}});
    inner
        ->add_option("--setup", arguments->setup,
                     "line of shell before the program, such as 'module load gcc'; repeatable")
        ->type_name("LINE")
        ->take_all();
    if (std::string(kind) == "slurm") {
      add_slurm_options(*inner, arguments);
    }
    declare(*inner,
            {{"--out", arguments->out, "FILE", "write the script to FILE instead of stdout"}});
    inner->callback([arguments, kind, &chosen] {
      chosen = [arguments, kind] { return emit(*arguments, kind); };
    });
  }
}

int show_status(const SweepArguments& arguments) {
  require_format(arguments.format, {"text", "json"});
  require_writable_text("--out", arguments.out);
  const std::vector<std::filesystem::path> parts(arguments.parts.begin(), arguments.parts.end());
  const sweep::execution::SweepStatus status = sweep::execution::sweep_status(parts);
  write_result(arguments.out, arguments.format == "json" ? sweep::execution::status_json(status)
                                                         : sweep::execution::status_text(status));
  return status.state() == "done" ? 0 : 1;
}

int merge(const SweepArguments& arguments) {
  if (is_standard_output(arguments.out)) {
    throw base::InputError("--out: the united results are a database, which needs a file");
  }
  require_writable("--out", arguments.out);
  if (std::filesystem::exists(arguments.out)) {
    throw base::InputError(
        fmt::format("--out {}: exists; remove it or give another", io::printable(arguments.out)));
  }
  const std::vector<std::filesystem::path> parts(arguments.parts.begin(), arguments.parts.end());
  const std::size_t rows = sweep::store::merge_sweeps(parts, arguments.out, arguments.mixed_builds);
  sweep::files::Database merged = sweep::store::open_sweep(arguments.out);
  const std::size_t missing = sweep::store::read_entries(merged).missing(rows);
  report::write_message(
      fmt::format("{}: {} rows from {} files{}\n", io::printable(arguments.out), rows, parts.size(),
                  missing > 0 ? fmt::format("; {} points of the sweep are missing", missing) : ""));
  return 0;
}

int report_sweep(const SweepArguments& arguments) {
  const sweep::reports::SweepReportFormat format =
      sweep::reports::parse_sweep_report_format(arguments.format);
  if (sweep::reports::is_spec_of(arguments.db, arguments.out)) {
    io::announce_input(arguments.out);
  }
  require_writable_text("--out", arguments.out);
  require_writable_text("--html", arguments.html);
  using sweep::reports::SweepReportFormat;
  const sweep::analysis::SweepTable table = sweep::analysis::read_sweep_table(arguments.db);
  const std::string text = sweep::reports::sweep_report(table, format, command_line());
  if (!arguments.html.empty()) {
    write_result(arguments.html,
                 sweep::reports::sweep_report(table, SweepReportFormat::kHtml, command_line()));
  }
  write_result(arguments.out, text);
  return 0;
}

void add_status(CLI::App& sweep, Command& chosen) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command = sweep.add_subcommand(
      "status",
      "points that are done, failed and missing over all parts, and who works at them; "
      "exit code 0 where all are done, else 1");
  command
      ->add_option("RESULTS", arguments->parts,
                   "results of a sweep, or of its shards; a name without a file stands for NAME.1, "
                   "NAME.2, ...")
      ->type_name("FILE")
      ->required();
  declare(*command, {{"--format", arguments->format, "text|json", "of the output"},
                     {"--out", arguments->out, "FILE", "write to FILE instead of stdout"}});
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return show_status(*arguments); }; });
}

void add_merge(CLI::App& sweep, Command& chosen) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command =
      sweep.add_subcommand("merge", "unite the results of shards: the same rows for any number");
  command->add_option("PART", arguments->parts, "results of the shards")
      ->type_name("FILE")
      ->required();
  declare(*command, {{"--out", arguments->out, "FILE", "the united results", true}});
  command->add_flag("--mixed-builds", arguments->mixed_builds,
                    "even if the parts come from different builds");
  command->callback([arguments, &chosen] { chosen = [arguments] { return merge(*arguments); }; });
}

void add_report(CLI::App& sweep, Command& chosen) {
  auto arguments = std::make_shared<SweepArguments>();
  arguments->format = "markdown";
  CLI::App* command = sweep.add_subcommand("report", "table, Pareto front, sensitivities");
  declare(*command,
          {{"DB", arguments->db, "FILE", "results of a sweep", true},
           {"--format", arguments->format, "csv|markdown|html", "of the report"},
           {"--out", arguments->out, "FILE", "write the report to FILE instead of stdout"},
           {"--html", arguments->html, "FILE", "write the page beside the report"}});
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return report_sweep(*arguments); }; });
}

}  // namespace

void add_sweep_subcommands(CLI::App& sweep, Command& chosen) {
  add_plan(sweep, chosen);
  add_emit(sweep, chosen);
  add_status(sweep, chosen);
  add_merge(sweep, chosen);
  add_report(sweep, chosen);
}

}  // namespace sptc::cli
