// SPDX-License-Identifier: Apache-2.0
#include "sim/io/file_use.h"
#include "sim/io/text_file.h"
#include "sim/workload/dense_role.h"
#include "sim/workload/dim_lists.h"
#include "sim/workload/expert_shares.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/workload_dims.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <iterator>
#include <system_error>

namespace sptc::workload {
namespace {

using kernels::OperandFormat;
using nlohmann::json;

constexpr std::array<std::string_view, 2> kSchemas{"gemm-workload/0.1", kWorkloadSchema};

void require_word(const io::JsonObject& object, std::string_view key, std::string_view only) {
  if (object.has(key) && object.text(key) != only) {
    (object.place() / key).fail("must be \"{}\", not {}", only, io::describe(object.require(key)));
  }
}

OperandFormat read_format(const io::JsonObject& object, std::string_view key, const OperandFormat& absent) {
  if (!object.has(key)) {
    return absent;
  }
  const std::string name = object.text(key);
  const std::optional<OperandFormat> format = parse_operand_format(name);
  if (!format) {
    (object.place() / key).fail(unknown_operand_type(name));
  }
  return *format;
}

/// Integers from `min` to `max`, called `names`.
template <std::size_t kSize>
std::array<std::int64_t, kSize> read_list(const io::JsonObject& object, std::string_view key, std::int64_t absent,
                                          std::int64_t min, std::int64_t max, std::string_view names) {
  std::array<std::int64_t, kSize> result;
  result.fill(absent);
  if (object.has(key)) {
    const json& list = object.array(key);
    const io::JsonPlace place = object.place() / key;
    if (list.size() != kSize) {
      place.fail("must have {} elements ({}), not {}", kSize, names, list.size());
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      result[i] = io::to_integer(list[i], place / i, min, max);
    }
  }
  return result;
}

/// Refuses another extent than `value`, which `source` gives, where the file states one.
void require_stated(const io::JsonObject& object, std::string_view key, std::int64_t value, std::string_view source) {
  const std::int64_t stated = object.integer_or(key, value, 1, kMaxExtent);
  if (stated != value) {
    (object.place() / key).fail("{} stated, but {} gives {}", stated, source, value);
  }
}

ConvGeometry read_geometry(const io::JsonObject& object) {
  object.allow_only(
      {"N", "C", "H", "W", "K", "R", "S", "stride", "pad", "dilation", "groups", "P", "Q", "layout", "weight_layout"});
  require_word(object, "layout", "NHWC");
  require_word(object, "weight_layout", "KRSC");
  const auto extent = [&](std::string_view key) { return object.integer(key, 1, kMaxExtent); };
  ConvGeometry conv{extent("N"), extent("C"), extent("H"), extent("W"), extent("K"), extent("R"), extent("S")};
  conv.stride = read_list<2>(object, "stride", 1, 1, kMaxExtent, "height, width");
  conv.pad = read_list<2>(object, "pad", 0, 0, kMaxExtent, "height, width");
  conv.dilation = read_list<2>(object, "dilation", 1, 1, kMaxExtent, "height, width");
  conv.groups = object.integer_or("groups", 1, 1, kMaxExtent);
  if (conv.c % conv.groups != 0 || conv.k % conv.groups != 0) {
    (object.place() / "groups").fail("{} does not divide both C={} and K={}", conv.groups, conv.c, conv.k);
  }
  return conv;
}

void read_convolution(const io::JsonObject& object, Operation& op) {
  const io::JsonObject geometry = object.object("conv");
  if (!lower_convolution(read_geometry(geometry), op)) {
    geometry.place().fail(
        !op.conv ? "the dilated filter does not fit the padded input, so there is no output extent"
                 : fmt::format("the implicit GEMM has {} above {}", op.shape.n == 0 ? "n" : "k", kMaxExtent));
  }
  require_stated(geometry, "P", op.conv->p, "the geometry");
  require_stated(geometry, "Q", op.conv->q, "the geometry");
  constexpr std::string_view kSource = "the convolution geometry";
  require_stated(object, "m", op.shape.m, kSource);
  require_stated(object, "n", op.shape.n, kSource);
  require_stated(object, "k", op.shape.k, kSource);
  require_stated(object, "batch", op.batch, kSource);
}

/// The kind of an operation that is no vector operation. Throws InputError for one that is none.
std::string read_kind(const io::JsonObject& object) {
  std::vector<std::string_view> kinds{"gemm", "conv2d"};
  std::ranges::copy(vector_kind_names(), std::back_inserter(kinds));
  object.choice("kind", kinds, "unknown kind");
  return object.text_or("kind", object.has("conv") ? "conv2d" : "gemm");
}

void read_shape(const io::JsonObject& object, const std::string& kind, Operation& op) {
  if (kind == "conv2d") {
    read_convolution(object, op);
  } else if (object.has("conv")) {
    (object.place() / "conv").fail("only an operation of kind \"conv2d\" has a convolution");
  } else {
    op.shape.m = object.integer("m", 1, kMaxExtent);
    op.shape.n = object.integer("n", 1, kMaxExtent);
    op.shape.k = object.integer("k", 1, kMaxExtent);
    op.batch = object.integer_or("batch", 1, 1, kMaxExtent);
  }
  op.count = object.integer_or("count", 1, 1, kMaxExtent);
}

/// What only power looks at.
void read_surroundings(const io::JsonObject& object, Operation& op) {
  require_word(object, "b", kZeroB);
  op.b_is_zero = object.has("b");
  op.group = object.text_or("group", "");
  op.rest.ns = object.integer_or("rest_ns", 0, 0, kMaxRest);
  op.rest.bytes = object.integer_or("rest_bytes", 0, 0, kMaxRest);
  if (!is_possible(op.rest)) {
    (object.place() / "rest_bytes").fail(std::string(kImpossibleRest));
  }
}

/// Whether A is a weight that 2:4 pruning takes: stated, or else by ASP's rule.
bool read_prunable(const io::JsonObject& object, const Operation& op) {
  if (op.weight) {
    require_word(object, "weight_operand", "A");
  }
  const bool prunable = object.boolean_or("prunable_2_4", op.weight && asp_eligible(op));
  if (prunable && !op.weight) {
    (object.place() / "prunable_2_4").fail("true, but weight_operand is null: A is no weight");
  }
  return prunable;
}

LayerTensors read_tensors(const io::JsonObject& object) {
  object.allow_only({"weight", "bias", "sparse_weight", "sparse_bias"});
  LayerTensors tensors{object.text("weight"), object.text_or("bias", ""), object.text_or("sparse_weight", ""),
                       object.text_or("sparse_bias", "")};
  if (tensors.sparse_weight.empty() && !tensors.sparse_bias.empty()) {
    (object.place() / "sparse_bias").fail("needs sparse_weight beside it");
  }
  return tensors;
}

double read_time(const io::JsonObject& object) {
  if (!object.has("time_us")) {
    return 0;
  }
  const json& value = object.require("time_us");
  if (!value.is_number() || !(value.get<double>() > 0 && value.get<double>() <= kMaxRecordedUs)) {
    (object.place() / "time_us")
        .fail("must be a number above 0, at most {}, not {}", kMaxRecordedUs, io::describe(value));
  }
  return value.get<double>();
}

Recorded read_recorded(const io::JsonObject& object) {
  object.allow_only({"time_us", "kernel", "d_dtype", "sparse", "tile", "stages", "split_k", "epilogue", "adds_c"});
  Recorded recorded{read_time(object), object.text_or("kernel", ""), object.text_or("d_dtype", ""),
                    object.boolean_or("sparse", false)};
  const auto [m, n, k] = read_list<3>(object, "tile", 0, 1, kMostTileExtent, "m, n, k");
  recorded.tile = {m, n, k};
  recorded.stages = static_cast<int>(object.integer_or("stages", 0, 0, kMostRecorded));
  recorded.split_k = static_cast<int>(object.integer_or("split_k", 0, 0, kMostRecorded));
  recorded.epilogue = object.text_or("epilogue", "");
  recorded.adds_c = object.boolean_or("adds_c", false);
  return recorded;
}

NotTaken read_not_taken(const io::JsonObject& object) {
  object.allow_only({"name", "m", "n", "k", "batch", "dtype", "count", "time_us", "reason"});
  const auto extent = [&](std::string_view key) { return object.integer_or(key, 0, 0, kMaxExtent); };
  NotTaken launch;
  launch.name = object.text("name");
  launch.shape = {extent("m"), extent("n"), extent("k")};
  launch.batch = object.integer_or("batch", 1, 1, kMaxExtent);
  launch.dtype = object.text_or("dtype", "");
  launch.count = object.integer_or("count", 1, 1, kMaxExtent);
  launch.time_us = read_time(object);
  launch.reason = object.text("reason");
  return launch;
}

/// How A, and of block-scaled formats B, lie in memory.
kernels::OperandStorage read_storage(const io::JsonObject& object, const Operation& op, const OperandFormat& format) {
  kernels::OperandStorage storage;
  if (object.has("weight_dtype")) {
    storage.weight = parse_weight_type(object.text("weight_dtype"));
    if (!storage.weight || !op.weight) {
      (object.place() / "weight_dtype")
          .fail(op.weight ? unknown_weight_type(object.text("weight_dtype"))
                          : "weight_operand is null: A is no weight");
    }
  }
  storage.scale_block = static_cast<int>(object.integer_or("scale_block", format.scale_block, 1, kMostInScaleBlock));
  if (format.scale_block > 0 && storage.scale_block != format.scale_block) {
    (object.place() / "scale_block")
        .fail("is {}, but {} has blocks of {}", storage.scale_block, kernels::name(format), format.scale_block);
  }
  if (const std::string why = kernels::impossible_storage(storage, op.dtype); !why.empty()) {
    object.place().fail(why);
  }
  return storage;
}

std::optional<Cut> read_cut(const io::JsonObject& object, const Operation& op) {
  if (!object.has("cut")) {
    return std::nullopt;
  }
  const auto cut = static_cast<Cut>(object.choice("cut", kCuts));
  if (!op.weight || (op.conv && cut != Cut::kNone)) {
    (object.place() / "cut")
        .fail(op.weight ? "must be \"none\": a convolution is not cut" : "weight_operand is null: A is no weight");
  }
  return cut;
}

Operation read_operation(const io::JsonObject& object, const OperandFormat& default_format) {
  const std::string kind = read_kind(object);
  static const std::vector<std::string_view> kKeys = parts_of(
      "name kind m n k batch count dtype conv trans_a trans_b prunable_2_4 weight_operand tensors activation b group "
      "input rest_ns rest_bytes a_role b_role layout why_not_prunable note recorded weight_dtype scale_block "
      "expert_shares cut",
      ' ');
  object.allow_only(kKeys);
  Operation op;
  op.name = object.text("name");
  const OperandFormat format = read_format(object, "dtype", default_format);
  op.dtype = format.type;
  read_shape(object, kind, op);
  read_surroundings(object, op);
  // Transposition is a matter of storage; the operands here are always logical matrices.
  object.boolean_or("trans_a", false);
  object.boolean_or("trans_b", false);
  op.weight = !object.has("weight_operand") || !object.require("weight_operand").is_null();
  op.input = object.text_or("input", "");
  op.cut = read_cut(object, op);
  op.prunable = read_prunable(object, op);
  op.storage = read_storage(object, op, format);
  op.activation = static_cast<Activation>(object.choice("activation", {"none", "relu"}));
  if (object.has("tensors")) {
    op.tensors = read_tensors(object.object("tensors"));
  }
  if (object.has("recorded")) {
    op.recorded = read_recorded(object.object("recorded"));
  }
  return op;
}

/// `relative` inside the directory of `workload`; no link leads outside.
std::filesystem::path confined_path(const std::filesystem::path& workload, const std::string& relative,
                                    const io::JsonPlace& place) {
  const std::filesystem::path directory =
      workload.has_parent_path() ? workload.parent_path() : std::filesystem::path(".");
  std::error_code error;
  const std::filesystem::path root = std::filesystem::weakly_canonical(directory, error);
  const std::filesystem::path file =
      error ? std::filesystem::path() : std::filesystem::weakly_canonical(root / relative, error);
  const std::filesystem::path inside = error ? file : file.lexically_relative(root);
  if (relative.find('\0') != std::string::npos || error || inside.empty() || inside == "." || *inside.begin() == "..") {
    place.fail("'{}' is not a file inside the directory of the workload", io::printable(relative));
  }
  return directory / inside;
}

NetworkData read_network(const io::JsonObject& object, const std::filesystem::path& workload) {
  object.allow_only({"file", "input", "labels", "classes"});
  NetworkData network;
  network.file = confined_path(workload, object.text("file"), object.place() / "file");
  io::announce_input(network.file);  // whether or not this run looks at its values
  network.input = object.text("input");
  network.labels = object.text("labels");
  network.classes = object.integer("classes", 1, kMaxExtent);
  return network;
}

/// Real values are all or nothing: a chain of layers has no gaps.
void check_network(const io::JsonObject& root, const Workload& workload) {
  if (workload.network && !workload.vectors.empty()) {
    (root.place() / "network").fail("needs a file of GEMMs and convolutions alone");
  }
  for (std::size_t i = 0; i < workload.operations.size(); ++i) {
    const Operation& op = workload.operations[i];
    const io::JsonPlace place = root.place() / "ops" / i;
    if (workload.network && !op.tensors) {
      place.fail("the key 'tensors' is missing, but the file has a 'network'");
    }
    if (workload.network && op.count != 1) {
      (place / "count").fail("must be 1 in a file with a 'network', not {}", op.count);
    }
    if (!workload.network && (op.tensors || op.activation != Activation::kNone)) {
      place.fail("'tensors' and 'activation' need a 'network' at top level");
    }
  }
}

/// Whether the schema is one in which extents may be expressions.
bool has_dims(const io::JsonObject& root) {
  root.require("schema");
  const bool expressions = root.choice("schema", kSchemas, "unknown schema") == 1;
  if (!expressions && root.has("dims")) {
    (root.place() / "dims").fail("needs the schema \"{}\"", kSchemas[1]);
  }
  return expressions;
}

/// What passes through the network at once: the dimension "batch", or what the file states.
std::int64_t inputs_of(const io::JsonObject& root, const NamedDims& dims) {
  const auto batch = dims.find("batch");
  if (batch == dims.end()) {
    return root.has("inputs") ? root.integer("inputs", 1, kMaxExtent) : 0;
  }
  if (root.has("inputs")) {
    (root.place() / "inputs").fail("must be left out: the dimension 'batch' says it");
  }
  return batch->second;
}

}  // namespace

Workload parse_workload_json(std::string_view text, const std::filesystem::path& file, const NamedDims& dims) {
  const std::string shown = io::printable(file.string());
  json document = io::parse_json(text, shown);
  const io::JsonObject root(document, {shown, ""});
  // Keys that only inform a human reader are allowed and not looked at; so are some of an operation.
  root.allow_only({"schema", "name", "ops", "default_dtype", "network", "phase", "notes", "convention",
                   "hyperparameters", "sources", "totals", "checks", "source", "not_taken", "account", "dims",
                   "inputs"});
  Workload workload;
  if (has_dims(root)) {
    workload.dims = resolve_dims(document, dims, shown, workload.notes);
  } else {
    OpenDims(dims, shown).refuse_unused();
  }
  workload.inputs = inputs_of(root, workload.dims);
  workload.file = file;
  workload.name = root.text_or("name", file.stem().string());
  const OperandFormat format = read_format(root, "default_dtype", {});
  std::int64_t macs = 0;
  root.each("ops", [&](const json& element, const io::JsonPlace& place) {
    const io::JsonObject object(element, place);
    if (auto vector = read_vector_operation(object)) {
      vector->after = workload.operations.size();
      workload.vectors.push_back(std::move(*vector));
      return;
    }
    for (Operation& op : by_experts(object, read_operation(object, format))) {
      if (!add_macs(macs, op)) {
        place.fail("m*n*k*batch*count, summed over the operations, exceeds 64 bits");
      }
      workload.operations.push_back(std::move(op));
    }
  });
  if (root.has("network")) {
    workload.network = read_network(root.object("network"), file);
  }
  check_network(root, workload);
  workload.source = root.text_or("source", "");
  if (root.has("not_taken")) {
    root.each("not_taken", [&](const json& launch, const io::JsonPlace& place) {
      workload.not_taken.push_back(read_not_taken(io::JsonObject(launch, place)));
    });
  }
  return workload;
}

}  // namespace sptc::workload
