// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace sptc::io {

/// Memory that this process can expect to get without swapping [bytes]: MemAvailable of
/// /proc/meminfo, the limit of the control group where that is lower, or the physical memory where
/// neither can be read.
std::uint64_t available_memory();

/// Throws InputError where `bytes` are more than available_memory(). `what` is the noun of the
/// message: "the operands of 'ffn1'". Call it before a size from a file decides an allocation.
void require_memory(std::uint64_t bytes, std::string_view what);

}  // namespace sptc::io
