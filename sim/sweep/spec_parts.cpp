// SPDX-License-Identifier: Apache-2.0
#include "models/base/random.h"
#include "sim/io/text_file.h"
#include "sim/sweep/sweep_spec.h"
#include "sim/workload/dim_lists.h"
#include "sim/workload/workload_text.h"

#include <cmath>
#include <fstream>
#include <new>
#include <ranges>
#include <system_error>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sptc::sweep {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxValues = 100000;

double number(const io::JsonObject& object, std::string_view key) {
  const json& value = object.require(key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    (object.place() / key).fail("must be a number, not {}", io::describe(value));
  }
  return value.get<double>();
}

void require_count(double count, const io::JsonPlace& place) {
  if (!(count <= static_cast<double>(kMaxValues))) {
    place.fail("an axis has at most {} values", kMaxValues);
  }
}

std::vector<json> range(const io::JsonObject& object) {
  object.allow_only({"from", "to", "step", "factor"});
  const double from = number(object, "from");
  const double to = number(object, "to");
  if (object.has("step") == object.has("factor")) {
    object.place().fail("needs either 'step' or 'factor'");
  }
  if (from > to) {
    object.place().fail("'from', {}, is above 'to', {}", from, to);
  }
  // Ends that rounding misses by a hair belong to the range.
  constexpr double kSlack = 1e-9;
  std::vector<json> values;
  if (object.has("step")) {
    const double step = number(object, "step");
    if (!(step > 0)) {
      (object.place() / "step").fail("must be above 0");
    }
    require_count((to - from) / step, object.place());
    const auto count = static_cast<std::size_t>((to - from) / step + kSlack);
    for (std::size_t i = 0; i <= count; ++i) {
      values.push_back(io::number_as_json(from + static_cast<double>(i) * step));
    }
    return values;
  }
  const double factor = number(object, "factor");
  if (!(factor > 1) || !(from > 0)) {
    object.place().fail("'factor' must be above 1, and 'from' above 0");
  }
  require_count(std::log(to / from) / std::log(factor), object.place());
  double value = from;
  while (value <= to * (1 + kSlack)) {
    values.push_back(io::number_as_json(value));
    value *= factor;
  }
  return values;
}

std::vector<json> random(const io::JsonObject& object) {
  object.allow_only({"from", "to", "count", "seed", "scale", "integer"});
  const double from = number(object, "from");
  const double to = number(object, "to");
  const bool logarithmic = object.choice("scale", {"linear", "log"}) == 1;
  const bool whole = object.boolean_or("integer", false);
  const std::int64_t count = object.integer("count", 1, static_cast<std::int64_t>(kMaxValues));
  if (!(from < to)) {
    object.place().fail("'from', {}, must be below 'to', {}", from, to);
  }
  if (logarithmic && !(from > 0)) {
    object.place().fail("a logarithmic scale needs 'from' above 0");
  }
  if (whole && to - from + 1 < 2 * static_cast<double>(count)) {
    object.place().fail("cannot draw {} different whole numbers from so few: give a range of them", count);
  }
  const base::RandomStream stream(static_cast<std::uint64_t>(object.integer_or("seed", 0, 0, INT64_MAX)));
  std::vector<json> values;
  std::set<double> seen;
  for (std::uint64_t draw = 0; values.size() < static_cast<std::size_t>(count); ++draw) {
    if (draw > 1000 * static_cast<std::uint64_t>(count)) {
      object.place().fail("cannot draw {} different numbers", count);
    }
    const double unit = static_cast<double>(stream.bits(draw) >> 11) * 0x1p-53;
    double value = logarithmic ? from * std::pow(to / from, unit) : from + (to - from) * unit;
    value = whole ? std::round(value) : value;
    if (seen.insert(value).second) {
      values.push_back(io::number_as_json(value));
    }
  }
  return values;
}

