// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace sptc::isa {

/// Which operand a load or store moves.
enum class Operand : std::uint8_t { kA, kB, kMetadata, kPartialSum };
inline constexpr std::size_t kOperandCount = 4;

}  // namespace sptc::isa
