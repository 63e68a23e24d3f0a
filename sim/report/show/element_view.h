// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/catalogue.h"
#include "models/mma/element_trace.h"
#include "models/mma/fragment_layout.h"
#include "models/mma/instruction.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/compress.h"
#include "sim/check/vectors/metadata_input.h"
#include "sim/check/vectors/mma_batch.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::gpu {
struct GpuSpec;
}  // namespace sptc::gpu

namespace sptc::report::show {

struct ShownOperands {
  std::string source;                     ///< in words: "random, seed 1"
  base::Matrix<numerics::Word> a;         ///< [M, K]; sparse: before pruning, or empty
  sparsity::CompressedMatrix compressed;  ///< sparse only
  base::Matrix<numerics::Word> b;         ///< [K, N]
  base::Matrix<numerics::Word> c;         ///< [M, N]
};

/// Seeded values of --data ("random", ..), A pruned by magnitude where the instruction is sparse. C is of the same kind
/// as A. Throws InputError.
ShownOperands generated_operands(const mma::MmaInstruction& instruction, const std::string& data, std::uint64_t seed);

/// Case `index` of arrays as `mma` takes them. A sparse A with `metadata` is [M, K/2], without it [M, K] and pruned by
/// magnitude. An empty C is zeros, and so are rows that A and C lack. Throws InputError where the arrays do not hold
/// operands of one instruction.
ShownOperands file_operands(const mma::MmaInstruction& instruction, const check::vectors::MmaOperands& arrays,
                            const std::optional<check::vectors::MetadataInput>& metadata, std::size_t index);

/// A stage of a tensor core at work on one step of an instruction.
struct StageSpan {
  std::string_view stage;  ///< "fetch", "select", "multiply", "align_add", "round"
  int step = 0;
  std::int64_t begin = 0, end = 0;  ///< cycles since the instruction was issued; end excluded
};

/// One instruction that goes through an idle tensor core of a board.
struct InstructionCycles {
  std::string board;
  std::vector<StageSpan> spans;  ///< in the order of their beginning
  std::int64_t done = 0;         ///< cycle in which D is in the registers
};

/// Simulates the instruction alone in the tensor core of `gpu` (sim/hardware/tensor_core). SystemC elaborates once per
/// process, so this can be called once. Nothing where the board does not run the instruction as one of its own, or it
/// is no mma.sync of m16n8.
std::optional<InstructionCycles> instruction_cycles(const gpu::GpuSpec& gpu, const mma::MmaInstruction& instruction);

/// A field of `bits` bits in a word that stands somewhere.
struct BitField {
  std::uint32_t word = 0;
  int low_bit = 0;
  int bits = 4;
};

/// One group of the row of A: what was kept of it, and where its nibble stands in each order of the metadata
/// (models/sparsity/metadata.h).
struct GroupView {
  std::uint8_t nibble = 0;
  int column = 0;                   ///< of E; its row is that of A
  BitField element;                 ///< in the element of E, canonical and reordered
  std::size_t reordered_rows = 0;   ///< of a matrix that is reordered
  std::size_t reordered_index = 0;  ///< of the element in it
  int warp = 0, lane = 0;
  std::optional<BitField> in_register;  ///< nothing where the instruction reads no registers
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

struct ElementChoice {
  int row = 0, col = 0;
  int selector = 0;
};

/// Takes element `choice` of `instruction` on `target` apart. Throws InputError where the element, the selector or the
/// instruction does not exist, or its arithmetic is not known.
ElementView view_element(const mma::Target& target, const mma::MmaInstruction& instruction,
                         const ShownOperands& operands, const ElementChoice& choice);

/// Takes element `choice` of the instruction called `name`, whole or in part, apart. `arch` is a board, whose tensor
/// core simulates it alone for the cycles (SystemC elaborates once per process), or a target without cycles: "sm_80",
/// "ampere". Throws InputError.
ElementView show_instruction(const std::string& name, const std::string& arch,
                             const std::function<ShownOperands(const mma::MmaInstruction&)>& operands,
                             const ElementChoice& choice);

/// The finite value of an addend before the alignment.
double exact_value(const mma::Addend& addend);

/// A number in binary as the adders see it: bits of weight 2^top down to 2^unit, and those below that the alignment
/// cuts off.
struct AddendBits {
  bool negative = false;
  std::string kept;  ///< top first
  std::string cut;   ///< what follows, up to its last one; "" where nothing is lost
};

/// The window that all addends of a step and their sum fit in.
struct BitWindow {
  int unit_exponent = 0;  ///< weight of the last kept bit
  int bits = 0;           ///< kept
  int point = 0;          ///< kept bits before the point: those of weight 2^largest and more
};

/// The window of an aligned step with addends. `fraction_bits` is F.
BitWindow bit_window(const mma::ElementStep& step, int fraction_bits);

AddendBits addend_bits(const mma::Addend& addend, const BitWindow& window);
AddendBits sum_bits(std::int64_t sum, const BitWindow& window);

std::string element_text(const ElementView& view);
std::string element_json(const ElementView& view);
/// One page that needs no network: sim/report/show/element.html with the element inside.
std::string element_html(const ElementView& view);

}  // namespace sptc::report::show
