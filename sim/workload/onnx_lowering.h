// SPDX-License-Identifier: Apache-2.0
//
// The GEMMs of one ONNX operator.
#pragma once

#include "sim/workload/launch_list.h"
#include "sim/workload/onnx_bytes.h"
#include "sim/workload/onnx_shapes.h"
#include "sim/workload/onnx_weight.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sptc::workload {

/// What an operator launches, some of it not taken, and what it yields.
struct OnnxLowered {
  std::vector<RecordedLaunch> launches;
  std::vector<OnnxValue> outputs;
};

struct OnnxCall {
  const OnnxNode& node;
  const std::vector<OnnxValue>& inputs;
  const std::shared_ptr<const OnnxBytes>& bytes;  ///< of the weights

  /// An input; one of which nothing is known where it is absent.
  const OnnxValue& input(std::size_t index) const;
};

/// Whether operators `op` launch GEMMs.
bool launches_gemms(std::string_view op);

/// Nothing where the operator launches no GEMM.
std::optional<OnnxLowered> lower(const OnnxCall& call);

using OnnxLoweringRules = std::unordered_map<std::string_view, OnnxLowered (*)(const OnnxCall&)>;
/// Recurrences, attention and sums of products.
void add_layer_rules(OnnxLoweringRules& rules);

namespace onnx_lowering {

/// A launch whose extents are not known, and why.
OnnxLowered unknown(const OnnxCall& call, const OnnxValue& a, const OnnxValue& b);

/// A launch of `call`; `part` is what follows its name.
RecordedLaunch launch(const OnnxCall& call, const base::GemmShape& shape, std::int64_t batch,
                      bool weight, std::string dtype, std::string_view part = "");

/// The type of a product: that of a launch.
std::string type_of(const OnnxNode& node, const OnnxValue& x, const OnnxValue& w);

/// A value that flows through the network.
OnnxValue activation(const OnnxDims& dims, OnnxType type);

/// The values of a constant `operand` whose rows, or columns, are those of A [m, k], for each of
/// `batch`; nothing where they are not known.
std::shared_ptr<const WeightValues> matrix_of(const OnnxCall& call, const OnnxValue& operand,
                                              bool by_columns, const base::GemmShape& shape,
                                              std::int64_t batch = 1);

}  // namespace onnx_lowering
}  // namespace sptc::workload
