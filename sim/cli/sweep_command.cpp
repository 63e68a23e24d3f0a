// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/cli/sweep_arguments.h"
#include "sim/io/file_use.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"
#include "sim/report/progress.h"
#include "sim/report/version.h"
#include "sim/run/option_values.h"
#include "sim/sweep/execution/coordinator.h"
#include "sim/sweep/execution/resimulation.h"
#include "sim/sweep/execution/sweep_status.h"
#include "sim/sweep/executors/local_executor.h"
#include "sim/sweep/point/simulation_point_runner.h"
#include "sim/sweep/store/sweep_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>

namespace sptc::cli {

sweep::space::SweepPlan plan_of(const SweepArguments& arguments) {
  const std::string& file = arguments.spec;
  if (!file.ends_with(".json")) {
    constexpr std::array<std::string_view, 5> kCommands{"plan", "status", "merge", "report",
                                                        "emit"};
    throw base::InputError(
        fmt::format("'{}' is no sweep (a .json file) and no command of sweep: {}",
                    io::printable(file), base::unknown_name(io::printable(file), kCommands)));
  }
  return sweep::space::checked_plan(sweep::space::read_sweep_spec(file),
                                    std::string(report::program_version()));
}

sweep::execution::SweepShard parse_shard(const std::string& text) {
  if (text.empty()) {
    return {};
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw base::InputError(
        fmt::format("--shard must be I/N, for example 2/8, not '{}'", io::printable(text)));
  }
  const std::int64_t count =
      run::parse_positive("N of --shard I/N", text.substr(slash + 1), kMaxShards);
  const std::int64_t index = run::parse_positive("I of --shard I/N", text.substr(0, slash), count);
  return {static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(count)};
}

std::filesystem::path results_of(const SweepArguments& arguments) {
  if (!arguments.db.empty()) {
    return arguments.db;
  }
  const std::string name = std::filesystem::path(arguments.spec).stem().string() + ".sqlite";
  std::error_code error;
  if (std::filesystem::is_symlink(name, error)) {
    throw base::InputError(io::printable(name) +
                           ": is a link; where the results go through one, --db names it");
  }
  return name;
}

void add_spec(CLI::App& command, const std::shared_ptr<SweepArguments>& arguments) {
  declare(command,
          {{"SPEC", arguments->spec, "FILE", "sweep: .json (configs/sweeps/README.md)", true}});
}

namespace {

std::atomic<bool> stop_requested{false};

void request_stop(int /*signal*/) {
  stop_requested = true;
}

sweep::executors::PointLimits limits_of(const SweepArguments& arguments,
                                        const sweep::space::SweepSpec& spec) {
  sweep::executors::PointLimits limits{spec.timeout_s, spec.memory_mb};
  if (!arguments.timeout.empty()) {
    limits.timeout_s =
        static_cast<double>(run::parse_positive("--timeout", arguments.timeout, 10000000));
  }
  return limits;
}

/// From when the results are open: what is read of them before, a signal ends at once.
void handle_stop_signals() {
  on_interrupts(request_stop);
  std::signal(SIGPIPE, SIG_IGN);
}

void print_summary(const sweep::execution::SweepProgress& progress,
                   const sweep::store::SweepStore& store, const std::filesystem::path& file) {
  const double rate =
      progress.seconds > 0 ? static_cast<double>(progress.done) / progress.seconds : 0;
  report::write_message(fmt::format(
      "{}{} of {} points: {} now ({:.1f} s, {:.1f} points/s), {} before; {} of all rows failed\n",
      progress.interrupted ? "interrupted: " : "", progress.done + progress.reused, progress.total,
      progress.done, progress.seconds, rate, progress.reused, store.failures()));
  report::write_message(
      progress.interrupted
          ? "the rest follows when the command is repeated\n"
          : fmt::format("results: {0}   (sptcsim sweep report {0})\n", file.string()));
}

/// What `run` was asked for, checked.
struct Job {
  const SweepArguments& arguments;
  sweep::point::SimulationPointRunner runner;
  sweep::space::SweepPlan plan;
  sweep::executors::PointLimits limits;
  sweep::execution::SweepShard shard;
  std::filesystem::path file;

