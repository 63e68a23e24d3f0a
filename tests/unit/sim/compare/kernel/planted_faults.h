// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/unit/sim/compare/kernel/planted_kernel.h"

#include <functional>
#include <string>
#include <vector>

namespace sptc::compare::kernel {

struct Fault {
  std::string name;
  std::string cause;               ///< that must be named
  std::vector<std::string> parts;  ///< of the text: what and where
  std::function<KernelDiagnosis()> diagnose;
};

inline const Shape half{"A100", kHalf, 128, 96, 256};
inline const Shape sparse{"A100", kHalfSparse, 128, 96, 256};
inline const Shape narrow{"H100", kHalf, 96, 64, 320, false, DataType::kF16};
inline const Shape with_c{"A100", kBrain, 64, 64, 192, true};
inline const Shape square{"A100", kHalf, 64, 64, 256};

/// Of how a kernel cuts K and D: k-tiles, lines and tiles.
std::vector<Fault> faults_of_tiling();

}  // namespace sptc::compare::kernel
