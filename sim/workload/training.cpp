// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/training.h"

#include "sim/io/text_file.h"
#include "sim/workload/dense_role.h"

#include <algorithm>

namespace sptc::workload {
namespace {

using Kind = VectorKind;
using Shape = base::GemmShape;

/// Their gradient needs what they read or wrote.
constexpr std::array kNotLinear{Kind::kRelu, Kind::kGelu,      Kind::kSilu,    Kind::kTanh,   Kind::kSigmoid,
                                Kind::kGate, Kind::kLayerNorm, Kind::kRmsNorm, Kind::kSoftmax};
/// What xformers passes 2:4 tensors through (xformers/ops/sp24.py, SPARSE24_DISPATCH_CUTLASS).
constexpr std::array kActivations{Kind::kRelu, Kind::kGelu, Kind::kSilu, Kind::kGate};

bool is_among(Kind kind, const auto& kinds) {
  return std::ranges::count(kinds, kind) > 0;
}

void require_trainable(const Operation& op) {
  if (op.conv || op.storage.weight) {
    io::refuse("--training takes linear layers whose weights lie in memory as they are multiplied: '{}' {}",
               io::printable(op.name), op.conv ? "is a convolution" : "has weights of another type in memory");
  }
}

/// Reads the gradient of each tensor that `op` writes, and writes that of each that it reads.
VectorOperation gradient_of(const VectorOperation& op) {
  VectorOperation gradient = op;
  gradient.name += ".grad";
  std::swap(gradient.rows, gradient.input_rows);
  if (is_among(op.kind, kNotLinear)) {
    gradient.tensors = op.tensors + op.outputs;
    gradient.outputs = op.tensors;
  }
  return gradient;
}

/// `op` with another product, whose operands nobody has, and whose A is 2:4 or not.
Operation product(const Operation& op, std::string_view suffix, const Shape& shape, bool sparse) {
  Operation result = op;
  result.name += suffix;
  result.shape = shape;
  result.tensors.reset();
  result.values.reset();
  result.recorded = {};
  result.input = result.part_of = "";
  result.activation = Activation::kNone;
  result.rest = {};
  result.prunable = sparse && asp_eligible(result);
  return result;
}

/// Both passes, operation by operation.
class Step {
 public:
  Step(Training training, const std::vector<Operation>& gemms, const std::vector<VectorOperation>& vectors)
      : training_(training),
        forward_(gemms),
        between_(gemms.size() + 1),
        reads_sparse_(gemms.size()),
        gets_sparse_(gemms.size()) {
    for (const VectorOperation& op : vectors) {
      if (op.kind != Kind::kKvAppend) {  // no later step reads a cache
        between_.at(op.after).push_back(op);
      }
    }
    if (training == Training::kAct24) {
      for (std::size_t i = 1; i < gemms.size(); ++i) {
        find_activations(i);
      }
    }
  }

  void take(std::vector<Operation>& gemms, std::vector<VectorOperation>& vectors) && {
    for (std::size_t i = 0; i < forward_.size(); ++i) {
      add_all(between_[i]);
      add_forward(i);
    }
    add_all(between_.back());
    for (std::size_t i = forward_.size(); i-- > 0;) {
      add_gradients(between_[i + 1]);
      add_backward(i);
    }
    add_gradients(between_.front());
    add_beside();
    gemms = std::move(gemms_);
    vectors = std::move(vectors_);
  }

 private:
  /// Whether weight `i` reads what an activation function has written, and which weights, both of a
  /// gated layer, made the input of that.
  void find_activations(std::size_t i) {
    const Operation& before = forward_[i - 1];
    if (between_[i].empty() || !is_among(between_[i].back().kind, kActivations) || !forward_[i].weight ||
        !forward_[i].prunable) {
      return;
    }
    reads_sparse_[i] = true;
    gets_sparse_[i - 1] = before.weight && before.prunable;
    const bool gated = i > 1 && between_[i].back().kind == Kind::kGate && between_[i - 1].empty() &&
                       forward_[i - 2].weight && forward_[i - 2].shape == before.shape;
    if (gated) {
      gets_sparse_[i - 2] = gets_sparse_[i - 1];
    }
  }

