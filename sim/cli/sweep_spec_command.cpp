// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/cli/jobs_option.h"
#include "sim/cli/output.h"
#include "sim/cli/sweep_arguments.h"
#include "sim/report/message.h"
#include "sim/run/option_values.h"
#include "sim/sweep/execution/emit.h"
#include "sim/sweep/execution/plan_summary.h"
#include "sim/sweep/point/simulation_point_runner.h"

#include <fmt/format.h>

namespace sptc::cli {
namespace {

constexpr std::uint64_t kUsualArray = 1000;  // tasks: MaxArraySize is 1001 unless set

int show_plan(const SweepArguments& arguments) {
  require_format(arguments.format, {"text", "json"});
  if (!arguments.out.empty()) {
    require_writable_text("--out", arguments.out);
  }
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
  command->add_option("--first", arguments->first, "points to list")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--format", arguments->format, "of the output")
      ->type_name("text|json")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write to FILE instead of stdout")
      ->type_name("FILE");
  command->add_option("--shard", arguments->shard, "only part I of N")->type_name("I/N");
  add_jobs(*command, arguments->jobs, "processes, for the estimate");
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return show_plan(*arguments); }; });
}

void add_slurm_options(CLI::App& command, const std::shared_ptr<SweepArguments>& arguments) {
  command
      .add_option("--time", arguments->time, "time limit of a part: 90 (minutes), 1:30:00, 2-12")
      ->type_name("T");
  command.add_option("--mem", arguments->mem, "memory of a part: 16G, 0 (all of the node)")
      ->type_name("SIZE");
  command.add_option("--partition", arguments->partition, "partition of the cluster")
      ->type_name("NAME");
  command.add_option("--account", arguments->account, "account that pays")->type_name("NAME");
  command.add_flag("--whole-node", arguments->whole_node,
                   "each part has a node for itself and a process for each of its processors");
  command.add_option("--at-once", arguments->at_once, "parts that may run at once")->type_name("N");
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
    inner->add_option("--shards", arguments->shards, "parts")->type_name("N")->required();
    inner->add_option("--jobs", arguments->jobs, "worker processes of each part")->type_name("N");
    inner->add_option("--db", arguments->db, "the united results")->type_name("FILE");
    inner
        ->add_option("--setup", arguments->setup,
                     "line of shell before the program, such as 'module load gcc'; repeatable")
        ->type_name("LINE")
        ->take_all();
    if (std::string(kind) == "slurm") {
      add_slurm_options(*inner, arguments);
    }
    inner->add_option("--out", arguments->out, "write the script to FILE instead of stdout")
        ->type_name("FILE");
    inner->callback([arguments, kind, &chosen] {
      chosen = [arguments, kind] { return emit(*arguments, kind); };
    });
  }
}

}  // namespace

void add_sweep_spec_commands(CLI::App& sweep, Command& chosen) {
  add_plan(sweep, chosen);
  add_emit(sweep, chosen);
}

}  // namespace sptc::cli
