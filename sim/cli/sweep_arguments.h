// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cli/commands.h"
#include "sim/sweep/execution/coordinator.h"
#include "sim/sweep/space/plan.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sptc::cli {

inline constexpr std::int64_t kMaxShards = 1000000;

/// What was typed for `sptcsim sweep` or one of its commands.
struct SweepArguments {
  std::string spec;
  std::string db;
  std::string jobs;
  std::string shard;
  std::string timeout;
  std::string resimulate;
  bool no_resume = false;
  bool retry_failed = false;
  bool mixed_builds = false;
  bool quiet = false;
  std::string first = "5";
  std::string shards;
  std::string out;
  std::string html;
  std::string format = "text";
  std::vector<std::string> parts;
  std::vector<std::string> setup;
  std::string time;
  std::string mem;
  std::string partition;
  std::string account;
  std::string at_once;
  bool whole_node = false;
  std::vector<std::string> directives;
};

/// The argument SPEC.
void add_spec(CLI::App& command, const std::shared_ptr<SweepArguments>& arguments);

// Each throws InputError for what cannot be.

/// The sweep of SPEC.
sweep::space::SweepPlan plan_of(const SweepArguments& arguments);
sweep::execution::SweepShard parse_shard(const std::string& text);
/// --db, or where it is not given the name of SPEC with .sqlite.
std::filesystem::path results_of(const SweepArguments& arguments);

/// sptcsim sweep plan|emit SPEC, sptcsim sweep status|merge|report FILE
void add_sweep_subcommands(CLI::App& sweep, Command& chosen);

}  // namespace sptc::cli
