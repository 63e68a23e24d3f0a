// SPDX-License-Identifier: Apache-2.0
#include "sim/report/show/element_view.h"

#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/metadata_register.h"
#include "sim/config/architecture.h"
#include "sim/config/board_names.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace sptc::report::show {
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

void set_register(const MmaInstruction& instruction, const CompressedMatrix& a, const ElementChoice& choice, int group,
                  GroupView& view) {
  const auto format = sparsity::metadata_register_format(instruction.a_type, instruction.shape.k);
  view.warp = choice.row / kWarpRows;
  const sparsity::MetadataSlot slot =
      sparsity::metadata_slot(format, choice.selector, {.row = choice.row % kWarpRows, .group = group});
  const sparsity::LaneWords words =
      sparsity::gather_metadata(format, choice.selector, a.nibbles, static_cast<std::size_t>(view.warp) * kWarpRows, 0);
  view.lane = slot.lane;
  view.in_register = BitField{words[static_cast<std::size_t>(slot.lane)], 4 * slot.nibble};
}

void add_groups(const ShownOperands& operands, const ElementChoice& choice, ElementView& view) {
  const CompressedMatrix& a = operands.compressed;
  const MmaInstruction& instruction = view.instruction;
  const auto canonical = sparsity::pack_metadata(a.nibbles, {.type = a.type});
  const int per_element = sparsity::metadata_element_bits(a.type) / 4;
  const auto row = static_cast<std::size_t>(choice.row);
  for (int group = 0; group < static_cast<int>(a.nibbles.cols()); ++group) {
    const auto column = static_cast<std::size_t>(group / per_element);
    GroupView shown;
    shown.nibble = a.nibbles(row, static_cast<std::size_t>(group));
    shown.column = group / per_element;
    shown.element = {canonical(row, column), 4 * (group % per_element)};
    shown.reordered_rows = block_rows(instruction.a_type, instruction.shape.m);
    shown.reordered_index = sparsity::reordered_offset(instruction.a_type, shown.reordered_rows, row, column);
    if (instruction.family != mma::MmaFamily::kTcgen05) {
      set_register(instruction, a, choice, group, shown);
    }
    view.groups.push_back(shown);
  }
}

bool is_narrow_float(numerics::DataType type) {
  return numerics::info(type).is_float() && numerics::storage_bits(type) < 8;
}

/// Fragments are known for m16n8 of mma.sync, but not how floats below a byte fill registers.
std::optional<mma::FragmentLayout> layout_of(const MmaInstruction& instruction, mma::FragmentOperand operand) {
  if (instruction.family != mma::MmaFamily::kMma || instruction.shape.m != kWarpRows ||
      is_narrow_float(instruction.a_type) || is_narrow_float(instruction.b_type)) {
    return std::nullopt;
  }
  return mma::fragment_layout(instruction, operand);
}

std::optional<mma::FragmentSlot> slot_of(const std::optional<mma::FragmentLayout>& layout, int row, int col) {
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
      kept.k =
          kept.group * pattern.group +
          sparsity::selected_position(view.groups[static_cast<std::size_t>(kept.group)].nibble, kept.slot, pattern);
    }
    kept.a_slot = slot_of(a_layout, choice.row, t);
    kept.b_slot = slot_of(b_layout, kept.k, choice.col);
    view.kept.push_back(kept);
  }
}

void require_index(const char* what, int index, int count) {
  if (index < 0 || index >= count) {
    io::refuse("{} must be from 0 to {}, not {}", what, count - 1, index);
  }
}

std::string binary(std::uint64_t value, int bits) {
  std::string text;
  for (int bit = bits - 1; bit >= 0; --bit) {
    text += bit < 64 && ((value >> bit) & 1) != 0 ? '1' : '0';
  }
  return text;
}

/// The cycles of a board; nothing where `arch` is a target and no board.
std::optional<InstructionCycles> cycles_of(const std::string& arch, const mma::MmaInstruction& instruction) {
  const std::string board = config::board_name(arch);
  const std::vector<std::string> names = config::architecture_names();
  const bool is_file = board.find('/') != std::string::npos || board.ends_with(".json");
  if (!is_file && std::find(names.begin(), names.end(), board) == names.end()) {
    return std::nullopt;
  }
  const gpu::GpuSpec gpu = config::load_architecture(board).gpu;
  return instruction_cycles(gpu, instruction);
}

}  // namespace

double exact_value(const mma::Addend& addend) {
  const double magnitude = std::ldexp(static_cast<double>(addend.significand), addend.unit_exponent);
  return addend.negative ? -magnitude : magnitude;
}

BitWindow bit_window(const mma::ElementStep& step, int fraction_bits) {
  constexpr int kProductBits = 2;  // a product of two numbers in [1, 2) is below 4
  BitWindow window;
  window.unit_exponent = step.trace.largest_exponent.value_or(0) - fraction_bits;
  window.bits = fraction_bits + kProductBits;
  const auto widen = [&window](std::int64_t value) {
    const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::abs(value))));
    window.bits = std::max(window.bits, width);
  };
  widen(step.trace.sum);
  for (const mma::Addend& addend : step.addends) {
    widen(addend.aligned);
  }
  window.point = window.bits - fraction_bits;
  return window;
}

AddendBits addend_bits(const mma::Addend& addend, const BitWindow& window) {
  AddendBits result = sum_bits(addend.aligned, window);
  result.negative = addend.negative;
  const int lost = std::min(window.unit_exponent - addend.unit_exponent, 64 + window.bits);
  if (lost > 0) {
    result.cut = binary(addend.significand, lost);
    result.cut.erase(result.cut.find_last_not_of('0') + 1);
  }
  return result;
}

AddendBits sum_bits(std::int64_t sum, const BitWindow& window) {
  return {sum < 0, binary(static_cast<std::uint64_t>(std::abs(sum)), window.bits), ""};
}

ElementView view_element(const mma::Target& target, const MmaInstruction& instruction, const ShownOperands& operands,
                         const ElementChoice& choice) {
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
    view.exact += numerics::to_double(a.back(), instruction.a_type) * numerics::to_double(b.back(), instruction.b_type);
  }
  view.steps = mma::trace_element(a, b, view.c, instruction, view.rules);
  view.d = view.steps.back().trace.result;
  view.d_slot = slot_of(layout_of(instruction, mma::FragmentOperand::kAccumulator), choice.row, choice.col);
  return view;
}

ElementView show_instruction(const std::string& name, const std::string& arch,
                             const std::function<ShownOperands(const mma::MmaInstruction&)>& operands,
                             const ElementChoice& choice) {
  const mma::Target& target = config::target_of(arch);
  const mma::MmaInstruction instruction = mma::parse_instruction(name);
  mma::find_instruction(target, instruction);
  mma::require_steps(instruction, mma::instruction_rules(target, instruction));
  ElementView view = view_element(target, instruction, operands(instruction), choice);
  view.cycles = cycles_of(arch, instruction);
  return view;
}

}  // namespace sptc::report::show
