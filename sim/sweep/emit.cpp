// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sptc::sweep {
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

/// Variables and a function that both scripts use.
std::string variables(const EmitOptions& options) {
  return fmt::format(R"(program={}
spec={}
results={}
shards={}
merge() {{
  local parts=() i
  for ((i = 1; i <= shards; ++i)); do
    parts+=("$results.$i")
  done
  "$program" sweep merge --out "$results" "${{parts[@]}}"
}}
)",
                     full_path(options.program), full_path(options.spec),
                     full_path(options.results), options.shards);
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
{}
shard=${{SLURM_ARRAY_TASK_ID:?submit this file with sbatch}}
"$program" sweep "$spec" --db "$results.$shard" --shard "$shard/$shards" --jobs "${{SLURM_CPUS_PER_TASK:-1}}" ||
  [[ $? -eq 1 ]] # 1: points that failed are rows with a reason

# The last shard to end finds all others complete and merges; flock keeps two from doing so at once.
touch "$results.$shard-of-$shards.ended"
(
  flock 9
  ended=("$results".*-of-"$shards".ended)
  if [[ ${{#ended[@]}} -eq $shards && ! -e $results ]]; then
    merge
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
{}
export program spec results shards
# A shard has {} worker processes: as many at once as there are processors for.
parallel --env program --env spec --env results --env shards --jobs {}% \
  '"$program" sweep "$spec" --db "$results.{{}}" --shard "{{}}/$shards" --jobs {} --quiet || [[ $? -eq 1 ]]' ::: $(seq "$shards")
if [[ ! -e $results ]]; then
  merge
fi
)",
                     variables(options), options.jobs,
                     std::max<std::uint64_t>(1, 100 / options.jobs), options.jobs);
}

}  // namespace sptc::sweep
