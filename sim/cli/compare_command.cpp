// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/table_options.h"
#include "sim/config/architecture.h"
#include "sim/report/progress.h"
#include "sim/run/option_values.h"
#include "sim/side_by_side/comparison.h"
#include "sim/workload/dim_lists.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string file;
  std::string arch = "A100,H100";
  std::vector<std::string> dims;
  std::string jobs = "1";
  std::string format = "text";
  std::string out, html;
  bool quiet = false;
  TableOptions options;
};

std::vector<config::Architecture> boards_of(const std::string& list) {
  std::vector<config::Architecture> boards;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    boards.push_back(config::load_architecture(list.substr(begin, end - begin)));
    begin = end + 1;
  }
  return boards;
}

int run(const Arguments& arguments) {
  const std::string& format = arguments.format;
  require_format(format, {"text", "json", "csv"});
  const auto jobs = static_cast<int>(run::parse_positive("--jobs", arguments.jobs, 1024));
  run::SimulationOptions options = arguments.options.parsed();
  run::require_consistent(options);
  require_writable_text("--out", arguments.out);
  require_writable_text("--html", arguments.html);
  const std::vector<config::Architecture> boards = boards_of(arguments.arch);
  const std::vector<side_by_side::ComparedWorkload> workloads =
      side_by_side::compared_workloads(arguments.file, workload::parse_dim_lists(arguments.dims));
  side_by_side::BoardComparison comparison;
  {
    report::ProgressBar bar(arguments.quiet);
    comparison = side_by_side::compare(
        workloads, boards, options, jobs, [&](std::size_t begun, std::size_t total) {
          bar.update(begun, total, begun < total ? boards[begun % boards.size()].gpu.name : "");
        });
  }
  if (!arguments.html.empty()) {
    write_result(arguments.html, side_by_side::comparison_page(comparison, command_line()));
  }
  write_result(arguments.out, format == "json"  ? side_by_side::comparison_json(comparison)
                              : format == "csv" ? side_by_side::comparison_csv(comparison)
                                                : side_by_side::comparison_text(comparison));
  return 0;
}

}  // namespace

void add_compare_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "compare", "a workload on several GPUs and with several extents, side by side");
  command->add_option("FILE", arguments->file, "workload or recording, recognised by content")
      ->type_name("FILE")
      ->required();
  command->add_option("--arch", arguments->arch, "boards or files, with commas between")
      ->type_name("NAME,..")
      ->capture_default_str();
  command->add_option("--dim", arguments->dims, "values of a dimension of the file: batch=1,8,64")
      ->type_name("NAME=V,..");
  arguments->options.add_all(*command);
  command->add_option("--jobs", arguments->jobs, "points that are simulated at once")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--format", arguments->format, "of the result")
      ->type_name("text|json|csv")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write the result to FILE instead of stdout")
      ->type_name("FILE");
  command->add_option("--html", arguments->html, "write one page, which needs no network")
      ->type_name("FILE");
  command->add_flag("--quiet", arguments->quiet, "no progress bar");
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::cli
