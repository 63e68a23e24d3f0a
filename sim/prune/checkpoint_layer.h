// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/compress.h"
#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"
#include "sim/prune/compressed_layer.h"
#include "sim/prune/model_file.h"

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sptc::prune {

/// A weight that a checkpoint holds as compressed-tensors, Model Optimizer or torch do.
struct CheckpointWeight {
  std::string name;  ///< "<layer>.weight"
  CompressedForm form;
  std::vector<std::size_t> parts;  ///< its tensors, in the order of stored_entries()
};

struct CheckpointWeights {
  std::vector<CheckpointWeight> weights;
  std::vector<std::string> notes;  ///< on those that are not read here; a sentence each
};

/// Those of `model`. Throws InputError where the tensors of one do not go together.
CheckpointWeights checkpoint_weights(const ModelFile& model);

/// A weight on its way from one form to another.
struct WeightMatrix {
  std::variant<base::Matrix<numerics::Word>, sparsity::CompressedMatrix> words;  ///< dense: [rows, k]
  std::optional<io::Tensor> scale;  ///< F16 [rows, groups], where marlin-24 holds it
};

WeightMatrix read_weight(const ModelFile& model, const CheckpointWeight& weight);

/// The tensors in which the weight `name` is written in `form`, without bytes. Of marlin-24 the scale is among them.
/// Throws InputError where the form does not hold it.
std::vector<io::TensorEntry> stored_entries(const std::string& name, const CompressedForm& form);
/// Tensors with their bytes. Throws InputError where the weight has not the pattern that the form needs, or codes that
/// it does not hold.
std::vector<io::Tensor> stored_tensors(const std::string& name, WeightMatrix weight, const CompressedForm& form);

}  // namespace sptc::prune
