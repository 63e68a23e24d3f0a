// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/kernel_model.h"

#include <string>
#include <vector>

namespace sptc::compare::kernel {

/// A way in which a kernel may differ from what it is said to be.
struct Alternative {
  std::string cause;  ///< one word for programs: "split-k", "metadata-layout", ...
  std::string text;   ///< a sentence for people
  KernelModel model;
};

/// Every single change of `from` that a kernel over `data` on `target` may have made; simple and
/// frequent ones first. Results that cannot differ are listed once.
std::vector<Alternative> alternatives(const KernelData& data, const KernelModel& from,
                                      const mma::Target& target);

/// Those of them that change the epilogue: C, bias, activation, scales, and how D's type is made.
std::vector<Alternative> epilogue_alternatives(const KernelData& data, const KernelModel& from);

}  // namespace sptc::compare::kernel
