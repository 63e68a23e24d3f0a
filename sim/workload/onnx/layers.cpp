// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/onnx/operators.h"

#include <algorithm>

namespace sptc::workload::onnx {
namespace {

using namespace lowering;

/// A number of heads, or 0.
std::int64_t count_of(const Node& node, const std::string& key, std::int64_t absent) {
  const std::int64_t value = node.integer(key, absent);
  return value < 0 || value > kMaxExtent ? 0 : value;
}

/// LSTM, GRU and RNN: the product with the inputs of all steps is one GEMM, that with the state one
/// in each step. Batches are the directions.
Lowered recurrence(const Call& call) {
  const Node& node = call.node;
  const Value& x = call.input(0);
  const Value& w = call.input(1);
  const Value& r = call.input(2);
  const bool known = x.dims && w.dims && r.dims && x.dims->size() == 3 && w.dims->size() == 3 && r.dims->size() == 3;
  if (!known) {
    return unknown(call, x, w);
  }
  const bool batch_first = node.integer("layout", 0) != 0;
  const std::int64_t steps = (*x.dims)[batch_first ? 1 : 0];
  const std::int64_t sequences = (*x.dims)[batch_first ? 0 : 1];
  const std::int64_t directions = (*w.dims)[0];
  const std::int64_t gates = (*w.dims)[1];  // of all hidden features
  const std::int64_t hidden = (*r.dims)[2];
  if ((*w.dims)[2] != (*x.dims)[2] || (*r.dims)[1] != gates) {
    return unknown(call, {}, {});
  }
  const std::string dtype = type_of(node, x, w);
  const base::GemmShape of_input{gates, extent_product({steps, sequences}), (*x.dims)[2]};
  const base::GemmShape of_state{gates, sequences, hidden};
  Lowered result;
  result.launches.push_back(launch(call, of_input, directions, w.constant, dtype, ".input"));
  result.launches.push_back(launch(call, of_state, directions, r.constant, dtype, ".state"));
  result.launches[0].op.values = matrix_of(call, w, false, of_input, directions);
  result.launches[1].op.values = matrix_of(call, r, false, of_state, directions);
  result.launches[1].op.count = steps;
  result.launches[1].op.input.clear();
  const Dims last = batch_first ? Dims{sequences, directions, hidden} : Dims{directions, sequences, hidden};
  result.outputs = {
      activation(batch_first ? Dims{sequences, steps, directions, hidden} : Dims{steps, directions, sequences, hidden},
                 x.type),
      activation(last, x.type), activation(last, x.type)};
  return result;
}

struct AttentionShape {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0, head = 0, value_head = 0;
  std::int64_t shared = 1;  ///< heads of queries to one of keys and values
};

/// Scores and context: keys and values are A.
void add_attention(const Call& call, const AttentionShape& shape, const std::string& dtype, Lowered& result) {
  const std::int64_t groups = extent_product({shape.batch, shape.heads / shape.shared});
  const std::int64_t queries = extent_product({shape.queries, shape.shared});
  result.launches.push_back(launch(call, {shape.keys, queries, shape.head}, groups, false, dtype, ".scores"));
  result.launches.push_back(launch(call, {shape.value_head, queries, shape.keys}, groups, false, dtype, ".context"));
}

/// Positions of the past that an input [.., past, features] holds; 0 where there is none.
std::int64_t past_of(const Value& value) {
  return value.dims && value.dims->size() >= 2 ? (*value.dims)[value.dims->size() - 2] : 0;
}

/// Attention and QAttention of com.microsoft: projections of (x, weights, bias, ..), too.
Lowered projected_attention(const Call& call) {
  const Value& x = call.input(0);
  const Value& w = call.input(1);
  const std::int64_t heads = count_of(call.node, "num_heads", 0);
  const bool known =
      x.dims && w.dims && x.dims->size() == 3 && w.dims->size() == 2 && heads > 0 && (*w.dims)[0] == (*x.dims)[2];
  if (!known) {
    return unknown(call, x, w);
  }
  const std::int64_t batch = (*x.dims)[0], tokens = (*x.dims)[1], all = (*w.dims)[1];
  const Dims sizes = call.node.integers("qkv_hidden_sizes", Dims(3, all / 3));
  if (sizes.size() != 3 || sizes[0] / heads < 1 || sizes[2] / heads < 1) {
    return unknown(call, {}, {});
  }
  const std::string dtype = type_of(call.node, x, w);
  const base::GemmShape projection{all, extent_product({batch, tokens}), (*x.dims)[2]};
  Lowered result;
  result.launches.push_back(launch(call, projection, 1, w.constant, dtype, ".qkv"));
  const bool quantized = call.node.op == "QAttention";
  Value weight = w;
  if (quantized) {
    weight.origin = quantized_origin(call.node, call.inputs, 1, 7, 1);
  }
  result.launches[0].op.values = matrix_of(call, weight, true, projection);
  const std::int64_t past = past_of(call.input(quantized ? 8 : 4));
  add_attention(call, {batch, heads, tokens, past + tokens, sizes[0] / heads, sizes[2] / heads}, dtype, result);
  const Type type = quantized ? Type::kFloat : x.type;
  result.outputs = {activation({batch, tokens, sizes[2]}, type),
                    activation({2, batch, heads, past + tokens, sizes[0] / heads}, type)};
  return result;
}

/// [batch, tokens, heads * features] or [batch, heads, tokens, features] as the latter.
std::optional<Dims> by_heads(const Value& value, std::int64_t heads) {
  if (!value.dims) {
    return std::nullopt;
  }
  const Dims& dims = *value.dims;
  if (dims.size() == 4) {
    return dims;
  }
  return dims.size() == 3 && heads > 0 && dims[2] % heads == 0
             ? std::optional(Dims{dims[0], heads, dims[1], dims[2] / heads})
             : std::nullopt;
}

/// Lowers attention of (query, key, value, ..) that were projected before: of ONNX, and those of
/// com.microsoft.
Lowered attention(const Call& call) {
  const Node& node = call.node;
  if (node.op == "QAttention" || (node.op == "Attention" && node.domain == "com.microsoft")) {
    return projected_attention(call);
  }
  const bool grouped = node.op == "GroupQueryAttention";
  const std::int64_t heads = count_of(node, node.op == "Attention" ? "q_num_heads" : "num_heads", 0);
  const std::int64_t kv_heads = count_of(node, "kv_num_heads", heads);
  Value query = call.input(0), key = call.input(1), value = call.input(2);
  if (grouped && query.dims && !key.dims && key.lost.empty() && query.dims->size() == 3 &&
      heads + 2 * kv_heads > 0) {  // all three in one
    const std::int64_t head = (*query.dims)[2] / (heads + 2 * kv_heads);
    key = value = activation({(*query.dims)[0], kv_heads, (*query.dims)[1], head}, query.type);
    (*query.dims)[2] = head * heads;
  }
  const auto q = by_heads(query, heads), k = by_heads(key, kv_heads), v = by_heads(value, kv_heads);
  if (!q || !k || !v || std::min((*q)[1], (*k)[1]) < 1 || (*q)[1] % (*k)[1] != 0) {
    return unknown(call, query, key);
  }
  const std::size_t past_place = node.op == "MultiHeadAttention" ? 6 : grouped ? 3 : 4;
  const std::int64_t past = past_of(call.input(past_place));
  const std::int64_t keys = past + (*k)[2];
  Lowered result;
  add_attention(call, {(*q)[0], (*q)[1], (*q)[2], keys, (*q)[3], (*v)[3], (*q)[1] / (*k)[1]}, type_of(node, query, key),
                result);
  const bool four = query.dims->size() == 4 && node.op == "Attention";
  const Dims output =
      four ? Dims{(*q)[0], (*q)[1], (*q)[2], (*v)[3]} : Dims{(*q)[0], (*q)[2], extent_product({(*q)[1], (*v)[3]})};
  result.outputs = {activation(output, query.type), activation({(*k)[0], (*k)[1], keys, (*k)[3]}, query.type),
                    activation({(*v)[0], (*v)[1], keys, (*v)[3]}, query.type)};
  return result;
}

/// A sum of products of two operands: axes of both that remain are batches, those that vanish k.
Lowered sum_of_products(const Call& call) {
  const Value& x = call.input(0);
  const Value& y = call.input(1);
  const Attribute* const equation = call.node.find("equation");  // "bij,bjk->bik"
  std::string text = equation == nullptr ? "" : equation->text;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t comma = text.find(','), arrow = text.find("->");
  const bool two =
      comma < arrow && arrow != std::string::npos && text.rfind(',') == comma && text.find('.') == std::string::npos;
  const std::string a = two ? text.substr(0, comma) : "";
  const std::string b = two ? text.substr(comma + 1, arrow - comma - 1) : "";
  const std::string sum = two ? text.substr(arrow + 2) : "";
  if (!two || !x.dims || !y.dims || a.size() != x.dims->size() || b.size() != y.dims->size() || sum.size() > kMaxRank) {
    Lowered result = unknown(call, x, y);
    result.launches[0].reason = "an Einsum other than of two operands, or of unknown shapes";
    return result;
  }
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < a.size(); ++i) {
    extents[a[i]] = (*x.dims)[i];
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    extents.emplace(b[i], (*y.dims)[i]);
  }
  std::int64_t batch = 1, of_a = 1, of_b = 1, k = 1;
  for (const auto& [letter, extent] : extents) {
    const bool in_a = a.find(letter) != std::string::npos;
    const bool in_b = b.find(letter) != std::string::npos;
    const bool stays = sum.find(letter) != std::string::npos;
    std::int64_t& part = in_a && in_b ? (stays ? batch : k) : in_a ? of_a : of_b;
    part = extent_product({part, extent});
  }
  Dims output;
  for (const char letter : sum) {
    output.push_back(extents.contains(letter) ? extents[letter] : 0);
  }
  Lowered result;
  result.outputs = {activation(output, x.type)};
  const bool multiplies = a.find_first_of(b) != std::string::npos && k > 1;
  if (multiplies) {  // else no axis is summed over
    const bool weight_first = x.constant && !y.constant;
    const base::GemmShape shape = weight_first ? base::GemmShape{of_a, of_b, k} : base::GemmShape{of_b, of_a, k};
    result.launches.push_back(launch(call, shape, batch, x.constant || y.constant, type_of(call.node, x, y)));
  }
  return result;
}

}  // namespace

void add_layers(Operators& all) {
  for (const char* op : {"GRU", "LSTM", "RNN"}) {
    all[op] = {.lower = recurrence};
  }
  for (const char* op : {"Attention", "QAttention", "MultiHeadAttention", "GroupQueryAttention"}) {
    all[op] = {.lower = attention};
  }
  all["Einsum"] = {.lower = sum_of_products};
}

}  // namespace sptc::workload::onnx
