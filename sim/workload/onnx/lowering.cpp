// SPDX-License-Identifier: Apache-2.0
#include "sim/io/text_file.h"
#include "sim/workload/onnx/operators.h"

#include <algorithm>

namespace sptc::workload::onnx {
namespace {

using namespace lowering;

/// An operand, whose origin has its zero points; several of them stand along `axis`.
Value operand(const Call& call, bool second, std::int64_t axis) {
  const Operands& places = find_operator(call.node.op)->operands;
  const std::size_t index = second ? places.second : 0;
  const std::size_t zero = second ? places.second_zero : places.first_zero;
  Value value = call.input(index);
  if (zero > 0) {
    value.origin = quantized_origin(call.node, call.inputs, index, zero, axis);
  }
  return value;
}

void transpose_last(Dims& dims, bool transposed) {
  if (transposed) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  }
}

/// Weights of few bits that are dequantised to the type of the other operand stay so in memory.
/// Kernels of them multiply f16 or bf16.
void keep_weight_bits(std::int64_t bits, std::int64_t block, RecordedLaunch& launch) {
  constexpr std::int64_t kFour = 4, kEight = 8;
  if (bits == kFour && launch.dtype == "tf32") {
    launch.dtype = "f16";
  }
  const bool halves = launch.dtype == "f16" || launch.dtype == "bf16";
  if (!halves || (bits != kFour && bits != kEight)) {
    return;
  }
  launch.op.storage.weight = bits == kFour ? numerics::DataType::kS4 : numerics::DataType::kS8;
  launch.op.storage.scale_block = block > 0 && block <= kMostInScaleBlock ? static_cast<int>(block) : 0;
}

bool has_four_bits(Type type) {
  return type == Type::kInt4 || type == Type::kUint4;
}

/// Bits of a weight that is dequantised alone; 0 where it is none of integers.
std::int64_t weight_only_bits(const Value& x, const Value& w) {
  const bool alone = w.constant && w.quantized && !x.quantized;
  const bool eight = w.type == Type::kInt8 || w.type == Type::kUint8;
  return !alone ? 0 : has_four_bits(w.type) ? 4 : eight ? 8 : 0;
}

Lowered product(const Call& call) {
  const Node& node = call.node;
  const bool transpose_a = node.integer("transA", 0) != 0, transpose_b = node.integer("transB", 0) != 0;
  const Value a = operand(call, false, transpose_a ? -1 : -2);
  const Value b = operand(call, true, transpose_b ? -2 : -1);
  if (!a.dims || !b.dims || a.dims->empty() || b.dims->empty()) {
    return unknown(call, a, b);
  }
  Dims left = *a.dims, right = *b.dims;
  if (left.size() == 1) {
    left.insert(left.begin(), 1);
  }
  if (right.size() == 1) {
    right.push_back(1);
  }
  transpose_last(left, transpose_a);
  transpose_last(right, transpose_b);
  const std::int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
  const auto batches = broadcast({left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
  if (k != right[right.size() - 2] || !batches) {
    return unknown(call, {}, {});
  }
  const std::int64_t batch = extent_product(*batches);
  const std::string dtype = type_of(node, a, b);
  const bool weight_first = a.constant && !b.constant;
  const bool shared = !weight_first && right.size() == 2;  // one weight for all batches
  const base::GemmShape shape =
      weight_first ? base::GemmShape{m, n, k} : base::GemmShape{n, shared ? extent_product({m, batch}) : m, k};
  const std::int64_t launched = shared ? 1 : batch;
  RecordedLaunch taken = launch(call, shape, launched, weight_first || b.constant, dtype);
  taken.op.values = matrix_of(call, weight_first ? a : b, weight_first ? transpose_a : !transpose_b, shape, launched);
  keep_weight_bits(weight_only_bits(b.constant ? a : b, b.constant ? b : a), (b.constant ? b : a).scale_block, taken);
  if (dtype == "e2m1") {
    taken.op.storage.scale_block = static_cast<int>(std::clamp<std::int64_t>(b.scale_block, 0, kMostInScaleBlock));
  }
  Dims output = *batches;
  output.push_back(m);
  output.push_back(n);
  if (a.dims->size() == 1) {
    output.erase(output.end() - 2);
  }
  if (b.dims->size() == 1) {
    output.pop_back();
  }
  return {{std::move(taken)}, {activation(output, a.type)}};
}

/// MatMulNBits: weights of few bits are unpacked to the type of the input.
Lowered packed_product(const Call& call) {
  const Value& x = call.input(0);
  if (!x.dims || x.dims->empty()) {
    return unknown(call, x, {});
  }
  Dims dims = *x.dims;
  dims.back() = call.node.integer("N", 0);
  const std::int64_t tokens = extent_product(std::span(dims).first(dims.size() - 1));
  const base::GemmShape shape{dims.back(), tokens, call.node.integer("K", 0)};
  RecordedLaunch taken = launch(call, shape, 1, true, type_of(call.node, x, x));
  taken.dtype = taken.dtype == "tf32" ? "f16" : taken.dtype;
  constexpr std::int64_t kBits = 4;
  const std::int64_t bits = call.node.integer("bits", kBits);
  keep_weight_bits(bits, call.node.integer("block_size", 0), taken);
  if (!taken.op.storage.weight) {
    taken.reason = fmt::format("weights of {} bits beside {} are not modelled", bits, taken.dtype);
  }
  return {{std::move(taken)}, {activation(dims, x.type)}};
}

/// An operation of two axes, padded alike on both sides, keeps the geometry.
void keep_geometry(const Dims& x, const Window& window, std::int64_t groups, Operation& op) {
  if (x.size() != 4 || window.pads[0] != window.pads[2] || window.pads[1] != window.pads[3]) {
    return;
  }
  ConvGeometry conv{x[0], x[1], x[2], x[3], op.shape.m * groups, window.kernel[0], window.kernel[1]};
  conv.stride = {window.stride[0], window.stride[1]};
  conv.pad = {window.pads[0], window.pads[1]};
  conv.dilation = {window.dilation[0], window.dilation[1]};
  conv.groups = groups;
  Operation lowered;
  if (lower_convolution(conv, lowered) && lowered.shape == op.shape) {
    op.conv = lowered.conv;
  }
}

Lowered convolution(const Call& call) {
  const Value& x = call.input(0);
  const Value w = operand(call, true, 0);
  const bool known = x.dims && w.dims && x.dims->size() >= 3 && w.dims->size() == x.dims->size();
  const auto window = known ? window_of(call.node, *x.dims, {w.dims->begin() + 2, w.dims->end()}) : std::nullopt;
  const std::int64_t groups = call.node.integer("group", 1);
  if (!window || groups < 1 || (*x.dims)[1] % groups != 0 || (*w.dims)[0] % groups != 0 ||
      (*w.dims)[1] != (*x.dims)[1] / groups) {
    return unknown(call, x, w);
  }
  Dims output{(*x.dims)[0], (*w.dims)[0]};
  std::int64_t pixels = (*x.dims)[0], depth = (*w.dims)[1];
  for (std::size_t i = 0; i < window->output.size(); ++i) {
    output.push_back(window->output[i]);
    pixels = extent_product({pixels, window->output[i]});
    depth = extent_product({depth, window->kernel[i]});
  }
  RecordedLaunch taken =
      launch(call, {(*w.dims)[0] / groups, pixels, depth}, groups, w.constant, type_of(call.node, x, w));
  if (w.origin && !w.origin->transposed && w.origin->dims == *w.dims) {
    taken.op.values = onnx_weight(call.bytes, *w.origin, filter_layout(*w.dims, groups));
  }
  keep_geometry(*x.dims, *window, groups, taken.op);
  return {{std::move(taken)}, {activation(output, x.type)}};
}

/// Each input pixel times the filters, which then overlap: k is the channels of the input.
Lowered transposed_convolution(const Call& call) {
  const Node& node = call.node;
  const Value& x = call.input(0);
  const Value& w = call.input(1);
  const std::int64_t groups = node.integer("group", 1);
  if (!x.dims || !w.dims || x.dims->size() < 3 || w.dims->size() != x.dims->size() || (*w.dims)[0] != (*x.dims)[1] ||
      groups < 1 || (*x.dims)[1] % groups != 0) {
    return unknown(call, x, w);
  }
  const std::size_t axes = x.dims->size() - 2;
  const Dims stride = node.integers("strides", Dims(axes, 1));
  const Dims dilation = node.integers("dilations", Dims(axes, 1));
  const Dims pads = node.integers("pads", Dims(2 * axes, 0));
  const Dims more = node.integers("output_padding", Dims(axes, 0));
  const Dims stated = node.integers("output_shape", {});
  if (stride.size() != axes || dilation.size() != axes || pads.size() != 2 * axes || more.size() != axes) {
    return unknown(call, x, w);
  }
  Dims output{(*x.dims)[0], extent_product({(*w.dims)[1], groups})};
  std::int64_t filters = (*w.dims)[1], pixels = (*x.dims)[0];
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = (*x.dims)[i + 2], kernel = (*w.dims)[i + 2];
    filters = extent_product({filters, kernel});
    pixels = extent_product({pixels, extent});
    const std::int64_t spread = extent_product({stride[i], extent});
    const std::int64_t reach = extent_product({dilation[i], kernel});
    for (const std::int64_t value : {pads[i], pads[i + axes], more[i], stride[i], dilation[i]}) {
      if (value < 0 || value > kMaxExtent) {
        return unknown(call, x, w);
      }
    }
    output.push_back(stated.size() == axes
                         ? stated[i]
                         : spread - stride[i] + more[i] + reach - dilation[i] + 1 - pads[i] - pads[i + axes]);
  }
  return {{launch(call, {filters, pixels, (*x.dims)[1] / groups}, groups, w.constant, type_of(node, x, w))},
          {activation(output, x.type)}};
}

Lowered experts(const Call& call) {
  RecordedLaunch left = launch(call, {}, 1, true, "");
  left.reason = "experts in one operator: how many tokens each gets is not in the model";
  return {{std::move(left)}, {activation(call.input(0).dims.value_or(Dims{}), call.input(0).type)}};
}

}  // namespace

void add_products(Operators& all) {
  for (const char* op : {"MatMul", "FusedMatMul", "Gemm", "FusedGemm", "GemmFloat8"}) {
    all[op] = {.lower = product};
  }
  all["MatMulInteger"] = {.lower = product, .operands = {1, 2, 3}};
  all["MatMulIntegerToFloat"] = {.lower = product, .operands = {1, 4, 5}};
  all["DynamicQuantizeMatMul"] = {.lower = product, .operands = {1, 4, 3}};
  all["QLinearMatMul"] = all["QGemm"] = {.lower = product, .operands = {3, 2, 5}};
  all["Conv"] = all["FusedConv"] = {.lower = convolution};
  all["ConvInteger"] = {.lower = convolution, .operands = {1, 2, 3}};
  all["QLinearConv"] = {.lower = convolution, .operands = {3, 2, 5}};
  all["ConvTranspose"] = {.lower = transposed_convolution};
  all["MatMulNBits"] = {.lower = packed_product};
  all["MoE"] = all["QMoE"] = {.lower = experts};
}

const Value& Call::input(std::size_t index) const {
  return rule::at(inputs, index);
}

Lowered lowering::unknown(const Call& call, const Value& a, const Value& b) {
  const std::string& lost = a.dims ? b.lost : a.lost;
  Lowered result;
  result.launches.push_back(launch(call, {}, 1, false, ""));
  result.launches[0].reason =
      lost.empty() ? "the shapes of its operands do not fit" : "its shape is not known: " + lost;
  result.outputs.resize(std::max<std::size_t>(1, call.node.outputs.size()));
  for (Value& output : result.outputs) {
    output.lost = !lost.empty() ? lost
                                : fmt::format("the operands of {} '{}' do not fit", io::printable(call.node.op),
                                              io::printable(call.node.label()));
  }
  return result;
}

RecordedLaunch lowering::launch(const Call& call, const base::GemmShape& shape, std::int64_t batch, bool weight,
                                std::string dtype, std::string_view part) {
  RecordedLaunch taken;
  taken.op.name = call.node.label() + std::string(part);
  taken.op.shape = shape;
  taken.op.batch = batch;
  taken.weight = weight;
  taken.dtype = std::move(dtype);
  taken.op.input = weight && !call.node.inputs.empty() ? call.node.inputs.front() : "";
  return taken;
}

std::string lowering::type_of(const Node& node, const Value& x, const Value& w) {
  const bool integers = node.op.find("Integer") != std::string::npos || node.op.starts_with("QLinear") ||
                        node.op.starts_with("DynamicQuantize") || node.op == "QGemm" || node.op == "QAttention" ||
                        (x.quantized && w.quantized);
  const Type type = integers || !x.quantized ? x.type : w.quantized ? Type::kFloat : w.type;
  if (integers && has_four_bits(w.type) && !has_four_bits(x.type)) {
    return "s8 x s4";
  }
  const TypeInfo* const known = find_type(type);
  if (known == nullptr) {
    return fmt::format("type {} of ONNX", static_cast<int>(type));
  }
  return !known->product.empty() ? std::string(known->product) : integers ? "s8" : "tf32";
}

Value lowering::activation(const Dims& dims, Type type) {
  Value value;
  value.dims = bounded(dims);
  value.type = type;
  return value;
}

std::shared_ptr<const WeightValues> lowering::matrix_of(const Call& call, const Value& operand, bool by_columns,
                                                        const base::GemmShape& shape, std::int64_t batch) {
  if (!operand.constant || !operand.origin) {
    return nullptr;
  }
  by_columns = by_columns != operand.origin->transposed;
  Dims stored = by_columns ? Dims{shape.k, shape.m} : Dims{shape.m, shape.k};
  Dims held = operand.origin->dims;
  while (held.size() > 2 && held.front() == 1) {
    held.erase(held.begin());
  }
  const bool batched = batch > 1 && held.size() == 3 && held.front() == batch;
  if (batched) {
    held.erase(held.begin());
  }
  return held == stored && (batched || batch == 1)
             ? onnx_weight(call.bytes, *operand.origin, matrix_layout(stored, by_columns))
             : nullptr;
}

}  // namespace sptc::workload::onnx
