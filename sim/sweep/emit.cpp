// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sptc::sim {
namespace {

/// One word of a shell.
std::string shell(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result + "'";
}

std::string full_path(const std::filesystem::path& path) {
  return shell(std::filesystem::absolute(path).lexically_normal().string());
}

/// Slurm reads job names without a shell.
std::string job_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_';
      },
      '-');
  return name.substr(0, 60);
}

std::string variables(const EmitOptions& options) {
  return fmt::format("program={}\nspec={}\nresults={}\nshards={}\n", full_path(options.program),
                     full_path(options.spec), full_path(options.results), options.shards);
}

}  // namespace

std::string slurm_script(const EmitOptions& options) {
  return fmt::format(R"(#!/bin/bash
# Submit with: sbatch THIS_FILE. One task per shard; a repeated submission goes on where the last one ended.
#SBATCH --job-name={}
#SBATCH --array=1-{}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={}
set -euo pipefail
{}shard=${{SLURM_ARRAY_TASK_ID:?submit this file with sbatch}}
"$program" sweep "$spec" --db "$results.$shard" --shard "$shard/$shards" --jobs "${{SLURM_CPUS_PER_TASK:-1}}" ||
  [[ $? -eq 1 ]] # 1: points that failed are rows with a reason

# The last shard to end finds all others complete and merges; flock keeps two from doing so at once.
touch "$results.$shard.ended"
(
  flock 9
  ended=("$results".*.ended)
  if [[ ${{#ended[@]}} -eq $shards && ! -e $results ]]; then
    mapfile -t parts < <(seq --format "$results.%.0f" "$shards")
    "$program" sweep merge --out "$results" "${{parts[@]}}"
  fi
) 9>"$results.merge-lock"
)",
                     job_name(options.name), options.shards, options.jobs, variables(options));
}

std::string gnu_parallel_script(const EmitOptions& options) {
  return fmt::format(R"(#!/bin/bash
# Run with: bash THIS_FILE. A repeated run goes on where the last one ended. Other machines with the same file system:
# PARALLEL='--sshlogin host1,host2' bash THIS_FILE
set -euo pipefail
{}export program spec results shards
parallel --env program --env spec --env results --env shards --jobs {} \
  '"$program" sweep "$spec" --db "$results.{{}}" --shard "{{}}/$shards" --jobs {} --quiet || [[ $? -eq 1 ]]' ::: $(seq "$shards")
mapfile -t parts < <(seq --format "$results.%.0f" "$shards")
"$program" sweep merge --out "$results" "${{parts[@]}}"
)",
                     variables(options), options.shards, options.jobs);
}

}  // namespace sptc::sim
