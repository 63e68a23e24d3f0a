// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/numerics/codec.h"

#include <span>

namespace sptc::mma {

/// A B + C in s32, exact: it wraps mod 2^32, or with satfinite is clamped once, after the sum of
/// all products and C (the tcgen05 model of sf-tensor for B200; assumed elsewhere). For b1 each
/// word holds packed bits, and the sum counts the bits of a XOR b or a AND b. Source: PTX ISA, mma.
numerics::Word integer_dot(std::span<const numerics::Word> a, std::span<const numerics::Word> b,
                           numerics::Word c, const MmaInstruction& instruction);

}  // namespace sptc::mma
