// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix_fwd.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/pattern.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sptc::sparsity {

/// One 32-bit register in each lane of a warp.
using LaneWords = std::array<std::uint32_t, 32>;

/// Metadata of a group that keeps nothing but its first positions: valid for every pattern. Rows
/// and groups beyond the edge of a matrix are padded with it.
inline constexpr std::uint8_t kEmptyGroupNibble = 0b0100;

/// How one variant of mma.sp.m16n8k* reads its metadata operand `e`: a register of eight nibbles
/// per lane, of which the selector operand picks the lanes that count. A quad is the four lanes
/// 4q..4q+3.
///
///   type            logical k  lanes per quad  selectors
///   f16, bf16          16            1           0..3
///   f16, bf16          32            2           0, 1
///   tf32                8            1           0..3
///   tf32               16            2           0, 1
///   8 bits             32            2           0, 1
///   8 bits             64            4           0
///   4 bits             64, 128      2, 4         0, 1; 0
///
/// Source: PTX ISA, "Sparse matrix storage" of mma.sp, and the ELayout_* of CUTLASS 3.x.
struct MetadataRegisterFormat {
  Pattern pattern;
  int logical_k = 0;
  int rows_per_word = 2;  ///< 2: a half-word each for rows q and q+8 (16- and 32-bit types); 1: the
                          ///< word is one row's

  int groups() const { return logical_k / pattern.group; }  ///< per row of the instruction
  int lanes_per_quad() const { return groups() / 4; }
  int selectors() const { return 4 / lanes_per_quad(); }

  bool operator==(const MetadataRegisterFormat&) const = default;
};

/// The format for A of `type` and an instruction of depth `logical_k`. Throws InputError where
/// mma.sp has no such shape.
MetadataRegisterFormat metadata_register_format(numerics::DataType type, int logical_k);

/// Where a nibble is: bits [4*nibble+3 : 4*nibble] of the register of `lane`.
struct MetadataSlot {
  int lane = 0;
  int nibble = 0;

  bool operator==(const MetadataSlot&) const = default;
};

/// What a nibble describes: group `group` (0 .. groups-1) of row `row` (0 .. 15) of the
/// instruction's A.
struct MetadataPlace {
  int row = 0;
  int group = 0;

  bool operator==(const MetadataPlace&) const = default;
};

/// (row, group) -> (lane, nibble). Throws InputError where the instruction has no such selector.
MetadataSlot metadata_slot(const MetadataRegisterFormat& format, int selector, const MetadataPlace& place);

/// The metadata registers of one instruction whose A starts at row `first_row` and group
/// `first_group` of `nibbles` [m, groups]. Beyond the edges stands kEmptyGroupNibble; lanes that
/// the selector leaves out hold 0.
LaneWords gather_metadata(const MetadataRegisterFormat& format, int selector, const base::Matrix<std::uint8_t>& nibbles,
                          std::size_t first_row, std::size_t first_group);

/// The nibbles [16, groups] that mma.sp reads from `words`.
base::Matrix<std::uint8_t> read_metadata(const MetadataRegisterFormat& format, int selector, const LaneWords& words);

}  // namespace sptc::sparsity
