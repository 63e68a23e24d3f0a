// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/check/times/validate.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/report/message.h"
#include "sim/report/progress.h"
#include "sim/report/report.h"
#include "sim/report/validation_page.h"
#include "sim/workload/importer/recording_reader.h"

#include <cstddef>
#include <optional>
#include <string>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string csv;
  std::string arch{check::times::kUsualBoard};
  TableOptions options;
  std::string dtype = "f16";
  std::string variants = "dense";
  std::string data = "random";
  std::string jobs;
  std::string format = "text";
  std::string out;
  std::string rows;
  std::string html;
  bool quiet = false;
  const CLI::App* command = nullptr;
};

int validate(const Arguments& given) {
  check::times::ValidationJob job;
  job.file = given.csv;
  job.arch = given.command->count("--arch") > 0 ? given.arch : "";
  job.options = given.options.parsed();
  run::require_consistent(job.options);
  job.fidelity_given = given.command->count("--fidelity") > 0;
  job.defaults = check::times::parse_defaults(given.dtype, given.variants, given.data, job.options);
  const report::ReportFormat format = report::parse_report_format(given.format);
  if (format == report::ReportFormat::kCsv) {
    throw base::InputError("--format: validate writes text or json");
  }
  job.jobs = parse_jobs(given.jobs);
  require_writable_text("--out", given.out);
  require_writable_text("--html", given.html);
  require_writable_text("--rows", given.rows);
  std::optional<report::ProgressBar> bar;
  job.on_recording = [](const workload::Recording& recording) {
    report::write_message(workload::importer::account_text(recording));
  };
  job.progress = [&](std::size_t done, std::size_t total) {
    if (!bar) {
      bar.emplace(given.quiet);
    }
    bar->update(done, total, "GEMMs");
  };
  const check::times::Validation validation = check::times::validate(job);
  bar.reset();
  write_result(given.out, format == report::ReportFormat::kJson ? check::times::validation_json(validation)
                                                                : check::times::validation_text(validation));
  write_if_asked(given.html, [&] { return report::validation_page(validation, command_line()); });
  write_if_asked(given.rows, [&] { return check::times::rows_csv(validation.rows); });
  return 0;
}

void add_options_of_rows(CLI::App& command, Arguments& arguments) {
  declare(command, {{"--dtype", arguments.dtype, "TYPE", "operands of rows that name no type"},
                    {"--variants", arguments.variants, "dense|sparse", "weights of rows that name no sparsity"},
                    {"--data", arguments.data, "random|integers|zeros|relu", "operand values, for the power"}});
  arguments.options.add(command, {"l2", "launch", "algorithm", "library", "d-dtype", "warmup", "repeat", "clock",
                                  "energy", "power-limit"});
}

}  // namespace

void add_validate_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] = add_command(
      app, chosen, "validate",
      "measured GEMM times, speed-ups and watts against simulated ones; options hold of rows that do not say otherwise",
      validate);
  arguments.command = &command;
  declare(command, {{"CSV", arguments.csv, "FILE",
                     "a recording with times, or CSV: header with m, n, k, time_us_median; may have dtype, sparsity, "
                     "d_dtype, l2, launch, algorithm, warmup, repeat, operands, clock_mhz, power_limit_w, power_w",
                     true},
                    {"--arch", arguments.arch, "NAME|FILE", "architecture: a name of 'arch list', or a file"}});
  arguments.options.add(command, {"fidelity"});
  command.get_option("--fidelity")
      ->type_name("timing|analytic")
      ->description("SystemC, or closed form (default: SystemC of up to 50 rows)")
      ->default_str("");
  add_options_of_rows(command, arguments);
  add_jobs(command, arguments.jobs, "processes");
  declare(command, {{"--format", arguments.format, "text|json", "format of the figures"},
                    {"--out", arguments.out, "FILE", "write them to FILE instead of stdout"},
                    {"--rows", arguments.rows, "FILE", "every row with its simulated time, clock, watts and tile, CSV"},
                    {"--html", arguments.html, "FILE", "write one page with figures, which needs no network"}});
  command.add_flag("--quiet", arguments.quiet, "no progress bar");
}

}  // namespace sptc::cli
