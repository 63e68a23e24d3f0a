// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/import_options.h"
#include "sim/cli/output.h"
#include "sim/cli/table_options.h"
#include "sim/compare/times/launch_simulation.h"
#include "sim/compare/times/measurements.h"
#include "sim/compare/times/recorded_measurements.h"
#include "sim/compare/times/validation_report.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/report/progress.h"
#include "sim/report/report.h"
#include "sim/report/validation_page.h"
#include "sim/run/option_values.h"
#include "sim/run/run_options.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::cli {
namespace {

constexpr std::int64_t kMaxJobs = 1024;
// So many launches on all SMs are a matter of minutes.
constexpr std::size_t kMostRowsOnAllSms = 50;

struct Arguments {
  std::string csv;
  bool arch_given = false;
  std::string arch = "a100-sxm4-80gb";
  TableOptions options;
  std::string dtype = "f16";
  std::string variants = "dense";
  std::string data = "random";
  std::string jobs = "1";
  std::string format = "text";
  std::string out;
  std::string rows;
  std::string html;
  bool quiet = false;
};

/// What all launches have in common.
run::SimulationOptions checked(const Arguments& given) {
  const run::SimulationOptions options = given.options.parsed();
  if (options.fidelity == run::Fidelity::kDatapath) {
    throw base::InputError("--fidelity: measured times are compared with timing or analytic");
  }
  run::require_consistent(options);
  return options;
}

compare::times::MeasurementDefaults defaults_of(const Arguments& given,
                                                const run::SimulationOptions& options) {
  compare::times::MeasurementDefaults defaults;
  const auto type = workload::parse_operand_type(given.dtype);
  if (!type) {
    throw base::InputError("--dtype: " + workload::unknown_operand_type(given.dtype));
  }
  const run::Variants variants = run::parse_variants(given.variants);
  if (variants == run::Variants::kBoth) {
    throw base::InputError("--variants: a measured time is that of a dense or of a sparse launch");
  }
  defaults.sparse = variants == run::Variants::kSparse;
  defaults.launch.dtype = *type;
  defaults.launch.operands = workload::parse_data_kind(given.data);
  defaults.launch.conditions = options.conditions;
  defaults.launch.d_dtype = options.d_dtype;
  return defaults;
}

/// What the figures rest on beside the rows themselves.
std::vector<std::string> notes_on(const std::vector<compare::times::Measurement>& measured,
                                  const std::vector<std::string>& ignored,
                                  const config::Architecture& architecture,
                                  const run::RunOptions& options) {
  std::vector<std::string> notes;
  if (!options.power_note.empty()) {
    notes.push_back(options.power_note);
  }
  if (!options.power) {
    notes.push_back(fmt::format("'{}' has no energies, so that no power limit lowers its clock, {}",
                                architecture.gpu.name, options.clock_policy.name()));
    const auto watts =
        std::count_if(measured.begin(), measured.end(), [](const compare::times::Measurement& row) {
          return row.power_w || row.launch.power_limit_w;
        });
    if (watts > 0) {
      notes.push_back(fmt::format("watts of {} rows are compared with nothing", watts));
    }
  }
  if (!ignored.empty()) {
    notes.push_back(fmt::format("columns that are not read: {}", fmt::join(ignored, ", ")));
  }
  return notes;
}

void require_writable_files(const Arguments& given) {
  require_writable_text("--html", given.html);
  for (const auto& [option, path] :
       {std::pair("--out", given.out), std::pair("--rows", given.rows)}) {
    if (!path.empty()) {
      require_writable(option, path);
    }
  }
}

/// The recording that the user gives; nothing where it is a CSV of measured times.
std::optional<workload::Recording> given_recording(const std::string& file) {
  workload::InputStream input{std::filesystem::path(file)};
  return workload::is_recording(input) ? std::optional(RecordingOptions{file}.read(input))
                                       : std::nullopt;
}

int validate(const Arguments& given) {
  const run::SimulationOptions asked = checked(given);
  compare::times::MeasurementDefaults defaults = defaults_of(given, asked);
  const report::ReportFormat format = report::parse_report_format(given.format);
  if (format == report::ReportFormat::kCsv) {
    throw base::InputError("--format: validate writes text or json");
  }
  const auto jobs = static_cast<int>(run::parse_positive("--jobs", given.jobs, kMaxJobs));
  require_writable_files(given);
  const std::optional<workload::Recording> recording = given_recording(given.csv);
  const bool recorded = recording && !given.arch_given && !recording->account.arch.empty();
  const config::Architecture architecture = run::with_asked(
      config::load_architecture(recorded ? recording->account.arch : given.arch), asked);
  run::EnergyFiles files;
  run::RunOptions options = run::resolved(asked, architecture, files);
  defaults.launch.repetition = options.repetition;
  if (options.power) {
    defaults.launch.power_limit_w = options.power->power_limit_w;
  }
  std::vector<std::string> ignored, left_out;
  const std::vector<compare::times::Measurement> measured =
      recording ? compare::times::recorded_measurements(
                      recording->workload, io::printable(given.csv), defaults, left_out)
                : compare::times::read_measurements(given.csv, defaults, &ignored);
  const bool events = options.fidelity == run::Fidelity::kTiming;
  if (events && !options.sms && measured.size() <= kMostRowsOnAllSms) {
    options.sms = sampling::SimulatedSms::kAll;
  }
  report::ProgressBar bar(given.quiet);
  const std::string file = io::printable(given.csv);
  const std::vector<compare::times::Prediction> launches = compare::times::simulate_launches(
      measured, file, architecture, options, jobs,
      [&](std::size_t done, std::size_t total) { bar.update(done, total, "GEMMs"); });
  std::vector<compare::times::Comparison> rows;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    rows.push_back({measured[i], launches[i]});
  }
  std::vector<std::string> notes = notes_on(measured, ignored, architecture, options);
  notes.insert(notes.end(), left_out.begin(), left_out.end());
  const compare::times::Validation validation = compare::times::validation_of(
      {architecture.gpu.name, file, std::string(run::name(options.fidelity)),
       events ? std::string(run::name(options.simulated_sms())) : "",
       options.clock_limited ? "limited" : options.clock_policy.name(), defaults, std::move(notes)},
      rows);
  write_result(given.out, format == report::ReportFormat::kJson
                              ? compare::times::validation_json(validation)
                              : compare::times::validation_text(validation));
  if (!given.html.empty()) {
    write_result(given.html, report::validation_page(validation, rows, command_line()));
  }
  if (!given.rows.empty()) {
    write_result(given.rows, compare::times::rows_csv(rows));
  }
  return 0;
}

