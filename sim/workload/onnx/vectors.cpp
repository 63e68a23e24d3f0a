// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/onnx/operators.h"

#include <algorithm>
#include <iterator>

namespace sptc::workload::onnx {
namespace {

using Kind = VectorKind;

/// Operators that are vector operations by themselves; Gemm and Conv are with their third operand.
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
    {"QuickGelu", Kind::kSilu}, {"SimplifiedLayerNormalization", Kind::kRmsNorm},
    {"Where", Kind::kMask},     {"Pow", Kind::kScale},
    {"Sqrt", Kind::kScale},     {"Exp", Kind::kScale},
    {"Neg", Kind::kScale}};

/// Formulas as exporters write them, operator by operator.
struct Formula {
  Kind kind;
  std::string_view operators;
};
constexpr Formula kFormulas[] = {{Kind::kLayerNorm, "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add"},
                                 {Kind::kGelu, "Div Erf Add Mul Mul"},
                                 {Kind::kGelu, "Mul Erf Add Mul Mul"},
                                 {Kind::kGelu, "Pow Mul Add Mul Tanh Add Mul Mul"},
                                 {Kind::kRmsNorm, "Pow ReduceMean Add Sqrt Div Mul Mul"},
                                 {Kind::kRmsNorm, "Pow ReduceMean Add Sqrt Reciprocal Mul Mul"},
                                 {Kind::kSilu, "Sigmoid Mul"}};

/// How many of `steps`, from the first on, are those of `formula`; 0: they are others.
std::size_t matched(const Formula& formula, std::span<const Step> steps) {
  const std::vector<std::string_view> wanted = parts_of(formula.operators, ' ');
  return steps.size() >= wanted.size() && std::ranges::equal(wanted, steps.first(wanted.size()), {}, {}, &Step::op)
             ? wanted.size()
             : 0;
}

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
  const bool shape = value.numbers || value.type == Type::kInt64 || value.type == Type::kInt32 || value.constant;
  return value.dims && !value.dims->empty() && !shape && elements(value) > 1;
}

/// A sum or product: with a parameter for each column, a number, a mask, or another tensor.
Kind kind_of_binary(bool adds, const std::vector<Value>& inputs, const Value& output) {
  std::vector<const Value*> operands;  // that flow
  for (const Value& input : inputs) {
    if (flows(input)) {
      operands.push_back(&input);
    }
  }
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

std::optional<Kind> kind_of(const std::string& op, const std::vector<Value>& inputs, const Value& output) {
  if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div") {
    return kind_of_binary(op == "Add" || op == "Sub", inputs, output);
  }
  if (op == "Gather" && inputs.size() > 1 && inputs[0].constant && inputs[0].dims && inputs[0].dims->size() == 2) {
    return Kind::kEmbedding;
  }
  const auto* const known = std::ranges::find_if(kOperators, [&](const auto& row) { return row.first == op; });
  return known == std::end(kOperators) ? std::nullopt : std::optional(known->second);
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
  const bool fits = op.rows >= 1 && op.input_rows >= 1 && op.rows <= kMaxExtent && op.input_rows <= kMaxExtent &&
                    op.columns <= kMaxExtent;
  return fits ? std::optional(op) : std::nullopt;
}

}  // namespace

std::optional<Step> step_of(const Node& node, const std::vector<Value>& inputs, const Value& output) {
  if (!output.dims || (output.numbers && !is_real(output.type))) {
    return std::nullopt;
  }
  const bool flow = std::ranges::any_of(inputs, flows);
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
    const auto* const formula =
        std::ranges::find_if(kFormulas, [&](const Formula& row) { return matched(row, steps) > 0; });
    const bool is_formula = formula != std::end(kFormulas);
    const std::size_t used = is_formula ? matched(*formula, steps) : 1;
    const std::optional<Kind> kind = is_formula ? formula->kind : steps.front().kind;
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
