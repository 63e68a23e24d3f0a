// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/kernel_crosscheck.h"
#include "sim/compare/vectors/vector_set.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sptc::compare::capture {

/// Why the words of one result array differ: faults of single places where these explain every
/// case, else the changes of the arithmetic or of the metadata that explain all cases. Empty where
/// nothing does. `rules` are those that D was computed with.
std::vector<kernel::Explanation> explain_set(const vectors::VectorSet& set,
                                             const vectors::VectorOutput& output,
                                             const mma::StepRules& rules);

/// Cases whose metadata registers (E, sel) do not say what the indices (idx) do, one sentence each:
/// which lane and nibble. `directory` is that of the set. Nothing for sets without registers.
std::vector<std::string> inconsistent_metadata(const std::filesystem::path& json_file,
                                               const vectors::VectorSet& set);

}  // namespace sptc::compare::capture
