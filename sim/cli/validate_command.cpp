// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/config/text_file.h"
#include "sim/report/progress.h"
#include "sim/report/report.h"
#include "sim/run/gemm_launcher.h"
#include "sim/run/run_options.h"
#include "sim/validate/accuracy.h"
#include "sim/validate/accuracy_report.h"
#include "sim/validate/measurements.h"
#include "sim/validate/prediction.h"
#include "sim/validate/scatter_plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sptc::sim {
namespace {

constexpr std::int64_t kMaxJobs = 1024;

struct Arguments {
  std::string csv;
  std::string arch = "a100-sxm4-80gb";
  std::string fidelity = "analytic";
  std::string clock = "boost";
  std::string variants = "dense";
  std::string split_k;
  std::string jobs = "1";
  std::string format = "text";
  std::string out;
  std::string plot;
  std::string rows;
  bool quiet = false;
};

RunOptions checked(const Arguments& given) {
  RunOptions options;
  options.fidelity = parse_fidelity(given.fidelity);
  if (options.fidelity == Fidelity::kDatapath) {
    throw InputError("--fidelity: measured times are compared with timing or analytic");
  }
  options.variants = parse_variants(given.variants);
  if (options.variants == Variants::kBoth) {
    throw InputError("--variants: a measured time is that of a dense or of a sparse launch");
  }
  if (!given.split_k.empty()) {
    options.kernel.split_k =
        static_cast<int>(parse_positive("--split-k", given.split_k, kMaxSplitK));
  }
  options.check = CheckMode::kNone;
  options.clock = parse_clock(given.clock, "'boost'");
  return options;
}

/// Launches of `measured`, in its order.
std::vector<Prediction> simulate(const std::vector<Measurement>& measured, const GpuSpec& gpu,
                                 const RunOptions& options, int jobs, bool quiet) {
  const bool sparse = options.variants == Variants::kSparse;
  ProgressBar bar(quiet);
  std::vector<Prediction> launches = predict_times(
      measured, jobs,
      [&]() -> TimePredictor {
        const auto timer = std::make_shared<GemmTimer>(gpu, options);
        return [timer, sparse](const GemmShape& shape) -> Prediction {
          Operation op;
          op.shape = shape;
          const VariantResult launch = (*timer)(op, sparse);
          return {launch.time_us,       launch.launch_us,       launch.clock_mhz,
                  launch.clock_scaling, launch.kernel.cta_tile, launch.kernel.split_k};
        };
      },
      [&](std::size_t done, std::size_t total) { bar.update(done, total, "GEMMs"); });
  return launches;
}

/// `measured` beside their simulated times.
std::vector<Comparison> beside(const std::vector<Measurement>& measured,
                               const std::vector<Prediction>& launches) {
  std::vector<Comparison> rows;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    rows.push_back({measured[i], launches[i].time_us});
  }
  return rows;
}

int validate(const Arguments& given) {
  const RunOptions options = checked(given);
  const ReportFormat format = parse_report_format(given.format);
  if (format == ReportFormat::kCsv) {
    throw InputError("--format: validate writes text or json");
  }
  const auto jobs = static_cast<int>(parse_positive("--jobs", given.jobs, kMaxJobs));
  for (const auto& [option, path] :
       {std::pair("--out", given.out), {"--plot", given.plot}, {"--rows", given.rows}}) {
    if (!path.empty()) {
      require_writable(option, path);
    }
  }
  const Architecture architecture = load_architecture(given.arch);
  std::vector<std::string> ignored;
  const std::vector<Measurement> measured =
      read_measurements(given.csv, options.variants == Variants::kSparse, &ignored);
  const std::vector<Prediction> launches =
      simulate(measured, architecture.gpu, options, jobs, given.quiet);
  const std::vector<Comparison> rows = beside(measured, launches);
  const Accuracy accuracy = measure_accuracy(rows);
  ValidationHeader header{architecture.gpu.name,
                          printable(given.csv),
                          std::string(name(options.fidelity)),
                          given.clock,
                          {},
                          {}};
  if (!ignored.empty()) {
    header.notes.push_back(fmt::format("columns that are not read: {}", fmt::join(ignored, ", ")));
  }
  write_result(given.out, format == ReportFormat::kJson ? accuracy_json(header, accuracy)
                                                        : accuracy_text(header, accuracy));
  if (!given.rows.empty()) {
    write_result(given.rows, rows_csv(measured, launches));
  }
  if (!given.plot.empty()) {
    write_result(given.plot,
                 scatter_plot(rows, fmt::format("{}, {} GEMMs: mean error {:.1f} %", header.arch,
                                                accuracy.count, accuracy.mape_percent)));
  }
  return 0;
}

}  // namespace

void add_validate_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("validate", "measured GEMM times against simulated ones: errors, plot");
  command->add_option("CSV", arguments->csv, "header with m, n, k, time_us_median; f16, batch 1")
      ->type_name("FILE")
      ->required();
  command->add_option("--arch", arguments->arch, "architecture: a name of 'arch list', or a file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  command
      ->add_option("--fidelity", arguments->fidelity,
                   "closed form, or SystemC with a few SMs for all (some 15 ms a shape)")
      ->type_name("analytic|timing")
      ->capture_default_str();
  command->add_option("--clock", arguments->clock, "SM clock under which was measured")
      ->type_name("boost|MHZ")
      ->capture_default_str();
  command->add_option("--variants", arguments->variants, "what was measured: dense or 2:4 launches")
      ->type_name("dense|sparse")
      ->capture_default_str();
  command->add_option("--split-k", arguments->split_k, "slices of K instead of the library's")
      ->type_name("N");
  command->add_option("--jobs", arguments->jobs, "processes")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--format", arguments->format, "of the figures")
      ->type_name("text|json")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write them to FILE instead of stdout")
      ->type_name("FILE");
  command->add_option("--plot", arguments->plot, "scatter plot, SVG")->type_name("FILE");
  command->add_option("--rows", arguments->rows, "every row with its simulated time and tile, CSV")
      ->type_name("FILE");
  command->add_flag("--quiet", arguments->quiet, "no progress bar");
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return validate(*arguments); }; });
}

}  // namespace sptc::sim
