// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/vector_operation.h"
#include "sim/workload/workload.h"

namespace sptc::workload {

/// What of a training step is 2:4, in the words of xformers (xformers/benchmarks/benchmark_sp24.py,
/// BSD-3-Clause).
enum class Training {
  kDense,  ///< nothing
  kW24,    ///< weights, chosen anew in each step, by a mask of 4 x 4 that holds for both layouts
  kAct24,  ///< what activation functions write, and the gradient that goes back through them
};

/// Makes a training step of a list that goes forward. Each product D[m,n] = A[m,k] B[k,n] is
/// followed, from the last to the first, by both of its gradients: A' = D' B^T ("x.dW", m x k over
/// n) and B' = A^T D' ("x.dX", k x n over m); of two activations they are "x.dA" and "x.dB". Each
/// operation beside them gets its own: of what is not linear one that reads what it read, too.
/// Nothing is appended to a cache.
///
/// With w24 a weight that is `prunable` is 2:4 forward and in x.dX; x.dW is dense and is masked
/// after. With act24 the weight behind an activation function reads 2:4 activations, forward and in
/// x.dW, and the weights before one get a 2:4 gradient, in x.dX and x.dW. A is what is 2:4 in all
/// of them, whose rows may be tokens then. What 2:4 takes beside is a launch of its own
/// (VectorOperation::sparse_only): choosing, masking, and turning round an x.dW that comes out as
/// [k, m]. Throws InputError for convolutions, and for weights that lie in memory as another type.
void add_backward(Training training, std::vector<Operation>& gemms, std::vector<VectorOperation>& vectors);

}  // namespace sptc::workload
