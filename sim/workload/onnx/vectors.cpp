// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/onnx/vectors.h"

#include "sim/workload/workload_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace sptc::workload::onnx {
namespace {

using Kind = VectorKind;

/// Operators that stand for a vector operation by themselves; Gemm and Conv with their third
/// operand.
constexpr std::pair<std::string_view, Kind> kOperators[] = {
    {"Erf", Kind::kTanh},       {"Transpose", Kind::kCopy},
    {"Gemm", Kind::kBias},      {"Sigmoid", Kind::kSigmoid},
    {"Conv", Kind::kBias},      {"Softmax", Kind::kSoftmax},
    {"Relu", Kind::kRelu},      {"MaxPool", Kind::kPooling},
    {"Gelu", Kind::kGelu},      {"AveragePool", Kind::kPooling},
    {"Silu", Kind::kSilu},      {"BatchNormalization", Kind::kBias},
    {"Tanh", Kind::kTanh},      {"RMSNormalization", Kind::kRmsNorm},
    {"Concat", Kind::kCopy},    {"GlobalAveragePool", Kind::kPooling},
    {"FastGelu", Kind::kGelu},  {"LayerNormalization", Kind::kLayerNorm},
    {"BiasGelu", Kind::kGelu},  {"SkipLayerNormalization", Kind::kLayerNorm},
    {"QuickGelu", Kind::kSilu}, {"SimplifiedLayerNormalization", Kind::kRmsNorm}};

/// Formulas as exporters write them, operator by operator.
struct Formula {
  Kind kind;
  std::span<const std::string_view> operators;
};
constexpr std::string_view kNorm[] = {"ReduceMean", "Sub", "Pow", "ReduceMean", "Add",
                                      "Sqrt",       "Div", "Mul", "Add"};
constexpr std::string_view kErfGelu[] = {"Div", "Erf", "Add", "Mul", "Mul"};
constexpr std::string_view kErfGeluByProduct[] = {"Mul", "Erf", "Add", "Mul", "Mul"};
constexpr std::string_view kTanhGelu[] = {"Pow", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", "Mul"};
constexpr std::string_view kRms[] = {"Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Mul"};
constexpr std::string_view kRmsByRoot[] = {"Pow",        "ReduceMean", "Add", "Sqrt",
                                           "Reciprocal", "Mul",        "Mul"};
constexpr std::string_view kSilu[] = {"Sigmoid", "Mul"};
constexpr std::array<Formula, 7> kFormulas{{{Kind::kLayerNorm, kNorm},
                                            {Kind::kGelu, kErfGelu},
                                            {Kind::kGelu, kErfGeluByProduct},
                                            {Kind::kGelu, kTanhGelu},
                                            {Kind::kRmsNorm, kRms},
                                            {Kind::kRmsNorm, kRmsByRoot},
                                            {Kind::kSilu, kSilu}}};

std::int64_t elements(const Value& value) {
  std::int64_t count = 1;
  for (const std::int64_t extent : *value.dims) {
    if (extent <= 0 || count > kMaxExtent) {
      return 0;
    }
    count *= extent;
  }
  return count;
}

/// Whether it is made of what flows through the network.
bool flows(const Value& value) {
  const bool shape = value.integers || !value.reals.empty() || value.type == Type::kInt64 ||
                     value.type == Type::kInt32 || value.constant;
  return value.dims && !value.dims->empty() && !shape && elements(value) > 1;
}

/// The operands that flow.
std::vector<const Value*> flowing(const std::vector<Value>& inputs) {
  std::vector<const Value*> result;
  for (const Value& input : inputs) {
    if (flows(input)) {
      result.push_back(&input);
    }
  }
  return result;
}

/// A sum or product: with a parameter for each column, a number, a mask, or another tensor.
std::optional<Kind> kind_of_binary(bool adds, const std::vector<Value>& inputs,
                                   const Value& output) {
  const std::vector<const Value*> operands = flowing(inputs);
  if (operands.size() >= 2) {
    const bool alike = elements(*operands[0]) == elements(*operands[1]);
    return adds ? (alike ? Kind::kResidual : Kind::kMask) : (alike ? Kind::kGate : Kind::kScale);
  }
  for (const Value& input : inputs) {
    if (!flows(input) && input.dims && elements(input) > 1) {
      const bool of_columns = elements(input) == output.dims->back();
      return !adds ? Kind::kScale : of_columns ? Kind::kBias : Kind::kResidual;
    }
  }
  return Kind::kScale;
}

std::optional<Kind> kind_of(const std::string& op, const std::vector<Value>& inputs,
                            const Value& output) {
  const auto* const known = std::find_if(std::begin(kOperators), std::end(kOperators),
                                         [&](const auto& row) { return row.first == op; });
  if (known != std::end(kOperators)) {
    return known->second;
  }
  if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div") {
    return kind_of_binary(op == "Add" || op == "Sub", inputs, output);
  }
  if (op == "Gather" && inputs.size() > 1 && inputs[0].constant && inputs[0].dims &&
      inputs[0].dims->size() == 2) {
    return Kind::kEmbedding;
  }
  if (op == "Where" || op == "Pow" || op == "Sqrt" || op == "Exp" || op == "Neg") {
    return op == "Where" ? Kind::kMask : Kind::kScale;
  }
  return std::nullopt;
}

/// Whether operators of `steps` from `first` on are those of `formula`.
bool matches(const Formula& formula, std::span<const Step> steps) {
  return steps.size() >= formula.operators.size() &&
         std::equal(formula.operators.begin(), formula.operators.end(), steps.begin(),
                    [](std::string_view op, const Step& step) { return step.op == op; });
}

std::optional<VectorOperation> operation(Kind kind, const Step& step, const Step& last) {
  if (last.elements <= 1) {
    return std::nullopt;
  }
  VectorOperation op;
  op.kind = kind;
  op.name = step.name;
  op.columns = last.columns;
  op.rows = last.elements / op.columns;
  op.input_rows = kind == Kind::kPooling ? step.input_elements / op.columns : op.rows;
  op.tensors = step.op == "SkipLayerNormalization" ? 2 : info(kind).tensors;
  op.after = step.after;
  op.count = step.count;
  const bool fits = op.rows >= 1 && op.input_rows >= 1 && op.rows <= kMaxExtent &&
                    op.input_rows <= kMaxExtent && op.columns <= kMaxExtent;
  return fits ? std::optional(op) : std::nullopt;
}

}  // namespace

