// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/instruction.h"
#include "sim/check/vectors/mma_batch.h"
#include "sim/check/vectors/vector_set.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sptc::hardware {

/// Operands of one array set of a capture.
struct CaseSet {
  std::string name;  ///< "defined", "undefined", "golden-hw_A100"
  mma::MmaInstruction instruction;
  check::vectors::MmaOperands operands;             ///< whole matrices of the instruction
  std::vector<base::Matrix<std::uint8_t>> nibbles;  ///< [m, groups] of each case; sparse only
  std::vector<int> selectors;                       ///< of each case; sparse only
  std::vector<std::string> categories;
  std::vector<std::uint64_t> category_of_case;
  std::string source;
  bool seeded = false;

  std::size_t cases() const { return operands.cases(); }
};

/// Cases to which the PTX ISA gives a meaning, `per_category` of each category that fits the types
/// (tests/hardware/CAPTURE.md lists them). Deterministic in `seed`.
CaseSet defined_cases(const mma::MmaInstruction& instruction, std::uint64_t seed, std::size_t per_category);

/// Sparse instructions: unordered and invalid metadata over operands of moderate size.
CaseSet undefined_cases(const mma::MmaInstruction& instruction, std::uint64_t seed, std::size_t per_category);

/// The operands of one result of a published set, as whole matrices of the instruction: missing
/// rows are zeros, single dot products stand on the diagonal, eight to a case. Nothing where a set
/// needs more than one instruction per case.
std::optional<CaseSet> golden_cases(const check::vectors::VectorSet& set, const check::vectors::VectorOutput& output,
                                    std::uint64_t seed);

/// All of them below `directory`, whatever their instruction.
std::vector<CaseSet> golden_sets(const std::filesystem::path& directory, std::uint64_t seed);

}  // namespace sptc::hardware
