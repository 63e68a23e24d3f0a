// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sptc::sweep {

/// What a job script needs to know.
struct EmitOptions {
  std::filesystem::path program;
  std::filesystem::path spec;
  std::filesystem::path results;  ///< of the merged sweep; shards stand beside it
  std::string name;
  std::uint64_t shards = 1;
  std::uint64_t jobs = 1;  ///< processes of each shard
};

/// A Slurm batch script: an array of the shards, of which the last to end merges.
std::string slurm_script(const EmitOptions& options);

/// A shell script that runs the shards with GNU parallel on this machine or, with its --sshlogin,
/// on others, and merges.
std::string gnu_parallel_script(const EmitOptions& options);

}  // namespace sptc::sweep
