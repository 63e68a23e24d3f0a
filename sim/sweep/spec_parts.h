// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"
#include "sim/sweep/sweep_spec.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace sptc::sweep {

/// The values of an axis: "values": [...], or "range": {from, to, step | factor}, or "random":
/// {from, to, count, seed, scale, integer}. Whole numbers come back as integers. Throws InputError
/// unless there is exactly one of them, all values are numbers, words or booleans, and no two are
/// equal where the axis is not `zipped` with others.
std::vector<nlohmann::json> read_axis_values(const io::JsonObject& axis, bool zipped);

/// What one value of the axis "workload" is read from: a file with values of its dimensions, or a
/// GEMM.
struct WorkloadSource {
  std::filesystem::path file;  ///< empty: `gemm`
  workload::NamedDims dims;
  workload::Workload gemm;
  io::JsonPlace place;
};

/// The path `path` of a spec in `folder`: relative to it.
std::filesystem::path resolved(const std::string& path, const std::filesystem::path& folder);

/// The sources that "workloads" of a spec in `folder` lists, each list of dimensions as one source
/// for every combination. `varied` are the dimensions that axes vary. Throws InputError.
std::vector<WorkloadSource> read_workload_sources(const io::JsonObject& spec,
                                                  const std::filesystem::path& folder,
                                                  const std::set<std::string>& varied);

/// `source` with its dimensions and `more`, named without those of `more`. Throws InputError.
SweepWorkload read_source(const WorkloadSource& source, const workload::NamedDims& more);

}  // namespace sptc::sweep
