// SPDX-License-Identifier: Apache-2.0
//
// What a model computes of its shapes: numbers that are known before it runs.
#pragma once

#include "sim/workload/onnx/rule.h"

#include <optional>
#include <vector>

namespace sptc::workload::onnx {

/// The elements of `value`, in order, where all are known.
std::optional<std::vector<double>> numbers_of(const Value& value);

/// Gives `output`, whose extents are known, its elements where `node` computes them from known
/// ones.
void fold(const Node& node, const rule::Inputs& inputs, Value& output);

/// The same for a part of `whole` from `begin` on along `axis`: `output` has its extents.
void fold_part(const Value& whole, std::size_t axis, std::int64_t begin, Value& output);

}  // namespace sptc::workload::onnx
