// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/io/file_use.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"
#include "sim/report/progress.h"
#include "sim/run/option_values.h"
#include "sim/sweep/coordinator.h"
#include "sim/sweep/emit.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/plan_summary.h"
#include "sim/sweep/resimulation.h"
#include "sim/sweep/results_file.h"
#include "sim/sweep/simulation_point_runner.h"
#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_status.h"
#include "sim/sweep/sweep_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace sptc::cli {
namespace {

constexpr std::int64_t kMaxShards = 1000000;

/// What was typed for `sptcsim sweep` or one of its commands.
struct SweepArguments {
  std::string spec;
  std::string db;
  std::string jobs;
  std::string shard;
  std::string timeout;
  std::string resimulate;
  bool no_resume = false;
  bool retry_failed = false;
  bool mixed_builds = false;
  bool quiet = false;
  std::string first = "5";
  std::string shards;
  std::string out;
  std::string html;
  std::string format = "text";
  std::vector<std::string> parts;
  std::vector<std::string> setup;
  std::string at_once;
  bool for_slurm = false;     ///< else for GNU parallel
  sweep::SlurmOptions slurm;  ///< but for at_once
};

// Each throws InputError for what cannot be.

sweep::SweepPlan plan_of(const SweepArguments& arguments) {
  const std::string& file = arguments.spec;
  if (!file.ends_with(".json")) {
    constexpr std::array<std::string_view, 5> kCommands{"plan", "status", "merge", "report", "emit"};
    io::refuse("'{}' is no sweep (a .json file) and no command of sweep: {}", io::printable(file),
               base::unknown_name(io::printable(file), kCommands));
  }
  return sweep::checked_plan(sweep::read_sweep_spec(file));
}

sweep::SweepShard parse_shard(const std::string& text) {
  if (text.empty()) {
    return {};
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    io::refuse("--shard must be I/N, for example 2/8, not '{}'", io::printable(text));
  }
  const std::int64_t count = run::parse_positive("N of --shard I/N", text.substr(slash + 1), kMaxShards);
  const std::int64_t index = run::parse_positive("I of --shard I/N", text.substr(0, slash), count);
  return {static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(count)};
}

/// --db, or where it is not given the name of SPEC with .sqlite.
std::filesystem::path results_of(const SweepArguments& arguments) {
  if (!arguments.db.empty()) {
    return arguments.db;
  }
  const std::string name = std::filesystem::path(arguments.spec).stem().string() + ".sqlite";
  std::error_code error;
  if (std::filesystem::is_symlink(name, error)) {
    throw base::InputError(io::printable(name) + ": is a link; where the results go through one, --db names it");
  }
  return name;
}

void add_spec(CLI::App& command, SweepArguments& arguments) {
  declare(command, {{"SPEC", arguments.spec, "FILE", "sweep: .json (configs/sweeps/README.md)", true}});
}

std::atomic<bool> stop_requested{false};

void request_stop(int /*signal*/) {
  stop_requested = true;
}

sweep::PointLimits limits_of(const SweepArguments& arguments, const sweep::SweepSpec& spec) {
  sweep::PointLimits limits{spec.timeout_s, spec.memory_mb};
  if (!arguments.timeout.empty()) {
    limits.timeout_s = static_cast<double>(run::parse_positive("--timeout", arguments.timeout, 10000000));
  }
  return limits;
}

/// Handles signals once the results are open: before, a signal ends the program at once.
void handle_stop_signals() {
  on_interrupts(request_stop);
  std::signal(SIGPIPE, SIG_IGN);
}

void print_summary(const sweep::SweepProgress& progress, const sweep::SweepStore& store,
                   const std::filesystem::path& file) {
  const double rate = progress.seconds > 0 ? static_cast<double>(progress.done) / progress.seconds : 0;
  report::write_message(
      fmt::format("{}{} of {} points: {} now ({:.1f} s, {:.1f} points/s), {} before; {} of all rows failed\n",
                  progress.interrupted ? "interrupted: " : "", progress.done + progress.reused, progress.total,
                  progress.done, progress.seconds, rate, progress.reused, store.failures()));
  report::write_message(progress.interrupted
                            ? "the rest follows when the command is repeated\n"
                            : fmt::format("results: {0}   (sptcsim sweep report {0})\n", file.string()));
}

/// What `run` was asked for, checked.
struct Job {
  const SweepArguments& arguments;
  sweep::SimulationPointRunner runner;
  sweep::SweepPlan plan;
  sweep::PointLimits limits;
  sweep::SweepShard shard;
  std::filesystem::path file;
  std::size_t jobs;

