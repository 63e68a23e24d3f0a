// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/documented_architecture.h"
#include "sim/io/json_reader.h"
#include "sim/workload/workload.h"

namespace sptc::sweep {

struct SweepAxis {
  enum class Kind {
    kWorkload,   ///< values are names of workloads
    kArch,       ///< values are indices of SweepSpec::architectures
    kParameter,  ///< `target` is the JSON pointer of a number or word of the architecture
    kOption,     ///< `target` is an option of `sptcsim run` without "--"
    kDim,        ///< `target` is a dimension of the workloads
  };
  Kind kind = Kind::kParameter;
  std::string name;  ///< in conditions, and the column of the results
  std::string target;
  std::vector<nlohmann::json> values;  ///< numbers, words or booleans, no two equal
  io::JsonPlace place;
  /// How much the next value of a workload or a dimension advances in SweepSpec::workloads.
  std::size_t stride = 0;
};

/// Axes that advance together; one axis where the spec has no zip.
struct SweepDimension {
  std::vector<std::size_t> axes;  ///< indices of SweepSpec::axes
  std::size_t size = 0;           ///< values of each
};

struct SweepWorkload {
  std::string name;
  std::string digest;  ///< fingerprint() of the content
  workload::Workload workload;
};

/// What makes the numbers of the points: see run::made_by().
std::string made_by(const nlohmann::json& document);

/// A sweep as configs/sweeps/README.md describes it, checked as far as it can be without running.
struct SweepSpec {  // NOLINT(bugprone-exception-escape): json's move throws nothing
  std::string name;
  std::filesystem::path file;
  nlohmann::json document;  ///< as read
  std::vector<config::DocumentedArchitecture> architectures;
  /// Every workload with every combination of the dimensions that axes vary.
  std::vector<SweepWorkload> workloads;
  std::map<std::string, std::string> options;  ///< of every point, without "--"
  std::vector<SweepAxis> axes;                 ///< workload first, arch second
  std::vector<SweepDimension> dimensions;      ///< outermost first
  std::vector<std::pair<std::string, io::JsonPlace>> conditions;
  std::optional<std::uint64_t> sample_points;  ///< drawn at random; else all
  std::uint64_t sample_seed = 0;
  bool store_operations = true;  ///< keep the result of every operation, not only the totals
  std::optional<double> timeout_s;
  std::optional<std::uint64_t> memory_mb;

  std::vector<std::string> axis_names() const;
  /// The axis that varies `option`; null where none does.
  const SweepAxis* option_axis(std::string_view option) const;
};

/// Reads a spec and the architectures and workloads that it names. Throws InputError.
SweepSpec read_sweep_spec(const std::filesystem::path& file);

/// The same from text; `file` is for messages and relative paths.
SweepSpec parse_sweep_spec(std::string_view text, const std::filesystem::path& file);

/// The values of an axis: "values": [...], or "range": {from, to, step | factor}, or "random": {from, to, count, seed,
/// scale, integer}. Whole numbers come back as integers. Throws InputError unless there is exactly one of them, all
/// values are numbers, words or booleans, and no two are equal where the axis is not `zipped` with others.
std::vector<nlohmann::json> read_axis_values(const io::JsonObject& axis, bool zipped);

/// A file with values of its dimensions, or a GEMM.
struct WorkloadSource {
  std::filesystem::path file;  ///< empty: `gemm`
  workload::NamedDims dims;
  workload::Workload gemm;
  io::JsonPlace place;
};

/// The file at `path`, which a spec in `folder` names at `place`. Throws InputError with the whole path where there is
/// none.
std::filesystem::path named_file(const std::string& path, const std::filesystem::path& folder,
                                 const io::JsonPlace& place);

/// What "workloads" of a spec in `folder` lists, one source for every combination of dimensions but
/// those `varied` by axes. Throws InputError.
std::vector<WorkloadSource> read_workload_sources(const io::JsonObject& spec, const std::filesystem::path& folder,
                                                  const std::set<std::string>& varied);

/// `source` with its dimensions and `more`, named without those of `more`. Throws InputError.
SweepWorkload read_source(const WorkloadSource& source, const workload::NamedDims& more);

/// XXH3 of 128 bits as 32 hexadecimal digits: tells contents apart that nobody made to look alike.
std::string fingerprint(std::string_view bytes);

/// A digest of a file's content, whatever its size. Throws InputError where it cannot be read.
std::string fingerprint_of_file(const std::filesystem::path& file);

/// A digest of the running program: tells two builds of one version apart.
const std::string& program_digest();

}  // namespace sptc::sweep