void add_options_of_rows(CLI::App& command, Arguments& arguments) {
  command.add_option("--dtype", arguments.dtype, "operands of rows that name no type")
      ->type_name("TYPE")
      ->capture_default_str();
  command.add_option("--variants", arguments.variants, "weights of rows that name no sparsity")
      ->type_name("dense|sparse")
      ->capture_default_str();
  command.add_option("--data", arguments.data, "operand values, for the power")
      ->type_name("random|integers|zeros|relu")
      ->capture_default_str();
  arguments.options.add(command, {"l2", "launch", "algorithm", "library", "d-dtype", "warmup",
                                  "repeat", "clock", "energy", "power-limit"});
}

}  // namespace

void add_validate_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "validate",
      "measured GEMM times, speed-ups and watts against simulated ones; options hold of rows that "
      "do not say otherwise");
  command
      ->add_option("CSV", arguments->csv,
                   "a recording with times, or CSV: header with m, n, k, time_us_median; may have "
                   "dtype, sparsity, d_dtype, l2, "
                   "launch, algorithm, warmup, repeat, operands, clock_mhz, power_limit_w, power_w")
      ->type_name("FILE")
      ->required();
  command->add_option("--arch", arguments->arch, "architecture: a name of 'arch list', or a file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  arguments->options.add(*command, {"fidelity", "sms"});
  command->get_option("--fidelity")
      ->type_name("timing|analytic")
      ->description("SystemC, or closed form");
  command->get_option("--sms")->description(
      "SMs that SystemC simulates (default: all of up to 50 rows, else sampled)");
  add_options_of_rows(*command, *arguments);
  command->add_option("--jobs", arguments->jobs, "processes")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--format", arguments->format, "of the figures")
      ->type_name("text|json")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write them to FILE instead of stdout")
      ->type_name("FILE");
  command
      ->add_option("--rows", arguments->rows,
                   "every row with its simulated time, clock, watts and tile, CSV")
      ->type_name("FILE");
  command
      ->add_option("--html", arguments->html, "write one page with figures, which needs no network")
      ->type_name("FILE");
  command->add_flag("--quiet", arguments->quiet, "no progress bar");
  command->callback([arguments, command, &chosen] {
    arguments->arch_given = command->get_option("--arch")->count() > 0;
    chosen = [arguments] { return validate(*arguments); };
  });
}

}  // namespace sptc::cli
