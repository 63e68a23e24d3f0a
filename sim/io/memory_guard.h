// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace sptc::io {

/// Throws InputError where `bytes` are more than this process can expect to get without swapping:
/// MemAvailable of /proc/meminfo, and less where the control group leaves less. `what` is the noun
/// of the message: "the operands of 'ffn1'". Call it before a size from a file decides an
/// allocation.
void require_memory(std::uint64_t bytes, std::string_view what);

}  // namespace sptc::io