  void add_forward(std::size_t i) {
    const Operation& op = forward_[i];
    const Shape& shape = op.shape;
    if (reads_sparse_[i]) {
      add(activations(op, "", {shape.n, shape.m, shape.k}));
      choose(shape.n * op.batch, shape.k, op);
      return;
    }
    Operation same = op;
    same.prunable = training_ == Training::kW24 && op.prunable;
    add(same);
    if (same.prunable) {
      choose(shape.m * op.batch, shape.k, op);
    }
  }

  void add_backward(std::size_t i) {
    const Operation& op = forward_[i];
    const auto [m, n, k] = std::array{op.shape.m, op.shape.n, op.shape.k};
    if (!op.weight) {
      add(product(op, ".dB", {k, n, m}, false));
      add(product(op, ".dA", {m, k, n}, false));
      return;
    }
    const int bits = numerics::storage_bits(op.dtype);
    if (reads_sparse_[i]) {
      add(activations(op, ".dW", {k, m, n}));
      beside(".dW.copy", Kind::kCopy, m * op.batch, k, bits, bits, op);
    } else {
      add(activations(op, ".dW", {m, k, n}, gets_sparse_[i]));
    }
    if (gets_sparse_[i]) {
      add(activations(op, ".dX", {n, k, m}));
      beside(".dX.mask", Kind::kMask, n * op.batch, m, bits + kMaskBits, bits, op);
      return;
    }
    const bool sparse = training_ == Training::kW24 && op.prunable;
    add(product(op, ".dX", {k, n, m}, sparse));
    if (sparse) {
      beside(".dW.mask", Kind::kMask, m * op.batch, k, bits + kMaskBits, bits, op);
    }
  }

  /// A product whose A is no weight.
  static Operation activations(const Operation& op, std::string_view suffix, const Shape& shape, bool sparse = true) {
    Operation result = product(op, suffix, shape, sparse);
    result.weight = false;
    return result;
  }

  /// One launch reads a tensor and writes it packed along rows and along columns, with the metadata
  /// of both, and the mask (xformers/csrc/sparse24/sparse24_pack.cu).
  void choose(std::int64_t rows, std::int64_t columns, const Operation& op) {
    constexpr int kMetadataBits = 1;  // of an element, in each of the two
    const int bits = numerics::storage_bits(op.dtype);
    beside(".select", Kind::kSelect, rows, columns, bits, bits + 2 * kMetadataBits + kMaskBits, op);
  }

  void beside(std::string_view suffix, Kind kind, std::int64_t rows, std::int64_t columns, int input_bits,
              int output_bits, const Operation& of) {
    VectorOperation op;
    op.name = of.name + std::string(suffix);
    op.kind = kind;
    op.rows = op.input_rows = rows;
    op.columns = columns;
    op.count = of.count;
    op.input_bits = input_bits;
    op.output_bits = output_bits;
    op.sparse_only = true;
    beside_.push_back(std::move(op));
  }

  void add(VectorOperation op) {
    op.after = gemms_.size();
    vectors_.push_back(std::move(op));
  }
  void add_all(const std::vector<VectorOperation>& operations) {
    for (const VectorOperation& op : operations) {
      add(op);
    }
  }
  void add_gradients(const std::vector<VectorOperation>& operations) {
    for (auto op = operations.rbegin(); op != operations.rend(); ++op) {
      add(gradient_of(*op));
    }
  }
  /// What 2:4 takes beside a product stands behind what may be fused with it.
  void add_beside() {
    add_all(beside_);
    beside_.clear();
  }
  void add(Operation op) {
    add_beside();
    gemms_.push_back(std::move(op));
  }

  static constexpr int kMaskBits = 1;  ///< of an element

  const Training training_;
  const std::vector<Operation> forward_;
  std::vector<std::vector<VectorOperation>> between_;  ///< before each product, and behind the last
  std::vector<bool> reads_sparse_;                     ///< 2:4 activations, with act24
  std::vector<bool> gets_sparse_;                      ///< a 2:4 gradient of its result, with act24
  std::vector<Operation> gemms_;
  std::vector<VectorOperation> vectors_, beside_;
};

}  // namespace

void add_backward(Training training, std::vector<Operation>& gemms, std::vector<VectorOperation>& vectors) {
  std::for_each(gemms.begin(), gemms.end(), require_trainable);
  Step(training, gemms, vectors).take(gemms, vectors);
}

}  // namespace sptc::workload
