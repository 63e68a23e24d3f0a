// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/import_options.h"
#include "sim/cli/output.h"
#include "sim/workload/workload_text_writer.h"

#include <memory>
#include <string>

namespace sptc::cli {

void add_import_command(CLI::App& app, Command& chosen) {
  struct Arguments {
    RecordingOptions recording;
    std::string out;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "import", "a profile, a log or a model of another program as a workload; says what was left");
  arguments->recording.add_to(*command);
  command->add_option("--out", arguments->out, "write the workload to FILE instead of stdout")
      ->type_name("FILE");
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      if (!arguments->out.empty()) {
        require_writable("--out", arguments->out);
      }
      write_result(arguments->out, workload::workload_json(arguments->recording.read()));
      return 0;
    };
  });
}

}  // namespace sptc::cli
