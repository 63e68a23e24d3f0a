// SPDX-License-Identifier: Apache-2.0
#include "sim/show/element_view.h"

#include "models/base/error.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/metadata_register.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace sptc::show {
namespace {

using mma::MmaInstruction;
using numerics::Word;
using sparsity::CompressedMatrix;

constexpr int kWarpRows = 16;  ///< rows of A whose metadata one warp supplies

/// A matrix of which the instruction's A is the upper left part has whole blocks of rows.
std::size_t block_rows(numerics::DataType type, int m) {
  const std::size_t block = sparsity::metadata_element_bits(type) == 16 ? 32 : 16;
  return std::max(block, static_cast<std::size_t>(m));
}

MetadataPlaces::Register register_place(const MmaInstruction& instruction,
                                        const CompressedMatrix& a, const ElementChoice& choice,
                                        int group) {
  const auto format = sparsity::metadata_register_format(instruction.a_type, instruction.shape.k);
  const int warp = choice.row / kWarpRows;
  const sparsity::MetadataSlot slot = sparsity::metadata_slot(
      format, choice.selector, {.row = choice.row % kWarpRows, .group = group});
  const sparsity::LaneWords words = sparsity::gather_metadata(
      format, choice.selector, a.nibbles, static_cast<std::size_t>(warp) * kWarpRows, 0);
  return {warp, slot.lane, {words[static_cast<std::size_t>(slot.lane)], 4 * slot.nibble}};
}

MetadataPlaces metadata_places(const MmaInstruction& instruction, const CompressedMatrix& a,
                               const sparsity::CanonicalMetadata& canonical,
                               const ElementChoice& choice, int group) {
  const int per_element = canonical.groups_per_element();
  const auto row = static_cast<std::size_t>(choice.row);
  const auto column = static_cast<std::size_t>(group / per_element);
  const BitField field{canonical.elements(row, column), 4 * (group % per_element)};
  MetadataPlaces places;
  places.canonical = {choice.row, static_cast<int>(column), field};
  const std::size_t rows = block_rows(instruction.a_type, instruction.shape.m);
  places.reordered = {sparsity::reordered_offset(instruction.a_type, rows, row, column), rows,
                      field};
  if (instruction.family != mma::MmaFamily::kTcgen05) {
    places.lane = register_place(instruction, a, choice, group);
  }
  return places;
}

void add_groups(const ShownOperands& operands, const ElementChoice& choice, ElementView& view) {
  const CompressedMatrix& a = operands.compressed;
  const auto canonical = sparsity::pack_canonical(a);
  for (int group = 0; group < static_cast<int>(a.nibbles.cols()); ++group) {
    view.groups.push_back(
        {a.nibbles(static_cast<std::size_t>(choice.row), static_cast<std::size_t>(group)),
         metadata_places(view.instruction, a, canonical, choice, group)});
  }
}

bool is_narrow_float(numerics::DataType type) {
  return numerics::info(type).is_float() && numerics::storage_bits(type) < 8;
}

/// Fragments are known for m16n8 of mma.sync, but not how floats below a byte fill registers.
std::optional<mma::FragmentLayout> layout_of(const MmaInstruction& instruction,
                                             mma::FragmentOperand operand) {
  if (instruction.family != mma::MmaFamily::kMma || instruction.shape.m != kWarpRows ||
      is_narrow_float(instruction.a_type) || is_narrow_float(instruction.b_type)) {
    return std::nullopt;
  }
  return mma::fragment_layout(instruction, operand);
}

std::optional<mma::FragmentSlot> slot_of(const std::optional<mma::FragmentLayout>& layout, int row,
                                         int col) {
  return layout ? std::optional(layout->slot({row, col})) : std::nullopt;
}

void add_kept(const ShownOperands& operands, const ElementChoice& choice, ElementView& view) {
  const auto row = static_cast<std::size_t>(choice.row);
  const bool sparse = view.instruction.sparse;
  const sparsity::Pattern pattern = view.instruction.sparse_pattern();
  const auto values = sparse ? operands.compressed.values.row(row) : operands.a.row(row);
  const auto a_layout = layout_of(view.instruction, mma::FragmentOperand::kA);
  const auto b_layout = layout_of(view.instruction, mma::FragmentOperand::kB);
  for (int t = 0; t < static_cast<int>(values.size()); ++t) {
    KeptView kept;
    kept.value = values[static_cast<std::size_t>(t)];
    kept.k = t;
    if (sparse) {
      kept.group = t / pattern.kept;
      kept.slot = t % pattern.kept;
      kept.k = kept.group * pattern.group +
               sparsity::selected_position(view.groups[static_cast<std::size_t>(kept.group)].nibble,
                                           kept.slot, pattern);
    }
    kept.a_slot = slot_of(a_layout, choice.row, t);
    kept.b_slot = slot_of(b_layout, kept.k, choice.col);
    view.kept.push_back(kept);
  }
}

void require_index(const char* what, int index, int count) {
  if (index < 0 || index >= count) {
    throw base::InputError(fmt::format("{} must be from 0 to {}, not {}", what, count - 1, index));
  }
}

}  // namespace

double exact_value(const mma::Addend& addend) {
  const double magnitude =
      std::ldexp(static_cast<double>(addend.significand), addend.unit_exponent);
  return addend.negative ? -magnitude : magnitude;
}

ElementView view_element(const mma::Target& target, const MmaInstruction& instruction,
                         const ShownOperands& operands, const ElementChoice& choice) {
  ElementView view;
  view.rules = mma::instruction_rules(target, instruction);
  mma::require_steps(instruction, view.rules);
  view.entry = mma::find_instruction(target, instruction);
  require_index("--row", choice.row, instruction.shape.m);
  require_index("--col", choice.col, instruction.shape.n);
  view.target = target;
  view.instruction = instruction;
  view.operands = operands.source;
  view.selector = choice.selector;
  view.row = choice.row;
  view.col = choice.col;
  if (!operands.a.empty()) {
    const auto weights = operands.a.row(static_cast<std::size_t>(choice.row));
    view.weights.assign(weights.begin(), weights.end());
  }
  if (instruction.sparse) {
    add_groups(operands, choice, view);
  }
  add_kept(operands, choice, view);
  std::vector<Word> a, b;
  const auto col = static_cast<std::size_t>(choice.col);
  view.c = operands.c(static_cast<std::size_t>(choice.row), col);
  view.exact = numerics::to_double(view.c, instruction.c_type());
  for (std::size_t k = 0; k < operands.b.rows(); ++k) {
    view.b_column.push_back(operands.b(k, col));
  }
  for (const KeptView& kept : view.kept) {
    a.push_back(kept.value);
    b.push_back(view.b_column[static_cast<std::size_t>(kept.k)]);
    view.exact += numerics::to_double(a.back(), instruction.a_type) *
                  numerics::to_double(b.back(), instruction.b_type);
  }
  view.steps = mma::trace_element(a, b, view.c, instruction, view.rules);
  view.d = view.steps.back().trace.result;
  view.d_slot =
      slot_of(layout_of(instruction, mma::FragmentOperand::kAccumulator), choice.row, choice.col);
  return view;
}

}  // namespace sptc::show
