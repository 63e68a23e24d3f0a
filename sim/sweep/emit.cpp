// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/emit.h"

#include "sim/io/regular_expression.h"
#include "sim/io/text_file.h"

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
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_'; }, '-');
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
                     full_path(options.program), full_path(options.spec), full_path(options.results), options.shards);
}

std::string setup_lines(const EmitOptions& options) {
  std::string text;
  for (const std::string& line : options.setup) {
    text += line + "\n";
  }
  return text;
}

/// What sbatch takes for `--time` and `--mem` (its manual page, Slurm 23.11).
void require_form(const char* option, const std::string& word, const char* form, const char* examples) {
  if (!word.empty() && !io::RegularExpression(option, form).matches(word)) {
    io::refuse("{} must be as Slurm has it, for example {}, not '{}'", option, examples, io::printable(word));
  }
}

std::string directives(const EmitOptions& options, const SlurmOptions& slurm) {
  require_form("--time", slurm.time, "\\d+(:\\d+){0,2}|\\d+-\\d+(:\\d+){0,2}", "90 (minutes), 1:30:00, 2-12");
  require_form("--mem", slurm.memory, "\\d+[KMGTkmgt]?", "16G, 0 (all of the node)");
  // A line feed would begin a line of the script, and a blank another option.
  require_form("--partition", slurm.partition, "[A-Za-z0-9_.,-]+", "gpu, long");
  require_form("--account", slurm.account, "[A-Za-z0-9_.,-]+", "gpu, long");
  std::string text;
  const auto add = [&](const std::string& line) { text += "#SBATCH " + line + "\n"; };
  add("--job-name=" + job_name(options.name));
  add(fmt::format("--array=1-{}{}", options.shards, slurm.at_once > 0 ? fmt::format("%{}", slurm.at_once) : ""));
  if (slurm.whole_node) {
    add("--nodes=1");
    add("--exclusive");
  } else {
    add("--ntasks=1");
    add(fmt::format("--cpus-per-task={}", options.jobs));
  }
  for (const auto& [name, word] : {std::pair("time", slurm.time),
                                   {"mem", slurm.memory},
                                   {"partition", slurm.partition},
                                   {"account", slurm.account}}) {
    if (!word.empty()) {
      add(fmt::format("--{}={}", name, word));
    }
  }
  for (const std::string& directive : slurm.directives) {
    require_form("--sbatch", directive, "--?[A-Za-z][^\n\r]*", "--qos=high");
    add(directive);
  }
  return text;
}

}  // namespace

std::string slurm_script(const EmitOptions& options, const SlurmOptions& slurm) {
  return fmt::format(R"(#!/bin/bash
# Submit with: sbatch THIS_FILE. One task per shard; a repeated submission goes on where the last one ended.
{}set -euo pipefail
{}{}
shard=${{SLURM_ARRAY_TASK_ID:?submit this file with sbatch}}
"$program" sweep "$spec" --db "$results.$shard" --shard "$shard/$shards" --jobs "${{{}:-1}}" ||
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
                     directives(options, slurm), setup_lines(options), variables(options),
                     slurm.whole_node ? "SLURM_CPUS_ON_NODE" : "SLURM_CPUS_PER_TASK");
}

std::string gnu_parallel_script(const EmitOptions& options) {
  return fmt::format(R"(#!/bin/bash
# Run with: bash THIS_FILE. A repeated run goes on where the last one ended. Other machines with the same file system:
# PARALLEL='--sshlogin host1,host2' bash THIS_FILE
set -euo pipefail
{}{}
export program spec results shards
# A shard has {} worker processes: as many at once as there are processors for.
parallel --env program --env spec --env results --env shards --jobs {}% \
  '"$program" sweep "$spec" --db "$results.{{}}" --shard "{{}}/$shards" --jobs {} --quiet || [[ $? -eq 1 ]]' ::: $(seq "$shards")
if [[ ! -e $results ]]; then
  merge
fi
)",
                     setup_lines(options), variables(options), options.jobs,
                     std::max<std::uint64_t>(1, 100 / options.jobs), options.jobs);
}

}  // namespace sptc::sweep
