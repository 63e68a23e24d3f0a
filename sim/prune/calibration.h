// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "sim/prune/layer.h"
#include "sim/prune/model_file.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sptc::prune {

/// Calibration inputs of layers: a file of tensors [samples.., k], each called as the weight that it is multiplied by,
/// or as that without ".weight".
class Calibration {
 public:
  /// Holds no layer where `file` is empty. Throws InputError.
  explicit Calibration(const std::filesystem::path& file);

  std::vector<std::filesystem::path> files() const {
    return file_ ? file_->files() : std::vector<std::filesystem::path>();
  }

  /// The inputs [samples, k] of the layer `name`, until the next call; null where there are none. Throws InputError
  /// where they are `required` and not there, where the layer has more taps than one, or another k, and where a value
  /// is not finite. An `order` of the channels that is not empty is that of the result.
  const base::Matrix<float>* inputs(const std::string& name, const LayerLayout& layout, bool required,
                                    std::span<const std::size_t> order);

 private:
  std::unique_ptr<ModelFile> file_;
  base::Matrix<float> current_;
};

}  // namespace sptc::prune
