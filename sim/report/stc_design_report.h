// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/energy/stc_design.h"
#include "models/sparsity/pattern.h"

#include <optional>
#include <string>

namespace sptc::report {

/// A GEMM on a design of Sparseloop's kind, and what energy::evaluate() says of it.
struct StcDesignRun {
  std::string design;  ///< name or file
  base::GemmShape shape;
  sparsity::Pattern pattern;
  bool dual_side = false;
  sparsity::Densities densities;  ///< of a design that skips the zeros of both operands
  double area_mm2 = 0;            ///< 0: the design does not say
  energy::StcResult result;
};

/// Evaluates `name` for what `energy design` asks for.
StcDesignRun run_stc_design(const std::string& name, const energy::StcDesign& design,
                            const base::GemmShape& shape, const sparsity::Pattern& pattern,
                            std::optional<double> a_density, std::optional<double> b_density);

/// Cycles, accesses and energy of each level: what `energy design` prints.
std::string stc_design_text(const StcDesignRun& run);
/// One JSON object (schema "sptcsim-stc-design/0.1").
std::string stc_design_json(const StcDesignRun& run);

}  // namespace sptc::report
