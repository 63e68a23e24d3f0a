// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "models/mma/element_trace.h"
#include "models/mma/fragment_layout.h"
#include "models/numerics/codec.h"
#include "sim/show/instruction_cycles.h"
#include "sim/show/shown_operands.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sptc::show {

/// A field of `bits` bits in a word that stands somewhere.
struct BitField {
  std::uint32_t word = 0;
  int low_bit = 0;
  int bits = 4;
};

/// Where the nibble of one group stands in each layout of the metadata (models/sparsity/metadata).
struct MetadataPlaces {
  struct Canonical {
    int row = 0, column = 0;  ///< of E
    BitField field;
  } canonical;
  struct Register {
    int warp = 0, lane = 0;
    BitField field;
  };
  std::optional<Register> lane;  ///< nothing where the instruction reads no registers
  struct Reordered {
    std::size_t index = 0;  ///< of the element, in a matrix of `rows` rows
    std::size_t rows = 0;
    BitField field;
  } reordered;
};

/// One group of the row of A: what was kept of it.
struct GroupView {
  std::uint8_t nibble = 0;
  MetadataPlaces places;
};

/// One multiplier's operand of A.
struct KeptView {
  numerics::Word value = 0;
  int k = 0;      ///< row of B that it meets
  int group = 0;  ///< sparse only
  int slot = 0;   ///< of the group
  std::optional<mma::FragmentSlot> a_slot, b_slot;
};

/// One element of D of one matrix instruction, and all that it came from.
struct ElementView {
  mma::Target target;
  mma::CatalogueEntry entry;
  mma::MmaInstruction instruction;
  mma::StepRules rules;
  std::string operands;  ///< where they come from, in words
  std::string command;   ///< that shows the same again; empty: not known
  int selector = 0;
  int row = 0, col = 0;
  std::vector<numerics::Word> weights;  ///< the row before pruning; empty: came compressed
  std::vector<numerics::Word> b_column;
  numerics::Word c = 0;
  std::vector<GroupView> groups;  ///< sparse only
  std::vector<KeptView> kept;
  std::vector<mma::ElementStep> steps;
  numerics::Word d = 0;
  double exact = 0;  ///< C and all products, in double precision
  std::optional<mma::FragmentSlot> d_slot;
  std::optional<InstructionCycles> cycles;
};

/// Which element of D.
struct ElementChoice {
  int row = 0, col = 0;
  int selector = 0;
};

/// Takes element `choice` of `instruction` on `target` apart. Throws InputError where the element,
/// the selector or the instruction does not exist, or its arithmetic is not known.
ElementView view_element(const mma::Target& target, const mma::MmaInstruction& instruction,
                         const ShownOperands& operands, const ElementChoice& choice);

/// The finite value of an addend before the alignment.
double exact_value(const mma::Addend& addend);

std::string element_text(const ElementView& view);
std::string element_json(const ElementView& view);
/// One page that needs no network: sim/show/element.html with the element inside.
std::string element_html(const ElementView& view);

}  // namespace sptc::show
