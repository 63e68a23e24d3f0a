// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/import_options.h"
#include "sim/cli/output.h"
#include "sim/workload/topology/export.h"
#include "sim/workload/workload_text_writer.h"

#include <memory>
#include <string>

namespace sptc::cli {

namespace {

std::string exported(const workload::Recording& recording,
                     workload::topology::ExportFormat format) {
  switch (format) {
    case workload::topology::ExportFormat::kScaleSim:
      return workload::topology::scale_sim_text(recording.workload);
    case workload::topology::ExportFormat::kTimeloop:
      return workload::topology::timeloop_text(recording.workload);
    case workload::topology::ExportFormat::kWorkload:
      break;
  }
  return workload::workload_json(recording);
}

}  // namespace

void add_import_command(CLI::App& app, Command& chosen) {
  struct Arguments {
    RecordingOptions recording;
    std::string out;
    std::string to = "workload";
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "import", "a profile, a log or a model of another program as a workload; says what was left");
  arguments->recording.add_to(*command);
  command
      ->add_option("--to", arguments->to,
                   "what to write: workload, scalesim (a GEMM topology) or timeloop (problems)")
      ->type_name("FORMAT")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write to FILE instead of stdout")
      ->type_name("FILE");
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      require_writable_text("--out", arguments->out);
      const workload::topology::ExportFormat format =
          workload::topology::parse_export_format(arguments->to);
      write_result(arguments->out, exported(arguments->recording.read(), format));
      return 0;
    };
  });
}

}  // namespace sptc::cli
