// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/vector_operation.h"

#include "models/base/shape.h"
#include "models/base/text.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/workload/workload.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <iterator>

namespace sptc::workload {
namespace {

using Kind = VectorKind;
using Group = WorkGroup;

// Instructions are counted from the formulas: a fused multiply-add is one. GELU in its form with
// the hyperbolic tangent (Hendrycks, Gimpel, arXiv 1606.08415); layer norm adds up the elements and
// their squares, then scales and shifts; exponentials are of base 2 behind a multiplication.
// Conversions between integers and floating point run on the special function units (Jia et al.,
// arXiv 1903.07486, Turing, recalled: I2F and F2I issue as slowly as MUFU). A selection sorts 16
// values by 65 compare-and-swaps of 3 instructions, then looks at each in 17
// (facebookresearch/xformers, csrc/sparse24/compute_sparse_tile.h and static_sort.h).
constexpr std::array<VectorKindInfo, 26> kVectorKinds{{
    {Kind::kBias, "bias", Group::kElementwise, 1, 1, 1, 0},
    {Kind::kRelu, "relu", Group::kElementwise, 1, 0, 1, 0},
    {Kind::kGelu, "gelu", Group::kElementwise, 1, 0, 6, 1},
    {Kind::kSilu, "silu", Group::kElementwise, 1, 0, 3, 2},
    {Kind::kTanh, "tanh", Group::kElementwise, 1, 0, 1, 1},
    {Kind::kSigmoid, "sigmoid", Group::kElementwise, 1, 0, 2, 2},
    {Kind::kScale, "scale", Group::kElementwise, 1, 0, 1, 0},
    {Kind::kMask, "mask", Group::kElementwise, 1, 0, 1, 0},
    {Kind::kResidual, "residual", Group::kElementwise, 2, 0, 1, 0},
    {Kind::kGate, "gate", Group::kElementwise, 2, 0, 4, 2},
    {Kind::kQuantize, "quantize", Group::kElementwise, 1, 0, 2, 1},
    {Kind::kDequantize, "dequantize", Group::kElementwise, 1, 1, 1, 1},
    {Kind::kLayerNorm, "layer_norm", Group::kNormalisation, 1, 2, 5, 0},
    {Kind::kRmsNorm, "rms_norm", Group::kNormalisation, 1, 1, 3, 0},
    {Kind::kSoftmax, "softmax", Group::kSoftmax, 1, 0, 4, 1},
    {Kind::kEmbedding, "embedding", Group::kData, 1, 0, 1, 0},
    {Kind::kPooling, "pooling", Group::kData, 1, 0, 1, 0},
    {Kind::kCopy, "copy", Group::kData, 1, 0, 0, 0},
    {Kind::kRotary, "rotary", Group::kElementwise, 1, 0, 3, 0},
    {Kind::kKvAppend, "kv_append", Group::kData, 1, 0, 0, 0},
    {Kind::kRouting, "routing", Group::kData, 1, 0, 8, 1},
    {Kind::kSelect, "select", Group::kData, 1, 0, 29, 0},
    {Kind::kState, "state", Group::kData, 1, 0, 2, 0},
    {Kind::kAllReduce, "all_reduce", Group::kCommunication, 1, 0, 1, 0},
    {Kind::kAllGather, "all_gather", Group::kCommunication, 1, 0, 0, 0},
    {Kind::kAllToAll, "all_to_all", Group::kCommunication, 1, 0, 0, 0},
}};

constexpr int kMostTensors = 8;

/// Adds what `part` of a name says; false where it is not known. Derivatives read what the forward
/// pass wrote: the mask of a ReLU, or what went into a GELU.
bool add_part(std::string_view part, Epilogue& epilogue) {
  static constexpr std::pair<std::string_view, VectorKind> kParts[] = {
      {"RELU", VectorKind::kRelu},      {"DRELU", VectorKind::kRelu}, {"GELU", VectorKind::kGelu},
      {"DGELU", VectorKind::kGelu},     {"BIAS", VectorKind::kBias},  {"BGRAD", VectorKind::kBias},
      {"SWISH", VectorKind::kSilu},  // of hipBLASLt
      {"SIGMOID", VectorKind::kSigmoid}};
  // The sum of a column of A or B is that of the main loop's operands.
  constexpr std::string_view kNothing[] = {"", "AUX", "DEFAULT", "BGRADA", "BGRADB"};
  const auto* const known = std::ranges::find(kParts, part, &std::pair<std::string_view, VectorKind>::first);
  if (known == std::end(kParts)) {
    return std::ranges::count(kNothing, part) > 0;
  }
  epilogue.operations.push_back(known->second);
  epilogue.reads_mask = epilogue.reads_mask || part == "DRELU";
  epilogue.reads_tensor = epilogue.reads_tensor || part == "DGELU";
  return true;
}

}  // namespace

const VectorKindInfo& info(VectorKind kind) {
  const auto found = std::ranges::find(kVectorKinds, kind, &VectorKindInfo::kind);
  base::ensure(found != kVectorKinds.end(), "a vector operation without a row in its table");
  return *found;
}

std::string_view name(WorkGroup group) {
  static constexpr std::array<std::string_view, kWorkGroups> kNames{
      "GEMM", "attention", "element-wise", "normalisation", "softmax", "data movement", "communication"};
  return kNames.at(static_cast<std::size_t>(group));
}

std::optional<VectorKind> parse_vector_kind(std::string_view name) {
  const auto found = std::ranges::find(kVectorKinds, name, &VectorKindInfo::name);
  return found == kVectorKinds.end() ? std::nullopt : std::optional(found->kind);
}

std::vector<std::string_view> vector_kind_names() {
  std::vector<std::string_view> names;
  std::ranges::transform(kVectorKinds, std::back_inserter(names), &VectorKindInfo::name);
  return names;
}

std::optional<VectorOperation> read_vector_operation(const io::JsonObject& object) {
  const auto kind = object.has("kind") ? parse_vector_kind(object.text("kind")) : std::nullopt;
  if (!kind) {
    return std::nullopt;
  }
  object.allow_only({"name", "kind", "rows", "columns", "count", "inputs", "outputs", "input_rows", "causal", "note"});
  VectorOperation op;
  op.name = object.text("name");
  op.kind = *kind;
  op.rows = object.integer("rows", 1, kMaxExtent);
  op.columns = object.integer("columns", 1, kMaxExtent);
  op.count = object.integer_or("count", 1, 1, kMaxExtent);
  op.tensors = static_cast<int>(object.integer_or("inputs", info(*kind).tensors, 1, kMostTensors));
  op.outputs = static_cast<int>(object.integer_or("outputs", 1, 1, kMostTensors));
  op.input_rows = object.integer_or("input_rows", op.rows, 1, kMaxExtent);
  op.causal = object.boolean_or("causal", false);
  if (op.causal && *kind != Kind::kSoftmax) {
    (object.place() / "causal").fail("needs the kind \"softmax\"");
  }
  return op;
}

std::optional<Epilogue> parse_epilogue(std::string_view name) {
  Epilogue epilogue;
  bool auxiliary = false;
  for (const std::string_view part : parts_of(name, '_')) {
    auxiliary = auxiliary || part == "AUX";
    if (!add_part(part, epilogue)) {
      return std::nullopt;
    }
  }
  const bool mask = std::ranges::count(epilogue.operations, VectorKind::kRelu) > 0;
  epilogue.writes_mask = auxiliary && mask;
  epilogue.writes_tensor = auxiliary && !mask;
  return epilogue;
}

Epilogue epilogue_of(const Recorded& recorded) {
  Epilogue epilogue = parse_epilogue(recorded.epilogue).value_or(Epilogue{});
  if (recorded.adds_c) {
    epilogue.operations.push_back(VectorKind::kResidual);
    epilogue.reads_tensor = true;
  }
  return epilogue;
}

double epilogue_operations(std::span<const VectorKind> operations) {
  constexpr double kSlotsOfSpecial = 8;  // 128 lanes are issued in a cycle, 16 of those have units
  double instructions = 0, special = 0;
  for (const VectorKind kind : operations) {
    instructions += info(kind).instructions;
    special += info(kind).special;
  }
  return std::max(instructions, kSlotsOfSpecial * special);
}

}  // namespace sptc::workload
