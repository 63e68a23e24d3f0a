// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/simulation_arguments.h"

#include "models/base/error.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/report/progress.h"
#include "sim/report/report.h"
#include "sim/report/run_page.h"
#include "sim/report/timeline.h"
#include "sim/run/option_values.h"
#include "sim/run/run.h"
#include "sim/run/simulate.h"
#include "sim/tensor_core/passage_log.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sptc::cli {

void SimulationArguments::add_to(CLI::App& command) {
  command.add_option("--arch", arch, "architecture: a name of 'arch list', or a file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  options.add_all(command);
  command.add_option("--format", format, "of the report")
      ->type_name("text|json|csv")
      ->capture_default_str();
  command.add_option("--out", out, "write the report to FILE instead of stdout")->type_name("FILE");
  command
      .add_option("--vcd", vcd,
                  "write the waveform of the tensor cores of an SM to FILE; not in analytic")
      ->type_name("FILE");
  command
      .add_option("--timeline", timeline,
                  "write what the tensor cores of an SM do, for Perfetto; not in analytic")
      ->type_name("FILE");
  command.add_option("--konata", konata, "the same for Konata, a row for each mma")
      ->type_name("FILE");
  command
      .add_option("--window", window,
                  "of --timeline and --konata: cycles since the first launch begins (default: "
                  "0:20000)")
      ->type_name("FIRST:LAST");
  command.add_option("--html", html, "write one page with figures, which needs no network")
      ->type_name("FILE");
  command.add_flag(
      "--explain", explain,
      "what the tensor cores wait for, what twice of each resource would gain, and where "
      "the joules go");
  command.add_flag("--verbose", verbose,
                   "the whole text report: kernels, utilisation, energy by part, assumed numbers");
  command.add_flag("--quiet", quiet, "no progress bar");
}

namespace {

tensor_core::LogWindow parse_window(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw base::InputError(fmt::format("--window must be FIRST:LAST, for example 0:20000, not '{}'",
                                       io::printable(text)));
  }
  constexpr std::int64_t kMost = 1LL << 50;
  tensor_core::LogWindow window;
  window.first = run::parse_integer("--window", text.substr(0, colon), 0, kMost);
  window.last = run::parse_integer("--window", text.substr(colon + 1), window.first + 1, kMost);
  return window;
}

/// The log that --timeline and --konata ask for; nothing where neither is given.
std::optional<tensor_core::PassageLog> passages_of(const SimulationArguments& given) {
  if (given.timeline.empty() && given.konata.empty()) {
    if (!given.window.empty()) {
      throw base::InputError("--window is of --timeline and --konata");
    }
    return std::nullopt;
  }
  for (const auto& [option, path] :
       {std::pair{"--timeline", &given.timeline}, {"--konata", &given.konata}}) {
    require_writable_text(option, *path);
  }
  return tensor_core::PassageLog(given.window.empty() ? tensor_core::LogWindow{}
                                                      : parse_window(given.window));
}

}  // namespace

int simulate_and_report(const SimulationArguments& given,
                        const std::function<workload::Workload()>& load,
                        const run::DataSource* operands) {
  const run::SimulationOptions options = given.options.parsed();
  run::require_consistent(options);
  const report::ReportFormat format = report::parse_report_format(given.format);
  if (given.verbose && format != report::ReportFormat::kText) {
    throw base::InputError("--verbose is of --format text: the others are always whole");
  }
  require_writable_text("--out", given.out);
  require_writable_text("--html", given.html);
  if (!given.vcd.empty()) {
    if (options.fidelity == run::Fidelity::kAnalytic) {
      throw base::InputError("--vcd has no effect with --fidelity analytic: nothing is simulated");
    }
    require_writable("--vcd", given.vcd);
  }
  std::optional<tensor_core::PassageLog> passages = passages_of(given);
  const workload::Workload workload = load();
  PendingFile waveform(given.vcd, ".vcd");
  run::RunResult result;
  gpu::GpuSpec gpu;
  {
    report::ProgressBar bar(given.quiet);
    const config::Architecture architecture = config::load_architecture(given.arch);
    run::SimulationHooks hooks;
    hooks.progress = [&](std::size_t done, std::size_t total, const std::string& next) {
      bar.update(done, total, next);
    };
    hooks.operands = operands;
    hooks.waveform = waveform.stem();
    hooks.passages = passages ? &*passages : nullptr;
    result = run::simulate(workload, architecture, options, hooks);
    result.assumed = run::assumptions(architecture);
    gpu = architecture.gpu;
  }
  result.explained = given.explain;
  if (!given.timeline.empty()) {
    write_result(given.timeline, report::timeline_json(*passages));
  }
  if (!given.konata.empty()) {
    write_result(given.konata, report::konata_log(*passages));
  }
  if (!given.html.empty()) {
    write_result(given.html, report::run_page(result, gpu, command_line()));
  }
  write_result(given.out, report::report(result, format,
                                         {given.verbose, given.out.empty() && output_has_color()}));
  waveform.keep("$comment end $end\n");
  return result.passed() ? 0 : 1;
}

}  // namespace sptc::cli
