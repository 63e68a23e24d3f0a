// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/sparsity/criterion.h"
#include "models/sparsity/weight_pattern.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <string>

namespace sptc::sparsity {
namespace {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Doubles = Eigen::MatrixXd;
using Eigen::Index;

// What the authors of SparseGPT take.
constexpr double kDampening = 0.01;  // of the mean of the diagonal of the Hessian, added to it
constexpr Index kBlock = 128;        // columns whose update of later ones is done at once

Eigen::Map<const Rows> view(const base::Matrix<float>& matrix) {
  return {matrix.data(), static_cast<Index>(matrix.rows()), static_cast<Index>(matrix.cols())};
}

/// The upper triangular factor U of the inverse of the dampened Hessian, inverse = U' U. The
/// columns of `weights` that no input reaches become 0.
Doubles inverse_factor(const base::Matrix<float>& inputs, Doubles& weights) {
  // The Hessian of the columns in reverse is L L', and U is the inverse of L in reverse: no inverse is factored.
  const Doubles x = view(inputs).cast<double>().rowwise().reverse();
  const Index k = x.cols();
  Doubles hessian = Doubles::Zero(k, k);
  hessian.selfadjointView<Eigen::Lower>().rankUpdate(x.transpose());
  const double mean = hessian.diagonal().mean();
  for (Index i = 0; i < k; ++i) {
    if (hessian(i, i) == 0) {
      hessian(i, i) = 1;
      weights.col(k - 1 - i).setZero();
    }
  }
  hessian.diagonal().array() += kDampening * (mean > 0 ? mean : 1);
  const Eigen::LLT<Doubles> factor(hessian);
  if (factor.info() != Eigen::Success) {
    throw base::InputError("the Hessian of the calibration inputs is not positive definite");
  }
  Doubles inverse = Doubles::Identity(k, k);
  factor.matrixL().solveInPlace(inverse);
  return inverse.reverse();
}

/// Which weights of the group of columns that begins at `first` stay.
void select_columns(const Doubles& weights, const Doubles& factor, Index first, const WeightPattern& pattern,
                    Mask& mask) {
  const auto group = static_cast<std::size_t>(pattern.pattern.group);
  base::Matrix<float> scores(mask.rows(), group);
  for (std::size_t row = 0; row < mask.rows(); ++row) {
    for (std::size_t i = 0; i < group; ++i) {
      const Index column = first + static_cast<Index>(i);
      const double ratio = weights(static_cast<Index>(row), column) / factor(column, column);
      scores(row, i) = static_cast<float>(ratio * ratio);
    }
  }
  const Mask chosen = select(scores, pattern);
  for (std::size_t row = 0; row < mask.rows(); ++row) {
    for (std::size_t i = 0; i < group; ++i) {
      mask(row, static_cast<std::size_t>(first) + i) = chosen(row, i);
    }
  }
}

}  // namespace

PrunedWeights prune_by_sparse_gpt(const base::Matrix<float>& weights, const base::Matrix<float>& inputs,
                                  const WeightPattern& pattern) {
  base::ensure(weights.cols() == inputs.cols(), "inputs of another k than the weights");
  const auto group = static_cast<Index>(pattern.pattern.group);
  if (pattern.vector_rows > 0 || weights.cols() % static_cast<std::size_t>(group) != 0) {
    throw base::InputError("SparseGPT prunes N:M along a k that is a multiple of M, not k = " +
                           std::to_string(weights.cols()) + " to " + pattern.name());
  }
  Doubles w = view(weights).cast<double>();
  const Doubles factor = inverse_factor(inputs, w);
  Mask mask(weights.rows(), weights.cols(), 1);
  const Index columns = w.cols();
  const Index block = std::max<Index>(group, kBlock / group * group);
  for (Index begin = 0; begin < columns; begin += block) {
    const Index end = std::min(columns, begin + block);
    Doubles errors = Doubles::Zero(w.rows(), end - begin);
    for (Index column = begin; column < end; ++column) {
      if (column % group == 0) {
        select_columns(w, factor, column, pattern, mask);
      }
      for (Index row = 0; row < w.rows(); ++row) {
        if (mask(static_cast<std::size_t>(row), static_cast<std::size_t>(column)) == 0) {
          errors(row, column - begin) = w(row, column) / factor(column, column);
          w(row, column) = 0;
        }
      }
      const Index later = end - column - 1;
      w.block(0, column + 1, w.rows(), later).noalias() -=
          errors.col(column - begin) * factor.block(column, column + 1, 1, later);
    }
    w.rightCols(columns - end).noalias() -= errors * factor.block(begin, end, end - begin, columns - end);
  }
  PrunedWeights result{base::Matrix<float>(weights.rows(), weights.cols()), std::move(mask)};
  Eigen::Map<Rows>(result.weights.data(), w.rows(), w.cols()) = w.cast<float>();
  return result;
}

OutputChange output_change(const base::Matrix<float>& weights, const base::Matrix<float>& pruned,
                           const base::Matrix<float>& inputs) {
  constexpr Index kSamples = 256;  // at a time: the outputs of all need not fit memory
  const auto w = view(weights);
  const Rows lost = w - view(pruned);
  double error = 0, output = 0;
  for (Index first = 0; first < static_cast<Index>(inputs.rows()); first += kSamples) {
    const Index count = std::min(kSamples, static_cast<Index>(inputs.rows()) - first);
    const auto x = view(inputs).middleRows(first, count);
    error += (x * lost.transpose()).cast<double>().squaredNorm();
    output += (x * w.transpose()).cast<double>().squaredNorm();
  }
  return {std::sqrt(error), std::sqrt(output)};
}

}  // namespace sptc::sparsity
