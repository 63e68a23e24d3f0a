// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"

#include <cstddef>
#include <span>
#include <vector>

namespace sptc::mma {

// An fp8 mma.sync of depth 2L (L = rules.products_per_step) on Hopper and B200, which have no fp8 data
// path for it and run it as two f16 steps: operands convert exactly to f16; the first step takes the
// products with k mod 4 in {0,1} and no C, the second the others; C is added by an IEEE addition,
// nearest even. For a sparse instruction k counts elements of A as stored. Source: the captured words
// of H100 and H200, the published ones of B200 (MATLAB-tensor-core).

/// The products of one of the two steps: operands converted, and their places in the fp8
/// instruction.
struct LoweredHalf {
  std::vector<std::size_t> positions;
  std::vector<numerics::Word> a, b;
};
LoweredHalf lowered_half(std::span<const numerics::Word> a, std::span<const numerics::Word> b, std::size_t half,
                         const MmaInstruction& instruction);
/// The instruction whose steps they are.
MmaInstruction lowered_instruction(const MmaInstruction& instruction);
/// x + y of the accumulator's type, to nearest even.
numerics::Word ieee_add(numerics::Word x, numerics::Word y, numerics::DataType type);

/// One element of D of a whole GEMM of such instructions, in increasing k.
numerics::Word lowered_fp8_dot(std::span<const numerics::Word> a_row, std::span<const numerics::Word> b_column,
                               numerics::Word c, const MmaInstruction& instruction, const StepRules& rules);

}  // namespace sptc::mma
