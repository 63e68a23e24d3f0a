// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sparsity/criterion.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/prune/compressed_layer.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sptc::prune {

struct PruneOptions {
  sparsity::Criterion criterion = sparsity::Criterion::kMagnitude;
  /// Default: what mma.sp of `dtype` executes, 2:4 without a `dtype`.
  std::optional<sparsity::WeightPattern> pattern;
  std::optional<numerics::DataType> dtype;  ///< that tensor cores will execute
  WeightLayout layout = WeightLayout::kDense;
  /// Regular expressions (ECMAScript) that names of tensors must have, must not have, and have where they are [k,
  /// rows]. No `layers`: the weights of matrix products and convolutions of an ONNX graph, else tensors of two or more
  /// axes, without those that stay dense by their names (workload::dense_role()) unless `include` has them. "@FILE" is
  /// a list of names (sim/workload/layer_list.h) instead of an expression.
  std::string layers, exclude, include, transposed;
  /// Which axis of a tensor of three is k: "last", "1", or empty: of experts as expert_axes() has it, of filters 1.
  std::string k_axis;
  std::filesystem::path activations;  ///< calibration inputs, '<layer>' [samples.., k]
  /// Whose channels along k are permuted: "report" looks what every layer alone would gain; "auto" permutes where an
  /// ONNX graph, or the names of a transformer, show what else must be; "producer[,..]=consumer[,..]", names of
  /// tensors, permutes k of the consumers and the rows of the producers, biases and scales included.
  std::vector<std::string> permute;
  std::uint64_t seed = 0;  ///< of the search for a permutation
};

sparsity::WeightPattern pattern_of(const PruneOptions& options);

/// The type called `name` that weights can be executed as. Throws InputError.
numerics::DataType parse_executed_type(std::string_view name);

}  // namespace sptc::prune
