// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/cli/output.h"
#include "sim/cli/sweep_arguments.h"
#include "sim/io/file_use.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"
#include "sim/sweep/execution/sweep_status.h"
#include "sim/sweep/reports/sweep_report.h"
#include "sim/sweep/store/results_file.h"
#include "sim/sweep/store/sweep_store.h"

#include <fmt/format.h>

namespace sptc::cli {
namespace {

int show_status(const SweepArguments& arguments) {
  require_format(arguments.format, {"text", "json"});
  if (!arguments.out.empty()) {
    require_writable_text("--out", arguments.out);
  }
  const std::vector<std::filesystem::path> parts(arguments.parts.begin(), arguments.parts.end());
  const sweep::execution::SweepStatus status = sweep::execution::sweep_status(parts);
  write_result(arguments.out, arguments.format == "json" ? sweep::execution::status_json(status)
                                                         : sweep::execution::status_text(status));
  return status.state() == "done" ? 0 : 1;
}

int merge(const SweepArguments& arguments) {
  if (is_standard_output(arguments.out)) {
    throw base::InputError("--out: the united results are a database, which needs a file");
  }
  require_writable("--out", arguments.out);
  if (std::filesystem::exists(arguments.out)) {
    throw base::InputError(
        fmt::format("--out {}: exists; remove it or give another", io::printable(arguments.out)));
  }
  const std::vector<std::filesystem::path> parts(arguments.parts.begin(), arguments.parts.end());
  const std::size_t rows = sweep::store::merge_sweeps(parts, arguments.out, arguments.mixed_builds);
  sweep::files::Database merged = sweep::store::open_sweep(arguments.out);
  const std::size_t missing = sweep::store::read_entries(merged).missing(rows);
  report::write_message(
      fmt::format("{}: {} rows from {} files{}\n", io::printable(arguments.out), rows, parts.size(),
                  missing > 0 ? fmt::format("; {} points of the sweep are missing", missing) : ""));
  return 0;
}

int report_sweep(const SweepArguments& arguments) {
  const sweep::reports::SweepReportFormat format =
      sweep::reports::parse_sweep_report_format(arguments.format);
  if (sweep::reports::is_spec_of(arguments.db, arguments.out)) {
    io::announce_input(arguments.out);
  }
  require_writable_text("--out", arguments.out);
  require_writable_text("--html", arguments.html);
  using sweep::reports::SweepReportFormat;
  const sweep::analysis::SweepTable table = sweep::analysis::read_sweep_table(arguments.db);
  const std::string text = sweep::reports::sweep_report(table, format, command_line());
  if (!arguments.html.empty()) {
    write_result(arguments.html,
                 sweep::reports::sweep_report(table, SweepReportFormat::kHtml, command_line()));
  }
  write_result(arguments.out, text);
  return 0;
}

void add_status(CLI::App& sweep, Command& chosen) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command = sweep.add_subcommand(
      "status",
      "points that are done, failed and missing over all parts, and who works at them; "
      "exit code 0 where all are done, else 1");
  command
      ->add_option("RESULTS", arguments->parts,
                   "results of a sweep, or of its shards; a name without a file stands for NAME.1, "
                   "NAME.2, ...")
      ->type_name("FILE")
      ->required();
  command->add_option("--format", arguments->format, "of the output")
      ->type_name("text|json")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write to FILE instead of stdout")
      ->type_name("FILE");
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return show_status(*arguments); }; });
}

void add_merge(CLI::App& sweep, Command& chosen) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command =
      sweep.add_subcommand("merge", "unite the results of shards: the same rows for any number");
  command->add_option("PART", arguments->parts, "results of the shards")
      ->type_name("FILE")
      ->required();
  command->add_option("--out", arguments->out, "the united results")->type_name("FILE")->required();
  command->add_flag("--mixed-builds", arguments->mixed_builds,
                    "even if the parts come from different builds");
  command->callback([arguments, &chosen] { chosen = [arguments] { return merge(*arguments); }; });
}

void add_report(CLI::App& sweep, Command& chosen) {
  auto arguments = std::make_shared<SweepArguments>();
  arguments->format = "markdown";
  CLI::App* command = sweep.add_subcommand("report", "table, Pareto front, sensitivities");
  command->add_option("DB", arguments->db, "results of a sweep")->type_name("FILE")->required();
  command->add_option("--format", arguments->format, "of the report")
      ->type_name("csv|markdown|html")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write the report to FILE instead of stdout")
      ->type_name("FILE");
  command->add_option("--html", arguments->html, "write the page beside the report")
      ->type_name("FILE");
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return report_sweep(*arguments); }; });
}

}  // namespace

void add_sweep_results_commands(CLI::App& sweep, Command& chosen) {
  add_status(sweep, chosen);
  add_merge(sweep, chosen);
  add_report(sweep, chosen);
}

}  // namespace sptc::cli
