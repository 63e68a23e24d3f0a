// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "models/mma/step_rules.h"
#include "sim/check/vectors/metadata_input.h"
#include "sim/check/vectors/mma_batch.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::check::vectors {

/// An instruction of an architecture and how many elements of D it reproduces.
struct Candidate {
  mma::Target target;  ///< the first of its architecture that has the instruction
  mma::CatalogueEntry entry;
  mma::SparseGrouping grouping = mma::SparseGrouping::kCompressed;
  mma::StepRules rules;
  std::size_t matching = 0;
};

/// Whose arithmetic made D.
struct Identification {
  std::size_t elements = 0;          ///< of D
  std::vector<Candidate> matches;    ///< every element, bit for bit
  std::optional<Candidate> nearest;  ///< where none matches: the one with most elements right
  std::size_t candidates = 0;        ///< instructions that fit the arrays
};

/// Tries every instruction of the catalogue whose operands may have these sizes, dense without `metadata` and sparse
/// with it, over K in increasing k. `operands.c` absent: pass an empty array, taken as zeros of the candidate's type.
/// Throws InputError where no instruction fits the arrays.
Identification identify(const MmaOperands& operands, const std::optional<MetadataInput>& metadata, const BitArray& d,
                        mma::Profile profile);

std::string identify_text(const Identification& identification);
std::string identify_json(const Identification& identification);

/// "H1", "H2". Throws InputError.
mma::SparseGrouping parse_grouping(std::string_view name);
std::string_view grouping_name(mma::SparseGrouping grouping);

}  // namespace sptc::check::vectors
