// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/io/file_use.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"
#include "sim/report/progress.h"
#include "sim/report/version.h"
#include "sim/run/option_table.h"
#include "sim/run/option_values.h"
#include "sim/sweep/checked_plan.h"
#include "sim/sweep/coordinator.h"
#include "sim/sweep/emit.h"
#include "sim/sweep/local_executor.h"
#include "sim/sweep/mpi_executor.h"
#include "sim/sweep/results_file.h"
#include "sim/sweep/simulation_point_runner.h"
#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_store.h"
#include "sim/sweep/time_estimate.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace sptc::cli {
namespace {

constexpr std::int64_t kMaxJobs = 1024;
constexpr std::int64_t kMaxShards = 1000000;

std::atomic<bool> stop_requested{false};

void request_stop(int /*signal*/) {
  stop_requested = true;
}

struct Arguments {
  std::string spec;
  std::string db;
  std::string jobs;
  std::string shard;
  std::string timeout;
  std::string memory;
  bool no_resume = false;
  bool retry_failed = false;
  bool mixed_builds = false;
  bool quiet = false;
  bool mpi = false;
  std::string first = "5";
  std::string shards;
  std::string out;
  std::string html;
  std::string format;
  std::vector<std::string> parts;
};

sweep::SweepPlan plan_of(const std::string& file) {
  if (!file.ends_with(".json")) {
    constexpr std::array<std::string_view, 4> kCommands{"plan", "merge", "report", "emit"};
    throw base::InputError(
        fmt::format("'{}' is no sweep (a .json file) and no command of sweep: {}",
                    io::printable(file), base::unknown_name(io::printable(file), kCommands)));
  }
  return sweep::checked_plan(sweep::read_sweep_spec(file), std::string(report::program_version()));
}

std::size_t parse_jobs(const std::string& text) {
  if (text.empty()) {
    return std::max(1U, std::thread::hardware_concurrency());
  }
  return static_cast<std::size_t>(run::parse_positive("--jobs", text, kMaxJobs));
}

sweep::SweepShard parse_shard(const std::string& text) {
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

sweep::PointLimits limits_of(const Arguments& arguments, const sweep::SweepSpec& spec) {
  sweep::PointLimits limits{spec.timeout_s, spec.memory_mb};
  if (!arguments.timeout.empty()) {
    limits.timeout_s =
        static_cast<double>(run::parse_positive("--timeout", arguments.timeout, 10000000));
  }
  if (!arguments.memory.empty()) {
    limits.memory_mb =
        static_cast<std::uint64_t>(run::parse_positive("--memory", arguments.memory, 1 << 30));
  }
  return limits;
}

std::filesystem::path results_of(const Arguments& arguments) {
  return arguments.db.empty() ? std::filesystem::path(arguments.spec).stem().string() + ".sqlite"
                              : arguments.db;
}

void handle_stop_signals() {
  on_interrupts(request_stop);
  std::signal(SIGPIPE, SIG_IGN);
}

void print_summary(const sweep::SweepProgress& progress, const sweep::SweepStore& store,
                   const std::filesystem::path& file) {
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
  const Arguments& arguments;
  sweep::SimulationPointRunner runner;
  sweep::SweepPlan plan;
  sweep::PointLimits limits;
  sweep::SweepShard shard;
  std::filesystem::path file;

  explicit Job(const Arguments& given)
      : arguments(given),
        plan(plan_of(given.spec)),
        limits(limits_of(given, plan.spec())),
        shard(parse_shard(given.shard)),
        file(results_of(given)) {}
};

int drive(Job& job, sweep::SweepStore& store, sweep::Executor& executor) {
  sweep::SweepProgress progress;
  {
    report::ProgressBar bar(job.arguments.quiet, report::ProgressBar::Elsewhere::kLines);
    progress = sweep::run_sweep(job.plan, job.runner, job.limits, job.shard, store, executor,
                                stop_requested,
                                [&](const sweep::SweepProgress& now) { bar.update(now.shown()); });
  }
  if (!progress.interrupted && !store.finish()) {
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

int run(const Arguments& arguments) {
  Job job(arguments);
  const std::size_t jobs = parse_jobs(arguments.jobs);
  if (arguments.mpi && !arguments.jobs.empty()) {
    throw base::InputError("--jobs has no effect with --mpi: every rank but the first is a worker");
  }
  if (arguments.no_resume && std::filesystem::exists(job.file)) {
    throw base::InputError(
        fmt::format("{}: exists, and --no-resume was given", io::printable(job.file.string())));
  }
  io::require_no_input(job.file);
  const sweep::SweepStore::Options options{arguments.retry_failed, arguments.mixed_builds};
  if (arguments.mpi) {
    return sweep::run_with_mpi(job.plan, job.runner, job.limits, [&](sweep::Executor& ranks) {
      handle_stop_signals();
      sweep::SweepStore store(job.file, job.plan, options);
      return drive(job, store, ranks);
    });
  }
  handle_stop_signals();
  sweep::SweepStore store(job.file, job.plan, options);
  sweep::LocalExecutor executor(job.plan, job.runner, job.limits, jobs);
  return drive(job, store, executor);
}

// --- plan ---

std::string describe_point(const sweep::SweepPlan& plan, std::uint64_t position) {
  std::string text;
  for (std::size_t axis = 0; axis < plan.spec().axes.size(); ++axis) {
    const sweep::SweepAxis& varied = plan.spec().axes[axis];
    if (axis < 2 && varied.values.size() == 1) {
      continue;  // the only workload, the only architecture
    }
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", varied.name,
                        run::option_text(plan.value(axis, position)));
  }
  return text;
}

std::string duration(double seconds) {
  return seconds < 120    ? fmt::format("{:.1f} s", seconds)
         : seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60)
         : seconds < 2e5  ? fmt::format("{:.1f} h", seconds / 3600)
                          : fmt::format("{:.0f} days", seconds / 86400);
}

int show_plan(const Arguments& arguments) {
  sweep::SimulationPointRunner runner;
  const sweep::SweepPlan plan = plan_of(arguments.spec);
  const sweep::SweepShard shard = parse_shard(arguments.shard);
  const std::size_t jobs = parse_jobs(arguments.jobs);
  const std::int64_t first = run::parse_positive("--first", arguments.first, 1000000000);
  std::uint64_t number = 0;
  std::uint64_t points = 0;
  std::vector<sweep::EstimatedPoint> estimated;
  std::string listed;
  plan.for_each([&](std::uint64_t position) {
    if (number++ % shard.count == shard.index - 1) {
      const sweep::SweepPoint point = plan.point(position);
      estimated.push_back({position, static_cast<float>(runner.estimated_seconds(plan, point))});
      if (points++ < static_cast<std::uint64_t>(first)) {
        listed += fmt::format("{:>10}  {}  {}\n", position, plan.hash(point).substr(0, 12),
                              describe_point(plan, position));
      }
    }
    return true;
  });
  std::string text = fmt::format("{}: {} points of {} in the product of {} axes\n",
                                 plan.spec().name, points, plan.product(), plan.spec().axes.size());
  const sweep::TimeEstimate time = sweep::estimate_time(plan, runner, estimated);
  const auto shared = static_cast<double>(jobs);
  text +=
      time.measured == 0
          ? fmt::format("roughly {} with {} jobs; no point is short enough to be measured here\n\n",
                        duration(time.seconds / shared), jobs)
          : fmt::format("about {} with {} jobs ({} to {}: {} points measured now)\n\n",
                        duration(time.seconds / shared), jobs, duration(time.low / shared),
                        duration(time.high / shared), time.measured);
  text += fmt::format("{:>10}  {:<12}  {}\n", "position", "hash", "point") + listed;
  if (points > static_cast<std::uint64_t>(first)) {
    text += fmt::format("       ...  {} more (--first N)\n",
                        points - static_cast<std::uint64_t>(first));
  }
  write_result({}, text);
  return 0;
}

// --- merge, report, emit ---

int merge(const Arguments& arguments) {
  if (is_standard_output(arguments.out)) {
    throw base::InputError("--out: the united results are a database, which needs a file");
  }
  require_writable("--out", arguments.out);
  if (std::filesystem::exists(arguments.out)) {
    throw base::InputError(
        fmt::format("--out {}: exists; remove it or give another", io::printable(arguments.out)));
  }
  const std::vector<std::filesystem::path> parts(arguments.parts.begin(), arguments.parts.end());
  const std::size_t rows = sweep::merge_sweeps(parts, arguments.out, arguments.mixed_builds);
  sweep::Database merged = sweep::open_sweep(arguments.out);
  const std::size_t missing = sweep::read_entries(merged).missing(rows);
  report::write_message(
      fmt::format("{}: {} rows from {} files{}\n", io::printable(arguments.out), rows, parts.size(),
                  missing > 0 ? fmt::format("; {} points of the sweep are missing", missing) : ""));
  return 0;
}

int report_sweep(const Arguments& arguments) {
  const sweep::SweepReportFormat format = sweep::parse_sweep_report_format(arguments.format);
  if (!arguments.out.empty()) {
    if (sweep::is_spec_of(arguments.db, arguments.out)) {
      io::announce_input(arguments.out);
    }
    require_writable("--out", arguments.out);
  }
  if (!arguments.html.empty()) {
    require_writable_text("--html", arguments.html);
    write_result(arguments.html,
                 sweep::sweep_report(arguments.db, sweep::parse_sweep_report_format("html")));
  }
  write_result(arguments.out, sweep::sweep_report(arguments.db, format));
  return 0;
}

int emit(const Arguments& arguments, const std::string& kind) {
  const sweep::SweepPlan plan = plan_of(arguments.spec);
  if (!arguments.out.empty()) {
    require_writable("--out", arguments.out);
  }
  sweep::EmitOptions options;
  options.program = std::filesystem::read_symlink("/proc/self/exe");
  options.spec = arguments.spec;
  options.results = results_of(arguments);
  options.name = plan.spec().name;
  options.shards =
      static_cast<std::uint64_t>(run::parse_positive("--shards", arguments.shards, kMaxShards));
  options.jobs = arguments.jobs.empty() ? 1 : parse_jobs(arguments.jobs);
  write_result(arguments.out, kind == "slurm" ? sweep::slurm_script(options)
                                              : sweep::gnu_parallel_script(options));
  return 0;
}

// --- declaration ---

using Shared = std::shared_ptr<Arguments>;

void add_spec(CLI::App& command, const Shared& arguments) {
  command.add_option("SPEC", arguments->spec, "sweep: .json (configs/sweeps/README.md)")
      ->type_name("FILE")
      ->required();
}

void add_run_options(CLI::App& command, const Shared& arguments) {
  command
      .add_option("--db", arguments->db,
                  "results, SQLite; a finished part is not repeated "
                  "(default: the name of SPEC with .sqlite, here)")
      ->type_name("FILE");
  command.add_option("--jobs", arguments->jobs, "worker processes (default: all processors)")
      ->type_name("N");
  command.add_option("--shard", arguments->shard, "only part I of N; 'sweep merge' unites them")
      ->type_name("I/N");
  command
      .add_option("--timeout", arguments->timeout,
                  "seconds that a point may take (default: the spec's, or no limit)")
      ->type_name("S");
  command
      .add_option("--memory", arguments->memory,
                  "megabytes that a point may take beyond the program (default: the spec's, or no "
                  "limit)")
      ->type_name("MB");
  command.add_flag("--no-resume", arguments->no_resume, "refuse results that exist already");
  command.add_flag("--retry-failed", arguments->retry_failed, "simulate failed points once more");
  command.add_flag("--mixed-builds", arguments->mixed_builds,
                   "go on with results of another build of this version");
  command.add_flag("--quiet", arguments->quiet, "no progress and no summary");
  command.add_flag("--mpi", arguments->mpi, "the ranks of mpirun are the workers, rank 0 stores");
}

void add_plan(CLI::App& sweep, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      sweep.add_subcommand("plan", "number of points, estimated time and the first few");
  add_spec(*command, arguments);
  command->add_option("--first", arguments->first, "points to list")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--shard", arguments->shard, "only part I of N")->type_name("I/N");
  command
      ->add_option("--jobs", arguments->jobs,
                   "processes, for the estimate (default: all processors)")
      ->type_name("N");
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return show_plan(*arguments); }; });
}

