// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/compare/times/accuracy.h"
#include "sim/compare/times/comparison.h"
#include "sim/kernels/launch_conditions.h"

#include <span>
#include <string>
#include <vector>

namespace sptc::compare::times {

/// Two errors of the rows that name the kernel that ran: with the kernel that the model chooses,
/// which is that of model and choice, and with the one that ran, which is that of the model.
struct KernelAccuracy {
  numerics::DataType dtype = numerics::DataType::kF16;
  std::string sparsity;
  kernels::Algorithm algorithm = kernels::Algorithm::kHeuristic;
  ErrorFigures chosen, recorded;
  double same_tile_percent = 0;    ///< rows and columns of the tile are those that ran
  double same_kernel_percent = 0;  ///< also CTAs of the cluster and slices of K
};

/// By type, sparsity and algorithm, of the rows that have both.
std::vector<KernelAccuracy> measure_kernels(std::span<const Comparison> rows);

}  // namespace sptc::compare::times
