// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace sptc::sim {

/// The bytes of a regular file of at most `max_bytes`. Throws InputError where there is no such
/// file, it cannot be read, or it is larger.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes);

/// `text` in a form that is safe to print in an error message: one line, control characters
/// escaped, shortened in the middle where it is long.
std::string printable(std::string_view text);

/// Writes `bytes` beside `path` and renames, so that no reader sees a partly written file. Throws
/// InputError where the place cannot be written.
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace sptc::sim