workload::Workload one_gemm(const io::JsonObject& object) {
  object.allow_only({"name", "m", "n", "k", "batch", "count", "dtype", "prunable"});
  workload::Operation op;
  op.shape = {object.integer("m", 1, workload::kMaxExtent), object.integer("n", 1, workload::kMaxExtent),
              object.integer("k", 1, workload::kMaxExtent)};
  op.batch = object.integer_or("batch", 1, 1, workload::kMaxExtent);
  op.count = object.integer_or("count", 1, 1, workload::kMaxExtent);
  op.prunable = object.boolean_or("prunable", true);
  const std::string dtype = object.text_or("dtype", "f16");
  const auto format = workload::parse_operand_format(dtype);
  if (!format) {
    (object.place() / "dtype").fail(workload::unknown_operand_type(dtype));
  }
  op.dtype = format->type;
  op.storage.scale_block = format->scale_block;
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
      place.fail("'{}' is varied by an axis", io::printable(name));
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

void add_sources(const json& value, const io::JsonPlace& place, const std::filesystem::path& folder,
                 const std::set<std::string>& varied, std::vector<WorkloadSource>& sources) {
  if (value.is_string()) {
    sources.push_back({named_file(value.get<std::string>(), folder, place), {}, {}, place});
    return;
  }
  if (!value.is_object()) {
    place.fail("must be the path of a workload, an object {file, dims} or an object {m, n, k}, not " +
               io::describe(value));
  }
  const io::JsonObject object(value, place);
  if (!object.has("file")) {
    sources.push_back({{}, {}, one_gemm(object), place});
    return;
  }
  object.allow_only({"file", "dims"});
  const workload::DimLists lists = object.has("dims") ? read_dims(object.object("dims"), varied) : workload::DimLists{};
  for (const workload::NamedDims& dims : workload::combinations(lists)) {
    sources.push_back({named_file(object.text("file"), folder, place / "file"), dims, {}, place});
  }
}

std::string hex(const XXH128_hash_t& hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

std::vector<json> read_axis_values(const io::JsonObject& axis, bool zipped) {
  const int ways = axis.has("values") + axis.has("range") + axis.has("random");
  if (ways != 1) {
    axis.place().fail("needs exactly one of 'values', 'range' and 'random'");
  }
  if (axis.has("range")) {
    return range(axis.object("range"));
  }
  if (axis.has("random")) {
    return random(axis.object("random"));
  }
  std::vector<json> values;
  std::set<json> seen;
  const json& array = axis.array("values");
  require_count(static_cast<double>(array.size()), axis.place() / "values");
  for (std::size_t i = 0; i < array.size(); ++i) {
    const io::JsonPlace place = axis.place() / "values" / i;
    if (!array[i].is_number() && !array[i].is_string() && !array[i].is_boolean()) {
      place.fail("must be a number, a word or true or false, not {}", io::describe(array[i]));
    }
    if (!seen.insert(array[i]).second && !zipped) {
      place.fail(io::describe(array[i]) + " stands twice");
    }
    values.push_back(array[i].is_number_float() ? io::number_as_json(array[i].get<double>()) : array[i]);
  }
  return values;
}

std::filesystem::path named_file(const std::string& path, const std::filesystem::path& folder,
                                 const io::JsonPlace& place) {
  const std::filesystem::path given(path);
  const std::filesystem::path file = given.is_absolute() ? given : (folder / given).lexically_normal();
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    const std::filesystem::path whole = std::filesystem::absolute(file, error).lexically_normal();
    place.fail("{}: no such file", io::printable(whole.string()));
  }
  return file;
}

std::vector<WorkloadSource> read_workload_sources(const io::JsonObject& spec, const std::filesystem::path& folder,
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
  if (source.file.empty()) {
    if (!more.empty()) {
      source.place.fail("a GEMM has no dimension '{}' that an axis could vary", io::printable(more.begin()->first));
    }
    result.workload = source.gemm;
    const workload::Operation& op = result.workload.operations.front();
    result.digest = fingerprint(fmt::format("{} {} {} {} {} {} {}", op.shape.m, op.shape.n, op.shape.k, op.batch,
                                            op.count, numerics::name(op.dtype), op.prunable));
    result.name = result.workload.name;
    return result;
  }
  workload::NamedDims dims = source.dims;
  dims.insert(more.begin(), more.end());
  result.workload = source.place.named([&] { return workload::read_workload(source.file, dims); });
  result.digest = fingerprint_of_file(source.file);
  if (result.workload.network) {
    result.digest = fingerprint(result.digest + fingerprint_of_file(result.workload.network->file));
  }
  if (!result.workload.dims.empty()) {
    std::string text = result.digest;
    for (const auto& [name, value] : result.workload.dims) {
      text += fmt::format("\n{}={}", name, value);
    }
    result.digest = fingerprint(text);
  }
  result.name = workload::title(result.workload, {std::views::keys(more).begin(), std::views::keys(more).end()});
  return result;
}

std::string fingerprint(std::string_view bytes) {
  return hex(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string fingerprint_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    io::refuse("{}: cannot be opened for reading", io::printable(file.string()));
  }
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  if (state == nullptr) {
    throw std::bad_alloc();
  }
  XXH3_128bits_reset(state.get());
  std::array<char, 65536> buffer{};
  while (stream.read(buffer.data(), buffer.size()) || stream.gcount() > 0) {
    XXH3_128bits_update(state.get(), buffer.data(), static_cast<std::size_t>(stream.gcount()));
  }
  return hex(XXH3_128bits_digest(state.get()));
}

const std::string& program_digest() {
  static const std::string kDigest = fingerprint_of_file("/proc/self/exe");
  return kDigest;
}

}  // namespace sptc::sweep
