// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace sptc::io {

/// Memory that this process can expect to get without swapping [bytes]: MemAvailable of
/// /proc/meminfo, or the physical memory where that cannot be read; less where the control group or
/// a limit of the process leaves less.
std::uint64_t available_memory();

/// Throws InputError where `bytes` are more than available_memory(). `what` is the noun of the
/// message: "the operands of 'ffn1'". Call it before a size from a file decides an allocation.
void require_memory(std::uint64_t bytes, std::string_view what);

/// From here on this process, and each that it starts, may take `bytes` of memory at the most, what
/// it has taken already included. Throws InputError where it has taken more.
void limit_memory(std::uint64_t bytes);

}  // namespace sptc::io
