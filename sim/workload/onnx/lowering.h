// SPDX-License-Identifier: Apache-2.0
//
// The GEMMs of one ONNX operator.
#pragma once

#include "sim/workload/launch_list.h"
#include "sim/workload/onnx/model_bytes.h"
#include "sim/workload/onnx/shapes.h"
#include "sim/workload/onnx/weight.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sptc::workload::onnx {

/// What an operator launches, some of it not taken, and what it yields.
struct Lowered {
  std::vector<RecordedLaunch> launches;
  std::vector<Value> outputs;
};

struct Call {
  const Node& node;
  const std::vector<Value>& inputs;
  const std::shared_ptr<const ModelBytes>& bytes;  ///< of the weights

  /// An input; one of which nothing is known where it is absent.
  const Value& input(std::size_t index) const;
};

/// Whether operators `op` launch GEMMs.
bool launches_gemms(std::string_view op);

/// Nothing where the operator launches no GEMM.
std::optional<Lowered> lower(const Call& call);

using LoweringRules = std::unordered_map<std::string_view, Lowered (*)(const Call&)>;
/// Recurrences, attention and sums of products.
void add_layer_rules(LoweringRules& rules);

/// How the weight of `call` lies in memory where it is quantised and the other operand is not, so
/// that it is multiplied in another type. `bits`: of an element; 0: it is not so.
struct StoredWeight {
  std::int64_t bits = 0,
               block = 0;  ///< block: elements that share a scale; 0: a row or all of them
};
StoredWeight stored_weight(const Call& call);

namespace lowering {

/// A launch whose extents are not known, and why.
Lowered unknown(const Call& call, const Value& a, const Value& b);

/// A launch of `call`; `part` is what follows its name.
RecordedLaunch launch(const Call& call, const base::GemmShape& shape, std::int64_t batch,
                      bool weight, std::string dtype, std::string_view part = "");

/// The type of a product: that of a launch.
std::string type_of(const Node& node, const Value& x, const Value& w);

/// A value that flows through the network.
Value activation(const Dims& dims, Type type);

/// The values of a constant `operand` whose rows, or columns, are those of A [m, k], for each of
/// `batch`; nothing where they are not known.
std::shared_ptr<const WeightValues> matrix_of(const Call& call, const Value& operand,
                                              bool by_columns, const base::GemmShape& shape,
                                              std::int64_t batch = 1);

}  // namespace lowering
}  // namespace sptc::workload::onnx
