// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/simulation_arguments.h"

#include "models/base/error.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/report/progress.h"
#include "sim/report/report.h"
#include "sim/run/run.h"
#include "sim/run/simulate.h"

#include <string>

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
  command.add_flag(
      "--explain", explain,
      "what the tensor cores wait for, what twice of each resource would gain, and where "
      "the joules go");
  command.add_flag("--quiet", quiet, "no progress bar");
}

int simulate_and_report(const SimulationArguments& given,
                        const std::function<workload::Workload()>& load,
                        const run::DataSource* operands) {
  const run::SimulationOptions options = given.options.parsed();
  run::require_consistent(options);
  const report::ReportFormat format = report::parse_report_format(given.format);
  if (given.explain && format == report::ReportFormat::kCsv) {
    throw base::InputError("--explain writes sentences: use --format text or json");
  }
  if (!given.out.empty()) {
    require_writable("--out", given.out);
  }
  if (!given.vcd.empty()) {
    if (options.fidelity == run::Fidelity::kAnalytic) {
      throw base::InputError("--vcd has no effect with --fidelity analytic: nothing is simulated");
    }
    require_writable("--vcd", given.vcd);
  }
  const workload::Workload workload = load();
  PendingFile waveform(given.vcd, ".vcd");
  run::RunResult result;
  {
    report::ProgressBar bar(given.quiet);
    const config::Architecture architecture = config::load_architecture(given.arch);
    run::SimulationHooks hooks;
    hooks.progress = [&](std::size_t done, std::size_t total, const std::string& next) {
      bar.update(done, total, next);
    };
    hooks.operands = operands;
    hooks.waveform = waveform.stem();
    result = run::simulate(workload, architecture, options, hooks);
    result.assumed = run::assumptions(architecture);
  }
  result.explained = given.explain;
  write_result(given.out, report::report(result, format));
  waveform.keep("$comment end $end\n");
  return result.passed() ? 0 : 1;
}

}  // namespace sptc::cli
