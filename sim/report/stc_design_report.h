// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/energy/stc_design.h"
#include "models/sparsity/pattern.h"

#include <string>

namespace sptc::report {

/// A GEMM on a design of Sparseloop's kind, and what energy::evaluate() says of it.
struct StcDesignRun {
  std::string design;  ///< name or file
  base::GemmShape shape;
  sparsity::Pattern pattern;
  energy::StcResult result;
};

/// Cycles, accesses and energy of each level: what `energy design` prints.
std::string stc_design_text(const StcDesignRun& run);
/// One JSON object (schema "sptcsim-stc-design/0.1").
std::string stc_design_json(const StcDesignRun& run);

}  // namespace sptc::report
