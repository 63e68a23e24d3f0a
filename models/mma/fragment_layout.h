// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace sptc::mma {

struct MmaInstruction;

inline constexpr int kWarpLanes = 32;
/// One 32-bit register in each lane of a warp.
using LaneRegister = std::array<std::uint32_t, kWarpLanes>;

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
///   C  (T32, V4) -> (M16, N8): row = q + 8 (v >> 1)    col = 2t + (v & 1)       v = P j + i
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

  FragmentSlot slot(const FragmentCoordinate& where) const;

  bool operator==(const FragmentLayout&) const = default;
};

/// The layout of one operand of `instruction`. Throws InputError unless the shape is m16n8 and the
/// operand fills whole registers.
FragmentLayout fragment_layout(const MmaInstruction& instruction, FragmentOperand operand);

}  // namespace sptc::mma
