// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/vectors/vector_set.h"
#include "tests/hardware/capture/case_generator.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace sptc::hardware {

/// The operands of one result of a published set, as whole matrices of the instruction: missing
/// rows are zeros, single dot products stand on the diagonal, eight to a case. Nothing where a set
/// needs more than one instruction per case.
std::optional<CaseSet> golden_cases(const compare::vectors::VectorSet& set,
                                    const compare::vectors::VectorOutput& output,
                                    std::uint64_t seed);

/// All of them below `directory`, whatever their instruction.
std::vector<CaseSet> golden_sets(const std::filesystem::path& directory, std::uint64_t seed);

}  // namespace sptc::hardware
