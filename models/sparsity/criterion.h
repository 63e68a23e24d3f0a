// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/sparsity/prune.h"

#include <string_view>

namespace sptc::sparsity {

struct WeightPattern;

/// What weights [rows, k] are chosen by, and what becomes of those that stay.
enum class Criterion {
  kMagnitude,  ///< |w|; they stay as they are
  kWanda,      ///< |w| times the norm of its input (Sun et al., ICLR 2024, arXiv 2306.11695)
  kSparseGpt,  ///< error of the layer; they take over what those that go contributed
};

/// "magnitude", "wanda", "sparsegpt". Throws InputError.
Criterion parse_criterion(std::string_view name);
std::string_view name(Criterion criterion);

/// Weights after pruning, and which of them stayed.
struct PrunedWeights {
  base::Matrix<float> weights;  ///< 0 where the mask is 0
  Mask mask;
};

/// |w|.
base::Matrix<float> magnitudes(const base::Matrix<float>& weights);

/// |w| times the Euclidean norm of its column of `inputs` [samples, k].
base::Matrix<float> wanda_scores(const base::Matrix<float>& weights, const base::Matrix<float>& inputs);

/// SparseGPT (Frantar and Alistarh, ICML 2023, arXiv 2301.00774): columns in order; a group is
/// pruned where w^2 over the squared diagonal of the Cholesky factor of the inverse Hessian is
/// smallest, and later columns are corrected for what goes. The Hessian is inputs' inputs.
/// Weights of an input that is 0 in all samples become 0. Throws InputError for V:N:M, and
/// where k is no multiple of the group.
PrunedWeights prune_by_sparse_gpt(const base::Matrix<float>& weights, const base::Matrix<float>& inputs,
                                  const WeightPattern& pattern);

/// What pruning does to the outputs of a layer, in the Frobenius norm.
struct OutputChange {
  double lost = 0;   ///< ||inputs (W - P)'||, W and P [rows, k] the weights before and after
  double whole = 0;  ///< ||inputs W'||

  double relative() const { return whole > 0 ? lost / whole : 0; }
};

OutputChange output_change(const base::Matrix<float>& weights, const base::Matrix<float>& pruned,
                           const base::Matrix<float>& inputs);

/// What of the weights stays.
struct KeptShare {
  double energy = 1;     ///< of the sum of squares
  double magnitude = 1;  ///< of the sum of magnitudes
  double squares = 0;    ///< the sum of squares itself, before
};

KeptShare kept_share(const base::Matrix<float>& weights, const Mask& mask);

}  // namespace sptc::sparsity
