// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"
#include "sim/sweep/space/sweep_spec.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace sptc::sweep::space {

/// What one value of the axis "workload" is read from: a file with values of its dimensions, or a
/// GEMM.
struct WorkloadSource {
  std::filesystem::path file;  ///< empty: `gemm`
  workload::NamedDims dims;
  workload::Workload gemm;
  io::JsonPlace place;
};

/// The sources that "workloads" of a spec in `folder` lists, each list of dimensions as one source
/// for every combination. `varied` are the dimensions that axes vary. Throws InputError.
std::vector<WorkloadSource> read_workload_sources(const io::JsonObject& spec,
                                                  const std::filesystem::path& folder,
                                                  const std::set<std::string>& varied);

/// `source` with its dimensions and `more`, named without those of `more`. Throws InputError.
SweepWorkload read_source(const WorkloadSource& source, const workload::NamedDims& more);

/// The dimensions that the axes of a spec vary.
std::set<std::string> varied_dims(const io::JsonObject& spec);

}  // namespace sptc::sweep::space
