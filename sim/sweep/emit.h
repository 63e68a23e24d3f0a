// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sptc::sweep {

struct EmitOptions {
  std::filesystem::path program;
  std::filesystem::path spec;
  std::filesystem::path results;  ///< of the merged sweep; shards stand beside it
  std::string name;
  std::uint64_t shards = 1;
  std::uint64_t jobs = 1;               ///< processes of each shard
  std::vector<std::string> setup = {};  ///< lines of shell before the program
};

/// What Slurm is asked for. Words that are empty, and numbers that are 0, are left to the cluster.
struct SlurmOptions {
  std::string time;    ///< of a shard: "90", "1:30:00", "2-12"
  std::string memory;  ///< of a shard: "16G"
  std::string partition;
  std::string account;
  bool whole_node = false;                   ///< a shard has a node for itself, and a process for each processor
  std::uint64_t at_once = 0;                 ///< shards that may run at once
  std::vector<std::string> directives = {};  ///< further ones, without "#SBATCH "
};

/// An array of the shards; the last to end merges. Throws InputError for words Slurm does not take.
std::string slurm_script(const EmitOptions& options, const SlurmOptions& slurm = {});

/// Runs the shards with GNU parallel here or, with its --sshlogin, on others, and merges.
std::string gnu_parallel_script(const EmitOptions& options);

}  // namespace sptc::sweep
