// SPDX-License-Identifier: Apache-2.0
//
// What a model computes of its shapes: numbers that are known before it runs.
#pragma once

#include "sim/workload/onnx_rule.h"

#include <optional>
#include <vector>

namespace sptc::workload {

/// The elements of `value`, in order, where all are known.
std::optional<std::vector<double>> numbers_of(const OnnxValue& value);

/// Gives `output`, whose extents are known, its elements where `node` computes them from known
/// ones.
void fold(const OnnxNode& node, const onnx_rule::Inputs& inputs, OnnxValue& output);

/// The same for a part of `whole` from `begin` on along `axis`: `output` has its extents.
void fold_part(const OnnxValue& whole, std::size_t axis, std::int64_t begin, OnnxValue& output);

}  // namespace sptc::workload
