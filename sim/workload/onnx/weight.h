// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/onnx/model_bytes.h"
#include "sim/workload/onnx/shapes.h"
#include "sim/workload/workload.h"

#include <memory>
#include <string>
#include <vector>

namespace sptc::workload::onnx {

/// Where an element of the weight A [m, k] stands among those of a tensor: k counts the channels of
/// one tap of a filter, then those of the next. A matrix has one tap.
struct WeightLayout {
  std::int64_t batch_stride = 0, row_stride = 0;
  std::int64_t taps = 1, tap_stride = 0;
  std::int64_t channels = 0, channel_stride = 1;
};

/// The values of a weight out of `bytes`, which stay as long as it; nothing where they are not
/// there, or of a type that is not read.
std::shared_ptr<const WeightValues> onnx_weight(const std::shared_ptr<const ModelBytes>& bytes,
                                                const Origin& origin, const WeightLayout& layout);

/// The layout of a matrix; `by_columns`: its columns are the rows of A.
WeightLayout matrix_layout(const Dims& dims, bool by_columns);
/// That of filters [k, c, r, s..] in `groups`.
WeightLayout filter_layout(const Dims& dims, std::int64_t groups);

/// Marks operations as prunable whose weights are 2:4 already, and says what `operations` have of
/// the values of a model, one sentence each.
std::vector<std::string> mark_sparse_weights(std::vector<Operation>& operations);

}  // namespace sptc::workload::onnx