void add_merge(CLI::App& sweep, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      sweep.add_subcommand("merge", "unite the results of shards: the same bytes for any number");
  command->add_option("PART", arguments->parts, "results of the shards")
      ->type_name("FILE")
      ->required();
  command->add_option("--out", arguments->out, "the united results")->type_name("FILE")->required();
  command->add_flag("--mixed-builds", arguments->mixed_builds,
                    "even if the parts come from different builds");
  command->callback([arguments, &chosen] { chosen = [arguments] { return merge(*arguments); }; });
}

void add_report(CLI::App& sweep, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  arguments->format = "markdown";
  CLI::App* command = sweep.add_subcommand("report", "table, Pareto front, sensitivities");
  command->add_option("DB", arguments->db, "results of a sweep")->type_name("FILE")->required();
  command->add_option("--format", arguments->format, "of the report")
      ->type_name("csv|markdown|html")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write the report to FILE instead of stdout")
      ->type_name("FILE");
  command->add_option("--html", arguments->html, "write the page beside the report")
      ->type_name("FILE");
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return report_sweep(*arguments); }; });
}

void add_emit(CLI::App& sweep, Command& chosen) {
  CLI::App* command = sweep.add_subcommand("emit", "job scripts for many machines");
  for (const char* kind : {"slurm", "gnu-parallel"}) {
    auto arguments = std::make_shared<Arguments>();
    CLI::App* inner = command->add_subcommand(kind, "a script that runs the shards and merges");
    inner->allow_extras();
    add_spec(*inner, arguments);
    inner->add_option("--shards", arguments->shards, "parts")->type_name("N")->required();
    inner->add_option("--jobs", arguments->jobs, "worker processes of each part")->type_name("N");
    inner->add_option("--db", arguments->db, "the united results")->type_name("FILE");
    inner->add_option("--out", arguments->out, "write the script to FILE instead of stdout")
        ->type_name("FILE");
    inner->callback([arguments, kind, &chosen] {
      chosen = [arguments, kind] { return emit(*arguments, kind); };
    });
  }
}

}  // namespace

void add_sweep_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("sweep", "design-space exploration: many runs, resumable, one table");
  add_plan(*command, chosen);
  add_merge(*command, chosen);
  add_report(*command, chosen);
  add_emit(*command, chosen);
  command->add_option("SPEC", arguments->spec, "sweep: .json (configs/sweeps/README.md)")
      ->type_name("FILE");
  add_run_options(*command, arguments);
  command->callback([arguments, command, &chosen] {
    if (!command->get_subcommands().empty()) {
      return;
    }
    chosen = [arguments] {
      if (arguments->spec.empty()) {
        throw base::InputError("sweep: SPEC is missing, or a command (plan, merge, report, emit)");
      }
      return run(*arguments);
    };
  });
}

}  // namespace sptc::cli
