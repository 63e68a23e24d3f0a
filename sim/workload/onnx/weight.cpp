// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"
#include "sim/io/text_file.h"
#include "sim/workload/dense_role.h"
#include "sim/workload/onnx/operators.h"

#include <algorithm>
#include <cmath>

namespace sptc::workload::onnx {
namespace {

bool is_weight_type(Type type) {
  return is_real(type) || type == Type::kInt8 || type == Type::kUint8;
}

class TensorWeight : public WeightValues {
 public:
  TensorWeight(std::shared_ptr<const ModelBytes> bytes, const Origin& origin, const WeightLayout& layout)
      : bytes_(std::move(bytes)),
        raw_(origin.raw),
        element_(*element_of(origin.type)),
        integral_(origin.type == Type::kInt8 || origin.type == Type::kUint8),
        layout_(layout),
        zero_points_(origin.zero_points) {
    for (std::size_t axis = origin.zero_axis + 1; axis < origin.dims.size(); ++axis) {
      zero_stride_ *= origin.dims[axis];
    }
  }

  std::vector<float> row(std::int64_t batch, std::int64_t row) const override {
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(layout_.taps * layout_.channels));
    const std::int64_t first = batch * layout_.batch_stride + row * layout_.row_stride;
    for (std::int64_t tap = 0; tap < layout_.taps; ++tap) {
      for (std::int64_t channel = 0; channel < layout_.channels; ++channel) {
        values.push_back(at(first + tap * layout_.tap_stride + channel * layout_.channel_stride));
      }
    }
    return values;
  }

  float largest() const override {
    if (!largest_) {
      float most = 0;
      const auto bytes = static_cast<std::int64_t>(raw_.size());
      for (std::int64_t i = 0; i < bytes / element_.bytes; ++i) {
        const float magnitude = std::fabs(at(i));
        most = magnitude > most ? magnitude : most;
      }
      largest_ = most;
    }
    return *largest_;
  }

  bool integral() const override { return integral_; }

 private:
  float at(std::int64_t index) const {
    const auto* const from = reinterpret_cast<const std::byte*>(raw_.data());
    const auto several = static_cast<std::int64_t>(zero_points_.size());
    const float zero = several == 0 ? 0 : zero_points_[static_cast<std::size_t>(index / zero_stride_ % several)];
    return static_cast<float>(element_.value(from + index * element_.bytes)) - zero;
  }

  std::shared_ptr<const ModelBytes> bytes_;
  std::string_view raw_;  ///< inside of them
  const io::ElementType& element_;
  bool integral_;
  WeightLayout layout_;
  std::vector<float> zero_points_;
  std::int64_t zero_stride_ = 1;  ///< elements from one zero point to the next
  mutable std::optional<float> largest_;
};

}  // namespace

std::shared_ptr<const WeightValues> onnx_weight(const std::shared_ptr<const ModelBytes>& bytes, const Origin& origin,
                                                const WeightLayout& layout) {
  const bool unsettled = origin.type == Type::kUint8 && origin.zero_points.empty();
  if (!is_weight_type(origin.type) || unsettled || bytes_of(origin.type, origin.dims) != origin.raw.size()) {
    return nullptr;
  }
  return std::make_shared<TensorWeight>(bytes, origin, layout);
}

WeightLayout matrix_layout(const Dims& dims, bool by_columns) {
  WeightLayout layout;
  layout.channels = by_columns ? dims[0] : dims[1];
  layout.row_stride = by_columns ? 1 : dims[1];
  layout.channel_stride = by_columns ? dims[1] : 1;
  layout.batch_stride = dims[0] * dims[1];
  return layout;
}

WeightLayout filter_layout(const Dims& dims, std::int64_t groups) {
  WeightLayout layout;
  layout.taps = 1;
  for (std::size_t i = 2; i < dims.size(); ++i) {
    layout.taps *= dims[i];
  }
  layout.tap_stride = 1;
  layout.channels = dims[1];
  layout.channel_stride = layout.taps;
  layout.row_stride = layout.taps * dims[1];
  layout.batch_stride = layout.row_stride * (dims[0] / groups);
  return layout;
}

std::vector<std::string> mark_sparse_weights(std::vector<Operation>& operations) {
  constexpr std::size_t kNameBytes = 60;
  std::size_t held = 0, sparse = 0, of_tf32 = 0;
  std::string first;
  for (Operation& op : operations) {
    held += op.values ? 1 : 0;
    if (is_two_of_four(op)) {
      op.prunable = true;
      first = sparse == 0 ? io::printable(base::shortened(op.name, kNameBytes)) : first;
      ++sparse;
      of_tf32 += op.dtype == numerics::DataType::kTf32 ? 1 : 0;
    }
  }
  std::vector<std::string> notes;
  if (held > 0) {
    notes.push_back(fmt::format("values of A are the weights of the model in {} of {} operations; B is generated", held,
                                operations.size()));
  }
  if (sparse > 0) {
    notes.push_back(
        fmt::format("2:4 already: {} of them, the first '{}'; pruning leaves such weights as they are", sparse, first));
  }
  if (of_tf32 > 0) {
    notes.emplace_back(
        "TF32 executes 1:2 and not 2:4, so that it prunes such weights further; --dtype f16 or bf16 runs them as they "
        "are");
  }
  return notes;
}

}  // namespace sptc::workload::onnx
