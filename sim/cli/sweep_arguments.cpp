// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sweep_arguments.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/text_file.h"
#include "sim/report/version.h"
#include "sim/run/option_values.h"
#include "sim/sweep/space/checked_plan.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace sptc::cli {
sweep::space::SweepPlan plan_of(const SweepArguments& arguments) {
  const std::string& file = arguments.spec;
  if (!file.ends_with(".json")) {
    constexpr std::array<std::string_view, 5> kCommands{"plan", "status", "merge", "report",
                                                        "emit"};
    throw base::InputError(
        fmt::format("'{}' is no sweep (a .json file) and no command of sweep: {}",
                    io::printable(file), base::unknown_name(io::printable(file), kCommands)));
  }
  return sweep::space::checked_plan(sweep::space::read_sweep_spec(file),
                                    std::string(report::program_version()));
}

sweep::execution::SweepShard parse_shard(const std::string& text) {
  if (text.empty()) {
    return {};
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw base::InputError(
        fmt::format("--shard must be I/N, for example 2/8, not '{}'", io::printable(text)));
  }
  const std::int64_t count =
      run::parse_positive("N of --shard I/N", text.substr(slash + 1), kMaxShards);
  const std::int64_t index = run::parse_positive("I of --shard I/N", text.substr(0, slash), count);
  return {static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(count)};
}

std::filesystem::path results_of(const SweepArguments& arguments) {
  if (!arguments.db.empty()) {
    return arguments.db;
  }
  const std::string name = std::filesystem::path(arguments.spec).stem().string() + ".sqlite";
  std::error_code error;
  if (std::filesystem::is_symlink(name, error)) {
    throw base::InputError(io::printable(name) +
                           ": is a link; where the results go through one, --db names it");
  }
  return name;
}

void add_spec(CLI::App& command, const std::shared_ptr<SweepArguments>& arguments) {
  command.add_option("SPEC", arguments->spec, "sweep: .json (configs/sweeps/README.md)")
      ->type_name("FILE")
      ->required();
}

}  // namespace sptc::cli