std::optional<Step> step_of(const Node& node, const std::vector<Value>& inputs,
                            const Value& output) {
  if (!output.dims || output.integers) {
    return std::nullopt;
  }
  const bool flow = std::any_of(inputs.begin(), inputs.end(), flows);
  const std::optional<Kind> kind = kind_of(node.op, inputs, output);
  const bool part = node.op == "ReduceMean" || node.op == "Reciprocal";
  if (!(flow && (kind || part)) && kind != Kind::kEmbedding) {
    return std::nullopt;
  }
  Step step;
  step.op = node.op;
  step.name = node.label();
  step.kind = kind;
  step.elements = elements(output);
  step.columns = output.dims->empty() ? 1 : output.dims->back();
  step.input_elements = inputs.empty() || !inputs[0].dims ? step.elements : elements(inputs[0]);
  return step;
}

std::vector<VectorOperation> vector_operations(std::span<const Step> steps) {
  std::vector<VectorOperation> result;
  while (!steps.empty()) {
    const auto formula = std::find_if(kFormulas.begin(), kFormulas.end(),
                                      [&](const Formula& row) { return matches(row, steps); });
    const std::size_t used = formula == kFormulas.end() ? 1 : formula->operators.size();
    const std::optional<Kind> kind =
        formula == kFormulas.end() ? steps.front().kind : formula->kind;
    if (kind) {
      if (auto op = operation(*kind, steps.front(), steps[used - 1])) {
        result.push_back(std::move(*op));
      }
    }
    steps = steps.subspan(used);
  }
  return result;
}

}  // namespace sptc::workload::onnx