  explicit Job(const SweepArguments& given)
      : arguments(given),
        plan(plan_of(given)),
        limits(limits_of(given, plan.spec())),
        shard(parse_shard(given.shard)),
        file(results_of(given)),
        jobs(static_cast<std::size_t>(parse_jobs(given.jobs))) {}

  sweep::SweepWork work(report::ProgressBar& bar) {
    return {plan, runner, limits, jobs, stop_requested, [&bar](const auto& now) { bar.update(now.shown()); }};
  }
};

/// --resimulate; 0 where it is not given.
std::size_t points_to_resimulate(const Job& job) {
  const SweepArguments& arguments = job.arguments;
  if (arguments.resimulate.empty()) {
    return 0;
  }
  if (!arguments.shard.empty()) {
    throw base::InputError("--resimulate needs the whole front: not with --shard, but on the merged results");
  }
  sweep::as_timing(job.plan.spec());  // or says why not
  return static_cast<std::size_t>(run::parse_positive("--resimulate", arguments.resimulate, 1 << 20));
}

int drive(Job& job, sweep::SweepStore& store) {
  sweep::SweepProgress progress;
  {
    report::ProgressBar bar(job.arguments.quiet, report::ProgressBar::Elsewhere::kLines);
    progress = sweep::run_sweep(job.work(bar), job.shard, store);
  }
  if (!progress.in_order) {
    report::write_message(fmt::format(
        "{}: another program reads it, so its rows stay as they came; 'sptcsim sweep merge' puts them in order\n",
        job.file.string()));
  }
  if (!job.arguments.quiet) {
    print_summary(progress, store, job.file);
  }
  return progress.interrupted ? report::kInterrupted : store.failures() > 0 ? 1 : 0;
}

int resimulate(Job& job, std::size_t most, const sweep::SweepStore::Options& options) {
  sweep::SweepProgress progress;
  {
    report::ProgressBar bar(job.arguments.quiet, report::ProgressBar::Elsewhere::kLines);
    progress = sweep::simulate_again(job.work(bar), job.file, most, options);
  }
  if (!job.arguments.quiet) {
    report::write_message(progress.interrupted
                              ? "interrupted: the rest follows when the command is repeated\n"
                              : fmt::format("SystemC simulated {} points on the front or near it again, {} failed\n",
                                            progress.total, progress.failures));
  }
  return progress.interrupted ? report::kInterrupted : progress.failures > 0 ? 1 : 0;
}

int run(const SweepArguments& arguments) {
  if (arguments.spec.empty()) {
    throw base::InputError("sweep: SPEC is missing, or a command (plan, status, merge, report, emit)");
  }
  Job job(arguments);
  if (arguments.no_resume && std::filesystem::exists(job.file)) {
    io::refuse("{}: exists, and --no-resume was given", io::printable(job.file.string()));
  }
  io::require_no_input(job.file);
  const std::size_t again = points_to_resimulate(job);
  const sweep::SweepStore::Options options{arguments.retry_failed, arguments.mixed_builds};
  int code = 0;
  {
    sweep::SweepStore store(job.file, job.plan, options);
    handle_stop_signals();
    code = drive(job, store);
  }
  return again == 0 || code == report::kInterrupted ? code : std::max(code, resimulate(job, again, options));
}

// --- commands of sweep ---

constexpr std::uint64_t kUsualArray = 1000;  // tasks: MaxArraySize is 1001 unless set

int show_plan(const SweepArguments& arguments) {
  const bool json = is_json(arguments.format);
  require_writable_text("--out", arguments.out);
  const sweep::SweepPlan plan = plan_of(arguments);
  const auto jobs = static_cast<std::size_t>(parse_jobs(arguments.jobs));
  const std::int64_t first = run::parse_positive("--first", arguments.first, 1000000000);
  sweep::SimulationPointRunner runner;
  const sweep::PlanSummary summary =
      sweep::summarize_plan(plan, runner, parse_shard(arguments.shard), static_cast<std::size_t>(first));
  write_result(arguments.out, json ? sweep::plan_json(plan, summary, jobs) : sweep::plan_text(plan, summary, jobs));
  return 0;
}

sweep::SlurmOptions slurm_options(const SweepArguments& arguments) {
  sweep::SlurmOptions slurm = arguments.slurm;
  if (!arguments.at_once.empty()) {
    slurm.at_once = static_cast<std::uint64_t>(run::parse_positive("--at-once", arguments.at_once, kMaxShards));
  }
  return slurm;
}

int emit(const SweepArguments& arguments) {
  const sweep::SweepPlan plan = plan_of(arguments);
  require_writable_text("--out", arguments.out);
  sweep::EmitOptions options;
  options.program = std::filesystem::read_symlink("/proc/self/exe");
  options.spec = arguments.spec;
  options.results = results_of(arguments);
  options.name = plan.spec().name;
  options.shards = static_cast<std::uint64_t>(run::parse_positive("--shards", arguments.shards, kMaxShards));
  if (arguments.slurm.whole_node && !arguments.jobs.empty()) {
    throw base::InputError("--jobs has no effect with --whole-node: a shard takes all processors of its node");
  }
  options.jobs = arguments.jobs.empty() ? 1 : static_cast<std::uint64_t>(parse_jobs(arguments.jobs));
  options.setup = arguments.setup;
  write_result(arguments.out, arguments.for_slurm ? sweep::slurm_script(options, slurm_options(arguments))
                                                  : sweep::gnu_parallel_script(options));
  if (arguments.for_slurm && options.shards > kUsualArray) {
    report::write_message(
        fmt::format("{} shards: clusters take arrays of {} tasks unless their MaxArraySize is larger\n", options.shards,
                    kUsualArray));
  }
  return 0;
}

void add_plan(CLI::App& sweep, Command& chosen) {
  auto [command, arguments] =
      add_command(sweep, chosen, "plan", "number of points, estimated time and the first few", show_plan);
  add_spec(command, arguments);
  declare(command, {{"--first", arguments.first, "N", "points to list"},
                    {"--format", arguments.format, "text|json", "format of the output"},
                    {"--out", arguments.out, "FILE", "write to FILE instead of stdout"},
                    {"--shard", arguments.shard, "I/N", "only part I of N"}});
  add_jobs(command, arguments.jobs, "processes, for the estimate");
}

void add_slurm_options(CLI::App& command, SweepArguments& arguments) {
  declare(command, {{"--time", arguments.slurm.time, "T", "time limit of a part: 90 (minutes), 1:30:00, 2-12"},
                    {"--mem", arguments.slurm.memory, "SIZE", "memory of a part: 16G, 0 (all of the node)"},
                    {"--partition", arguments.slurm.partition, "NAME", "partition of the cluster"},
                    {"--account", arguments.slurm.account, "NAME", "account that pays"}});
  command.add_flag("--whole-node", arguments.slurm.whole_node,
                   "each part has a node for itself and a process for each of its processors");
  declare(command, {{"--at-once", arguments.at_once, "N", "parts that may run at once"}});
  command
      .add_option("--sbatch", arguments.slurm.directives,
                  "another option of sbatch, such as --sbatch=--qos=high; repeatable")
      ->type_name("OPTION")
      ->take_all();
}

void add_emit(CLI::App& sweep, Command& chosen) {
  CLI::App& scripts = *sweep.add_subcommand("emit", "job scripts for many machines");
  for (const bool for_slurm : {true, false}) {
    auto [inner, arguments] = add_command(scripts, chosen, for_slurm ? "slurm" : "gnu-parallel",
                                          "a script that runs the shards and merges", emit);
    arguments.for_slurm = for_slurm;
    inner.allow_extras();
    add_spec(inner, arguments);
    declare(inner, {{"--shards", arguments.shards, "N", "parts", true},
                    {"--jobs", arguments.jobs, "N", "worker processes of each part"},
                    {"--db", arguments.db, "FILE", "the united results"}});
    inner
        .add_option("--setup", arguments.setup,
                    "line of shell before the program, such as 'module load gcc'; repeatable")
        ->type_name("LINE")
        ->take_all();
    if (for_slurm) {
      add_slurm_options(inner, arguments);
    }
    declare(inner, {{"--out", arguments.out, "FILE", "write the script to FILE instead of stdout"}});
  }
}

int show_status(const SweepArguments& arguments) {
  const bool json = is_json(arguments.format);
  require_writable_text("--out", arguments.out);
  const std::vector<std::filesystem::path> parts(arguments.parts.begin(), arguments.parts.end());
  const sweep::SweepStatus status = sweep::sweep_status(parts);
  write_result(arguments.out, json ? sweep::status_json(status) : sweep::status_text(status));
  return status.state() == "done" ? 0 : 1;
}

int merge(const SweepArguments& arguments) {
  if (is_standard_output(arguments.out)) {
    throw base::InputError("--out: the united results are a database, which needs a file");
  }
  require_writable("--out", arguments.out);
  if (std::filesystem::exists(arguments.out)) {
    io::refuse("--out {}: exists; remove it or give another", io::printable(arguments.out));
  }
  const std::vector<std::filesystem::path> parts(arguments.parts.begin(), arguments.parts.end());
  const std::size_t rows = sweep::merge_sweeps(parts, arguments.out, arguments.mixed_builds);
  sweep::Database merged = sweep::open_sweep(arguments.out);
  const std::size_t missing = sweep::read_entries(merged).missing(rows);
  report::write_message(fmt::format("{}: {} rows from {} files{}\n", io::printable(arguments.out), rows, parts.size(),
                                    missing > 0 ? fmt::format("; {} points of the sweep are missing", missing) : ""));
  return 0;
}

int report_sweep(const SweepArguments& arguments) {
  sweep::require_report_format(arguments.format);
  require_writable_text("--out", arguments.out);
  require_writable_text("--html", arguments.html);
  const sweep::SweepTable table = sweep::read_sweep_table(arguments.db);
  const std::string text = sweep::sweep_report(table, arguments.format, command_line());
  write_if_asked(arguments.html, [&] { return sweep::sweep_report(table, "html", command_line()); });
  write_result(arguments.out, text);
  return 0;
}

void add_status(CLI::App& sweep, Command& chosen) {
  auto [command, arguments] = add_command(sweep, chosen, "status",
                                          "points that are done, failed and missing over all parts, and who works at "
                                          "them; exit code 0 where all are done, else 1",
                                          show_status);
  command
      .add_option("RESULTS", arguments.parts,
                  "results of a sweep, or of its shards; a name without a file stands for NAME.1, NAME.2, ...")
      ->type_name("FILE")
      ->required();
  declare(command, {{"--format", arguments.format, "text|json", "format of the output"},
                    {"--out", arguments.out, "FILE", "write to FILE instead of stdout"}});
}

void add_merge(CLI::App& sweep, Command& chosen) {
  auto [command, arguments] =
      add_command(sweep, chosen, "merge", "unite the results of shards: the same rows for any number", merge);
  command.add_option("PART", arguments.parts, "results of the shards")->type_name("FILE")->required();
  declare(command, {{"--out", arguments.out, "FILE", "the united results", true}});
  command.add_flag("--mixed-builds", arguments.mixed_builds, "even if the parts come from different builds");
}

void add_report(CLI::App& sweep, Command& chosen) {
  auto [command, arguments] = add_command(sweep, chosen, "report", "table, Pareto front, sensitivities", report_sweep);
  arguments.format = "markdown";
  declare(command, {{"DB", arguments.db, "FILE", "results of a sweep", true},
                    {"--format", arguments.format, "csv|markdown|html", "format of the report"},
                    {"--out", arguments.out, "FILE", "write the report to FILE instead of stdout"},
                    {"--html", arguments.html, "FILE", "write the page beside the report"}});
}

// --- declaration ---

void add_run_options(CLI::App& command, SweepArguments& arguments) {
  declare(command,
          {{"--db", arguments.db, "FILE",
            "results, SQLite; a finished part is not repeated (default: the name of SPEC with .sqlite, here)"}});
  add_jobs(command, arguments.jobs, "worker processes");
  declare(command,
          {{"--shard", arguments.shard, "I/N", "only part I of N; 'sweep merge' unites them"},
           {"--timeout", arguments.timeout, "S", "seconds that a point may take (default: the spec's, or no limit)"},
           {"--resimulate", arguments.resimulate, "N",
            "after a sweep in closed form SystemC simulates up to N points on the Pareto front or within 5 % of it "
            "again, and the report marks those that differ"}});
  command.add_flag("--no-resume", arguments.no_resume, "refuse results that exist already");
  command.add_flag("--retry-failed", arguments.retry_failed, "simulate failed points once more");
  command.add_flag("--mixed-builds", arguments.mixed_builds, "go on with results of another build of this version");
  command.add_flag("--quiet", arguments.quiet, "no progress and no summary");
}

}  // namespace

void add_sweep_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      add_command(app, chosen, "sweep", "design-space exploration: many runs, resumable, one table", run);
  add_plan(command, chosen);
  add_emit(command, chosen);
  add_status(command, chosen);
  add_merge(command, chosen);
  add_report(command, chosen);
  declare(command, {{"SPEC", arguments.spec, "FILE", "sweep: .json (configs/sweeps/README.md)"}});
  add_run_options(command, arguments);
}

}  // namespace sptc::cli
