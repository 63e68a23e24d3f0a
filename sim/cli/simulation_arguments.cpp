// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/simulation_arguments.h"

#include "models/base/error.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/gpu/passage_log.h"
#include "sim/gpu/waveform.h"
#include "sim/io/text_file.h"
#include "sim/report/complete_report.h"
#include "sim/report/message.h"
#include "sim/report/progress.h"
#include "sim/report/report.h"
#include "sim/report/timeline.h"
#include "sim/run/option_values.h"
#include "sim/run/simulate.h"

#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

namespace sptc::cli {
namespace {

/// The window that `text` of `option` says; the usual one where it is empty.
gpu::LogWindow window_of(std::string_view option, const std::string& text) {
  if (text.empty()) {
    return {};
  }
  const auto [first, last] = run::parse_window(option, text);
  return {first, last};
}

/// The log that --timeline and --konata ask for; nothing where neither is given.
std::unique_ptr<gpu::PassageLog> passages_of(const SimulationArguments& given) {
  if (given.timeline.empty() && given.konata.empty()) {
    if (!given.window.empty()) {
      throw base::InputError("--window needs --timeline or --konata");
    }
    return nullptr;
  }
  for (const auto& [option, path] : {std::pair{"--timeline", &given.timeline}, {"--konata", &given.konata}}) {
    require_writable_text(option, *path);
  }
  return std::make_unique<gpu::PassageLog>(window_of("--window", given.window));
}

/// The save file of GTKWave beside a waveform; none beside a device.
std::filesystem::path save_file_of(const std::filesystem::path& vcd) {
  std::filesystem::path save = vcd;
  return is_stream(vcd) ? "" : save.replace_extension(".gtkw");
}

std::unique_ptr<gpu::Waveform> waveform_of(const SimulationArguments& given, run::Fidelity fidelity) {
  if (given.vcd.empty()) {
    for (const auto& [option, value] :
         {std::pair{"--vcd-window", &given.vcd_window}, {"--vcd-element", &given.vcd_element}}) {
      if (!value->empty()) {
        io::refuse("{} needs --vcd", option);
      }
    }
    return nullptr;
  }
  if (fidelity == run::Fidelity::kAnalytic) {
    throw base::InputError("--vcd has no effect with --fidelity analytic: nothing is simulated");
  }
  if (std::filesystem::path(given.vcd).extension() == ".gtkw") {
    throw base::InputError("--vcd: '.gtkw' is the ending of the save file beside the waveform");
  }
  require_writable_text("--vcd", given.vcd);
  if (const std::filesystem::path save = save_file_of(given.vcd); !save.empty()) {
    require_writable_text("--vcd", save);
  }
  gpu::WaveformElement element;
  if (!given.vcd_element.empty()) {
    const auto [row, col] = run::parse_element("--vcd-element", given.vcd_element);
    element = {row, col};
  }
  return std::make_unique<gpu::Waveform>(window_of("--vcd-window", given.vcd_window), element);
}

void write_waveform(const SimulationArguments& given, const gpu::Waveform& waveform) {
  write_result(given.vcd, waveform.text());
  if (const std::filesystem::path save = save_file_of(given.vcd); !save.empty()) {
    write_result(save, waveform.save_file(std::filesystem::path(given.vcd).filename().string()));
  }
}

}  // namespace

void SimulationArguments::add_to(CLI::App& command) {
  declare(command, {{"--arch", arch, "NAME|FILE", "architecture: a name of 'arch list', or a file"}});
  options.add_all(command);
  declare(
      command,
      {{"--format", format, "text|json|csv", "format of the report"},
       {"--out", out, "FILE", "write the report to FILE instead of stdout"},
       {"--vcd", vcd, "FILE",
        "write the waveform of the tensor cores of an SM to FILE, and a save file for GTKWave beside it; not in "
        "analytic"},
       {"--vcd-window", vcd_window, "FIRST:LAST", "cycles that --vcd shows, as --window has them (default: 0:20000)"},
       {"--vcd-element", vcd_element, "ROW,COL",
        "element that --vcd shows, of the 16 x 8 of an instruction (default: 0,0)"},
       {"--timeline", timeline, "FILE", "write what the tensor cores of an SM do, for Perfetto; not in analytic"},
       {"--konata", konata, "FILE", "the same for Konata, a row for each mma"},
       {"--window", window, "FIRST:LAST",
        "cycles that --timeline and --konata show, from the first launch on (default: 0:20000)"},
       {"--html", html, "FILE", "write one page with figures, which needs no network"}});
  command.add_flag("--explain", explain,
                   "what the tensor cores wait for, what twice of each resource would gain, and where the joules go");
  command.add_flag("--verbose", verbose,
                   "the whole text report: kernels, utilisation, energy by part, assumed numbers");
  add_jobs(command, jobs, "kernels that are simulated at once, in timing");
  command.add_flag("--quiet", quiet, "no progress bar");
}

int simulate_and_report(const SimulationArguments& given, const std::function<workload::Workload()>& load,
                        const run::DataSource* operands) {
  const run::SimulationOptions options = given.options.parsed();
  run::require_consistent(options);
  run::require_link_used(options);
  const int jobs = parse_jobs(given.jobs);
  const report::ReportFormat format = report::parse_report_format(given.format);
  if (given.verbose && format != report::ReportFormat::kText) {
    throw base::InputError("--verbose has no effect with --format json and csv, which are always whole");
  }
  require_writable_text("--out", given.out);
  require_writable_text("--html", given.html);
  for (const auto& [option, path] :
       {std::pair{"--save-operands", &options.save_operands}, {"--save-d", &options.save_d}}) {
    if (!path->empty()) {
      require_writable(option, *path);
    }
  }
  const std::unique_ptr<gpu::Waveform> waveform = waveform_of(given, options.fidelity);
  const std::unique_ptr<gpu::PassageLog> passages = passages_of(given);
  const workload::Workload workload = load();
  run::RunResult result;
  gpu::GpuSpec gpu;
  {
    report::ProgressBar bar(given.quiet);
    const config::Architecture architecture = config::load_architecture(given.arch);
    run::SimulationHooks hooks;
    hooks.progress = [&](std::size_t done, std::size_t total, const std::string& next) {
      bar.update(done, total, next);
      if (waveform) {
        waveform->set_operation(next);
      }
    };
    hooks.jobs = jobs;
    hooks.operands = operands;
    if (waveform) {
      hooks.observers.push_back(waveform.get());
    }
    if (passages) {
      hooks.observers.push_back(passages.get());
    }
    result = run::simulate(workload, architecture, options, hooks);
    report::complete(result, workload, architecture, options);
    gpu = architecture.gpu;
  }
  result.explained = given.explain;
  write_if_asked(given.timeline, [&] { return report::timeline_json(*passages); });
  write_if_asked(given.konata, [&] { return report::konata_log(*passages); });
  if (waveform) {
    write_waveform(given, *waveform);
  }
  write_if_asked(given.html, [&] { return report::run_page(result, gpu, command_line()); });
  const bool color =
      given.out.empty() && report::has_color(STDOUT_FILENO) && !given.verbose && format == report::ReportFormat::kText;
  (color ? write_bytes : write_result)(given.out, report::report(result, format, {given.verbose, color}));
  return result.passed() ? 0 : 1;
}

}  // namespace sptc::cli