  explicit Job(const SweepArguments& given)
      : arguments(given),
        plan(plan_of(given)),
        limits(limits_of(given, plan.spec())),
        shard(parse_shard(given.shard)),
        file(results_of(given)) {}
};

/// --resimulate; 0 where it is not given.
std::size_t points_to_resimulate(const Job& job) {
  const SweepArguments& arguments = job.arguments;
  if (arguments.resimulate.empty()) {
    return 0;
  }
  if (!arguments.shard.empty()) {
    throw base::InputError(
        "--resimulate needs the whole front: not with --shard, but on the merged results");
  }
  sweep::execution::as_timing(job.plan.spec());  // or says why not
  return static_cast<std::size_t>(
      run::parse_positive("--resimulate", arguments.resimulate, 1 << 20));
}

int drive(Job& job, sweep::store::SweepStore& store, sweep::executors::LocalExecutor& executor) {
  sweep::execution::SweepProgress progress;
  {
    sweep::execution::RunMarker mark(job.file, job.shard);
    report::ProgressBar bar(job.arguments.quiet, report::ProgressBar::Elsewhere::kLines);
    progress = sweep::execution::run_sweep(job.plan, job.runner, job.limits, job.shard, store,
                                           executor, stop_requested,
                                           [&](const sweep::execution::SweepProgress& now) {
                                             bar.update(now.shown());
                                             mark.update(now);
                                           });
  }
  if (!progress.interrupted && !sweep::execution::finish(store)) {
    report::write_message(fmt::format(
        "{}: another program reads it, so its rows stay as they came; 'sptcsim sweep merge' puts "
        "them in order\n",
        job.file.string()));
  }
  if (!job.arguments.quiet) {
    print_summary(progress, store, job.file);
  }
  return progress.interrupted ? report::kInterrupted : store.failures() > 0 ? 1 : 0;
}

int resimulate(Job& job, std::size_t most, std::size_t jobs,
               const sweep::store::SweepStore::Options& options) {
  sweep::execution::SweepProgress progress;
  {
    report::ProgressBar bar(job.arguments.quiet, report::ProgressBar::Elsewhere::kLines);
    progress = sweep::execution::simulate_again(job.plan, job.runner, job.limits, job.file, most,
                                                jobs, options, stop_requested,
                                                [&](const auto& now) { bar.update(now.shown()); });
  }
  if (!job.arguments.quiet) {
    report::write_message(progress.interrupted
                              ? "interrupted: the rest follows when the command is repeated\n"
                              : fmt::format("SystemC simulated {} points on the front or near it "
                                            "again, {} failed\n",
                                            progress.total, progress.failures));
  }
  return progress.interrupted ? report::kInterrupted : progress.failures > 0 ? 1 : 0;
}

int run(const SweepArguments& arguments) {
  Job job(arguments);
  const auto jobs = static_cast<std::size_t>(parse_jobs(arguments.jobs));
  if (arguments.no_resume && std::filesystem::exists(job.file)) {
    throw base::InputError(
        fmt::format("{}: exists, and --no-resume was given", io::printable(job.file.string())));
  }
  io::require_no_input(job.file);
  const std::size_t again = points_to_resimulate(job);
  const sweep::store::SweepStore::Options options{arguments.retry_failed, arguments.mixed_builds};
  int code = 0;
  {
    sweep::store::SweepStore store(job.file, job.plan, options);
    handle_stop_signals();
    sweep::executors::LocalExecutor executor(job.plan, job.runner, job.limits, jobs);
    code = drive(job, store, executor);
  }
  return again == 0 || code == report::kInterrupted
             ? code
             : std::max(code, resimulate(job, again, jobs, options));
}

// --- declaration ---

void add_run_options(CLI::App& command, const std::shared_ptr<SweepArguments>& arguments) {
  declare(command, {{"--db", arguments->db, "FILE",
                     "results, SQLite; a finished part is not repeated (default: the name of SPEC "
                     "with .sqlite, here)"}});
  add_jobs(command, arguments->jobs, "worker processes");
  declare(
      command,
      {{"--shard", arguments->shard, "I/N", "only part I of N; 'sweep merge' unites them"},
       {"--timeout", arguments->timeout, "S",
        "seconds that a point may take (default: the spec's, or no limit)"},
       {"--resimulate", arguments->resimulate, "N",
        "of a sweep in closed form: SystemC simulates up to N points on the Pareto front or within "
        "5 % of it again, and the report marks those that differ"}});
  command.add_flag("--no-resume", arguments->no_resume, "refuse results that exist already");
  command.add_flag("--retry-failed", arguments->retry_failed, "simulate failed points once more");
  command.add_flag("--mixed-builds", arguments->mixed_builds,
                   "go on with results of another build of this version");
  command.add_flag("--quiet", arguments->quiet, "no progress and no summary");
}

}  // namespace

void add_sweep_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command =
      app.add_subcommand("sweep", "design-space exploration: many runs, resumable, one table");
  add_sweep_subcommands(*command, chosen);
  declare(*command, {{"SPEC", arguments->spec, "FILE", "sweep: .json (configs/sweeps/README.md)"}});
  add_run_options(*command, arguments);
  command->callback([arguments, command, &chosen] {
    if (!command->get_subcommands().empty()) {
      return;
    }
    chosen = [arguments] {
      if (arguments->spec.empty()) {
        throw base::InputError(
            "sweep: SPEC is missing, or a command (plan, status, merge, report, emit)");
      }
      return run(*arguments);
    };
  });
}

}  // namespace sptc::cli
