// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/instruction.h"
#include "models/numerics/codec.h"

#include <cstddef>
#include <cstdint>

namespace sptc::mma {

inline constexpr int kWarpLanes = 32;

/// The matrix operands of mma.sync; C and D have the same layout.
enum class FragmentOperand { kA, kB, kAccumulator };

/// Row and column of an element in the operand's matrix.
struct FragmentCoordinate {
  int row = 0;
  int col = 0;

  bool operator==(const FragmentCoordinate&) const = default;
};

/// Place of an element in the warp: bits [w*(element+1)-1 : w*element] of register `reg` of lane
/// `lane`, w bits each.
struct FragmentSlot {
  int lane = 0;
  int reg = 0;
  int element = 0;

  bool operator==(const FragmentSlot&) const = default;
};

/// Which element of a matrix each lane of a warp holds in each register, for every m16n8k* shape of
/// mma.sync and mma.sp (PTX ISA, "Matrix fragments for mma"). Written as CUTLASS layouts, (T32, Vn)
/// -> (row, col), with lane T = 4q + t, P = 32 / w elements to a register, register j and element i
/// in it:
///
///   A  (T32, V)  -> (M16, K):  row = q + 8 (j & 1)     col = 4P (j >> 1) + P t + i
///   B  (T32, V)  -> (K, N8):   row = 4P j + P t + i    col = q
///   C  (T32, V4) -> (M16, N8): row = q + 8 (v >> 1)    col = 2t + (v & 1)          with v = P j +
///   i
///
/// so an f32 or s32 accumulator is four registers, and an f16 accumulator two, low half first. A of
/// mma.sp is the same formula over the compressed matrix [16, k/2]; its B has all k rows.
struct FragmentLayout {
  FragmentOperand operand = FragmentOperand::kA;
  int rows = 0;
  int cols = 0;
  int element_bits = 0;

  int elements_per_register() const { return 32 / element_bits; }
  int registers() const { return rows * cols / (kWarpLanes * elements_per_register()); }

  /// (lane, register, element) -> (row, col).
  FragmentCoordinate coordinate(const FragmentSlot& slot) const {
    const int quad = slot.lane >> 2;
    const int lane_of_quad = slot.lane & 3;
    const int per_register = elements_per_register();
    const int along_k = lane_of_quad * per_register + slot.element;
    switch (operand) {
      case FragmentOperand::kA:
        return {quad + 8 * (slot.reg & 1), 4 * per_register * (slot.reg >> 1) + along_k};
      case FragmentOperand::kB:
        return {4 * per_register * slot.reg + along_k, quad};
      case FragmentOperand::kAccumulator:
        break;
    }
    const int value = slot.reg * per_register + slot.element;
    return {quad + 8 * (value >> 1), 2 * lane_of_quad + (value & 1)};
  }

  /// (row, col) -> (lane, register, element): the inverse.
  FragmentSlot slot(const FragmentCoordinate& where) const;

  bool operator==(const FragmentLayout&) const = default;
};

/// The layout of one operand of `instruction`. Throws InputError unless the shape is m16n8 and the
/// operand fills whole registers.
FragmentLayout fragment_layout(const MmaInstruction& instruction, FragmentOperand operand);

/// The registers [register][32 lanes] of a fragment whose element (row, col) is `element(row,
/// col)`, a storage word.
template <typename Element>
base::Matrix<std::uint32_t> pack_fragment_from(const FragmentLayout& layout, Element&& element) {
  base::Matrix<std::uint32_t> registers(static_cast<std::size_t>(layout.registers()), kWarpLanes);
  const std::uint32_t mask = 0xFFFFFFFFU >> (32 - layout.element_bits);
  for (int reg = 0; reg < layout.registers(); ++reg) {
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      std::uint32_t word = 0;
      for (int i = 0; i < layout.elements_per_register(); ++i) {
        const FragmentCoordinate where = layout.coordinate({lane, reg, i});
        word |= (static_cast<std::uint32_t>(element(where.row, where.col)) & mask)
                << (i * layout.element_bits);
      }
      registers(static_cast<std::size_t>(reg), static_cast<std::size_t>(lane)) = word;
    }
  }
  return registers;
}

/// The registers of the fragment whose top left element is (first_row, first_col) of `matrix`,
/// storage words; zeros beyond the edges of the matrix.
base::Matrix<std::uint32_t> pack_fragment(const FragmentLayout& layout,
                                          const base::Matrix<numerics::Word>& matrix,
                                          std::size_t first_row = 0, std::size_t first_col = 0);

/// The matrix [rows, cols] of storage words again. Throws InputError where `registers` is not
/// [registers][32].
base::Matrix<numerics::Word> unpack_fragment(const FragmentLayout& layout,
                                             const base::Matrix<std::uint32_t>& registers);

}  // namespace sptc::mma
