// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/space/sweep_workloads.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/sweep/files/digest.h"
#include "sim/workload/dim_lists.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <array>

namespace sptc::sweep::space {
namespace {

using nlohmann::json;

workload::Workload one_gemm(const io::JsonObject& object) {
  constexpr std::array<std::string_view, 8> kKeys = {"name",  "m",     "n",     "k",
                                                     "batch", "count", "dtype", "prunable"};
  object.allow_only(kKeys);
  workload::Operation op;
  op.shape = {object.integer("m", 1, workload::kMaxExtent),
              object.integer("n", 1, workload::kMaxExtent),
              object.integer("k", 1, workload::kMaxExtent)};
  op.batch = object.integer_or("batch", 1, 1, workload::kMaxExtent);
  op.count = object.integer_or("count", 1, 1, workload::kMaxExtent);
  op.prunable = object.boolean_or("prunable", true);
  const std::string dtype = object.text_or("dtype", "f16");
  const auto type = workload::parse_usual_type(dtype);
  if (!type) {
    (object.place() / "dtype").fail(workload::unknown_operand_type(dtype));
  }
  op.dtype = *type;
  workload::Workload workload;
  op.name = object.text_or("name", fmt::format("{}x{}x{}", op.shape.m, op.shape.n, op.shape.k));
  workload.name = op.name;
  workload.operations.push_back(op);
  return workload;
}

/// {"batch": [1, 8], "seq": 384}.
workload::DimLists read_dims(const io::JsonObject& object, const std::set<std::string>& varied) {
  workload::DimLists lists;
  for (const auto& [name, value] : object.value().items()) {
    const io::JsonPlace place = object.place() / name;
    if (varied.contains(name)) {
      place.fail(fmt::format("'{}' is varied by an axis", io::printable(name)));
    }
    std::vector<std::int64_t> values;
    if (value.is_array()) {
      const json& array = object.array(name);
      for (std::size_t i = 0; i < array.size(); ++i) {
        values.push_back(io::to_integer(array[i], place / i, 1, workload::kMaxExtent));
      }
    } else {
      values.push_back(io::to_integer(value, place, 1, workload::kMaxExtent));
    }
    lists.emplace_back(name, std::move(values));
  }
  return lists;
}

/// A path of the spec is relative to the spec.
std::filesystem::path resolved(const std::string& path, const std::filesystem::path& folder) {
  const std::filesystem::path given(path);
  return given.is_absolute() ? given : (folder / given).lexically_normal();
}

void add_sources(const json& value, const io::JsonPlace& place, const std::filesystem::path& folder,
                 const std::set<std::string>& varied, std::vector<WorkloadSource>& sources) {
  if (value.is_string()) {
    sources.push_back({resolved(value.get<std::string>(), folder), {}, {}, place});
    return;
  }
  if (!value.is_object()) {
    place.fail(
        "must be the path of a workload, an object {file, dims} or an object {m, n, k}, not " +
        io::describe(value));
  }
  const io::JsonObject object(value, place);
  if (!object.has("file")) {
    sources.push_back({{}, {}, one_gemm(object), place});
    return;
  }
  constexpr std::array<std::string_view, 2> kKeys = {"file", "dims"};
  object.allow_only(kKeys);
  const workload::DimLists lists =
      object.has("dims") ? read_dims(object.object("dims"), varied) : workload::DimLists{};
  for (const workload::NamedDims& dims : workload::combinations(lists)) {
    sources.push_back({resolved(object.text("file"), folder), dims, {}, place});
  }
}

void add_varied(const json& axis, std::set<std::string>& names) {
  if (const auto dim = axis.find("dim"); dim != axis.end() && dim->is_string()) {
    names.insert(dim->get<std::string>());
  }
}

}  // namespace

std::vector<WorkloadSource> read_workload_sources(const io::JsonObject& spec,
                                                  const std::filesystem::path& folder,
                                                  const std::set<std::string>& varied) {
  const json& array = spec.array("workloads");
  std::vector<WorkloadSource> sources;
  for (std::size_t i = 0; i < array.size(); ++i) {
    add_sources(array[i], spec.place() / "workloads" / i, folder, varied, sources);
  }
  return sources;
}

SweepWorkload read_source(const WorkloadSource& source, const workload::NamedDims& more) {
  SweepWorkload result;
  std::set<std::string> without;
  for (const auto& [name, value] : more) {
    without.insert(name);
  }
  if (source.file.empty()) {
    if (!more.empty()) {
      source.place.fail(fmt::format("a GEMM has no dimension '{}' that an axis could vary",
                                    io::printable(more.begin()->first)));
    }
    result.workload = source.gemm;
    const workload::Operation& op = result.workload.operations.front();
    result.digest =
        files::fingerprint(fmt::format("{} {} {} {} {} {} {}", op.shape.m, op.shape.n, op.shape.k,
                                       op.batch, op.count, numerics::name(op.dtype), op.prunable));
    result.name = result.workload.name;
    return result;
  }
  workload::NamedDims dims = source.dims;
  dims.insert(more.begin(), more.end());
  result.workload = workload::read_workload(source.file, dims);
  result.digest = files::fingerprint_of_file(source.file);
  if (result.workload.network) {
    result.digest = files::fingerprint(result.digest +
                                       files::fingerprint_of_file(result.workload.network->file));
  }
  if (!result.workload.dims.empty()) {
    std::string text = result.digest;
    for (const auto& [name, value] : result.workload.dims) {
      text += fmt::format("\n{}={}", name, value);
    }
    result.digest = files::fingerprint(text);
  }
  result.name = workload::title(result.workload, without);
  return result;
}

std::set<std::string> varied_dims(const io::JsonObject& spec) {
  std::set<std::string> names;
  const json axes = spec.value().value("axes", json::array());
  for (const json& axis : axes) {
    if (!axis.is_object()) {
      continue;  // the reader of axes says it
    }
    add_varied(axis, names);
    if (const auto zip = axis.find("zip"); zip != axis.end() && zip->is_array()) {
      for (const json& inner : *zip) {
        if (inner.is_object()) {
          add_varied(inner, names);
        }
      }
    }
  }
  return names;
}

}  // namespace sptc::sweep::space
