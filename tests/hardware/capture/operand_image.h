// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/fragment_layout.h"
#include "models/mma/instruction.h"
#include "sim/check/vectors/mma_batch.h"
#include "tests/hardware/capture/device.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sptc::hardware {

/// Which element of an operand each lane holds in each register: models/mma/fragment_layout for
/// m16n8, and what that leaves out. m8n8: A is B with rows and columns exchanged. f64: one element
/// to a register of 64 bits, placed like 32-bit ones. m8n8k4 of f16 (Volta): four independent
/// products by the quad pairs of a warp; all four get the same operands. wgmma: accumulators of
/// four warps, each like m16n8.
struct RegisterFragment {
  enum class Form { kMma, kMmaTransposed, kVolta, kWgmma };

  Form form = Form::kMma;
  mma::FragmentLayout layout;  ///< f64: with 32 bits to an element
  int element_bits = 0;        ///< of the operand
  int registers = 0;

  int lanes() const { return form == Form::kWgmma ? 128 : 32; }
  int elements_per_register() const { return element_bits == 64 ? 1 : 32 / element_bits; }
  int words_per_register() const { return element_bits == 64 ? 2 : 1; }
  /// 32-bit words of one case: [register][lane], low word of a 64-bit register first.
  int words() const { return registers * lanes() * words_per_register(); }
  mma::FragmentCoordinate coordinate(const mma::FragmentSlot& slot) const;

 private:
  mma::FragmentCoordinate volta(const mma::FragmentSlot& slot) const;
};

/// The operands of one instruction as registers (wgmma: A and B as tiles in shared memory), and
/// back.
class OperandImage {
 public:
  /// Throws InputError where the kit has no layout for `instruction`.
  explicit OperandImage(const mma::MmaInstruction& instruction);

  const mma::MmaInstruction& instruction() const { return instruction_; }
  int lanes() const { return d_.lanes(); }
  int selectors() const;  ///< dense: 1
  int groups() const;     ///< of metadata per row; sparse only
  int words_of_a() const;
  int words_of_b() const;
  const RegisterFragment& a() const { return a_; }
  const RegisterFragment& b() const { return b_; }
  const RegisterFragment& c() const { return c_; }
  const RegisterFragment& d() const { return d_; }

  /// Appends case `index` of `operands`, whole matrices of the instruction, to `launch`.
  void append(const check::vectors::MmaOperands& operands, std::size_t index, MmaLaunch& launch) const;
  /// Metadata registers [lane] of `nibbles` [m, groups]; lanes that the selector leaves out take
  /// theirs from `others`.
  std::vector<std::uint32_t> metadata(const base::Matrix<std::uint8_t>& nibbles, int selector,
                                      const std::vector<std::uint32_t>& others) const;

  /// The operands of case `index` again.
  check::vectors::MmaOperands operands(const MmaLaunch& launch, std::size_t index) const;
  /// Nibbles [m, groups] as the instruction reads them from the registers of case `index`.
  base::Matrix<std::uint8_t> nibbles(const MmaLaunch& launch, std::size_t index) const;

  /// D [m, n] of case `index` from registers, row by row. With m8n8k4 of f16 every quad pair must
  /// have returned the same; else throws InputError.
  std::vector<std::uint64_t> result(const std::vector<std::uint32_t>& d, std::size_t index) const;
  /// The registers that hold `d` [m, n].
  std::vector<std::uint32_t> registers_of_result(const std::vector<std::uint64_t>& d) const;

 private:
  mma::MmaInstruction instruction_;
  RegisterFragment a_, b_, c_, d_;
};

/// The logical k that each stored element of a row of A meets: [m, compressed k], slot s of a group
/// where index s says, whatever the nibble.
std::vector<std::uint64_t> indices_of(const base::Matrix<std::uint8_t>& nibbles, numerics::DataType type);
/// The nibbles [m, groups] for `indices` [m, compressed k].
base::Matrix<std::uint8_t> nibbles_of(const std::vector<std::uint64_t>& indices, std::size_t rows,
                                      numerics::DataType type);

}  // namespace sptc::hardware
