// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/import_options.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"
#include "sim/run/option_values.h"
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/recording.h"
#include "sim/workload/topology/export.h"
#include "sim/workload/workload_text.h"

#include <string>

namespace sptc::cli {
namespace {

std::string exported(const workload::Recording& recording, workload::topology::ExportFormat format) {
  switch (format) {
    case workload::topology::ExportFormat::kScaleSimRows:
      return workload::topology::scale_sim_text(recording.workload);
    case workload::topology::ExportFormat::kTimeloopProblems:
      return workload::topology::timeloop_text(recording.workload);
    case workload::topology::ExportFormat::kWorkload:
      break;
  }
  return workload::workload_json(recording);
}

struct Arguments {
  RecordingOptions recording;
  std::string out;
  std::string to = "workload";
};

int run(const Arguments& arguments) {
  require_writable_text("--out", arguments.out);
  const workload::topology::ExportFormat format = workload::topology::parse_export_format(arguments.to);
  write_result(arguments.out, exported(arguments.recording.read(), format));
  return 0;
}

}  // namespace

void RecordingOptions::add_to(CLI::App& command) {
  declare(command, {{"FILE", file, "FILE",
                     "workload (.json, .csv) or recording, recognised by content; - reads standard input", true}});
  add_extents_to(command);
  declare(command, {{"--convention", convention, "WORD",
                     "what M of a CSV counts: weight-first (features) or tokens-first (as PyTorch)"}});
  command.add_flag("--tf32", tf32, "f32 GEMMs whose kernel is not recorded run as TF32");
  command.add_flag("--strict", strict, "a launch that is not taken is an error");
}

void RecordingOptions::add_extents_to(CLI::App& command) {
  command.add_option("--dim", dims, "value of a dimension of the file")->type_name("NAME=V,..");
  command.add_option("--input", inputs, "extents of an input of an ONNX model, as 1,3,224,224")
      ->type_name("NAME=EXTENTS");
}

workload::ImportOptions RecordingOptions::import_options() const {
  workload::ImportOptions options;
  options.tf32 = tf32;
  options.convention = workload::parse_convention(convention);
  options.dims = workload::single_values(workload::parse_dim_lists(dims));
  for (const std::string& given : inputs) {
    const std::size_t equals = given.find('=');
    if (equals == std::string::npos || equals == 0) {
      io::refuse("--input must be NAME=V, for example x=1,3,224,224, not '{}'", io::printable(given));
    }
    const std::string name = given.substr(0, equals);
    std::vector<std::int64_t>& to = options.inputs[name];
    if (!to.empty()) {
      io::refuse("--input: {} is given twice", io::printable(name));
    }
    for (const std::string& part : parts_of(given.substr(equals + 1))) {
      to.push_back(run::parse_positive("--input " + io::printable(name), part, workload::kMaxExtent));
    }
  }
  return options;
}

workload::Recording RecordingOptions::read(const std::function<void(workload::Recording&)>& adjust) const {
  workload::Recording recording = workload::importer::read_recording(file, import_options());
  if (adjust) {
    adjust(recording);
  }
  if (strict) {
    workload::importer::require_all_taken(recording);
  }
  report::write_message(workload::importer::account_text(recording));
  return recording;
}

void add_import_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      add_command(app, chosen, "import",
                  "make a profile, a log or a model of another program a workload, and say what was left out", run);
  arguments.recording.add_to(command);
  declare(command, {{"--to", arguments.to, "FORMAT",
                     "what to write: workload, scalesim (a GEMM topology) or timeloop (problems)"},
                    {"--out", arguments.out, "FILE", "write to FILE instead of stdout"}});
}

}  // namespace sptc::cli
