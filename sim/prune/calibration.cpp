// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/calibration.h"

#include "sim/io/text_file.h"
#include "sim/workload/layer_list.h"

#include <functional>
#include <numeric>
#include <optional>

namespace sptc::prune {

Calibration::Calibration(const std::filesystem::path& file) : file_(file.empty() ? nullptr : ModelFile::open(file)) {}

const base::Matrix<float>* Calibration::inputs(const std::string& name, const LayerLayout& layout, bool required,
                                               std::span<const std::size_t> order) {
  if (!file_) {
    return nullptr;
  }
  std::optional<std::size_t> found = file_->place_of(name);
  if (!found) {
    found = file_->place_of(workload::layer_of(name));
  }
  if (!found && required) {
    file_->find(name);  // says which names there are
  }
  if (!found) {
    return nullptr;
  }
  const io::TensorEntry& entry = file_->tensors()[*found].entry;
  const std::optional<numerics::DataType> type = weight_type(entry.dtype);
  if (layout.taps > 1 || !type || entry.shape.empty() || entry.shape.back() != layout.k) {
    io::refuse("{}: '{}' must be floating-point inputs [samples, {}] of a layer that is a matrix", file_->shown(),
               io::printable(entry.name), layout.k);
  }
  const std::int64_t samples =
      std::accumulate(entry.shape.begin(), entry.shape.end() - 1, std::int64_t{1}, std::multiplies<>());
  if (samples == 0) {
    io::refuse("{}: '{}' has no sample", file_->shown(), io::printable(entry.name));
  }
  const LayerLayout plain{samples, 1, layout.k, layout.k, 0, 1, false};
  io::Tensor tensor = read_tensor(*file_, *found);
  if (!order.empty()) {
    permute_axis(tensor, tensor.shape.size() - 1, order);
  }
  current_ = load_weights(tensor, *type, plain);
  return &current_;
}

}  // namespace sptc::prune
