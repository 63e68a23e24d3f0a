// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace sptc::io {

/// Throws InputError with this message.
template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> message, Args&&... args) {
  throw base::InputError(fmt::format(message, std::forward<Args>(args)...));
}

/// Throws InputError unless a regular file is at `path`.
void require_regular_file(const std::filesystem::path& path);

/// Throws InputError unless `path` is a directory whose files can be listed and opened.
void require_directory(const std::filesystem::path& path);

/// The bytes of a regular file of at most `max_bytes`. Throws InputError where there is no such
/// file, it cannot be read, or it is larger.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes);

/// `text` in a form that is safe to print in an error message: one line, control characters
/// escaped, shortened in the middle where it is long.
std::string printable(std::string_view text);

/// The place of `name` among `names`. Throws InputError "`unknown` 'x' (nearest valid: ..)".
std::size_t place_among(std::span<const std::string_view> names, std::string_view name, std::string_view unknown);

/// Reads all of `text` as a number; false where it is none of that type.
template <typename Number>
bool parse_whole(std::string_view text, Number& value) {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last;
}

/// The file to which `path` leads where it is a symbolic link, also one that is not there yet, else
/// `path`: what is renamed to a link would take its place. Throws InputError for a loop of links.
std::filesystem::path behind_link(const std::filesystem::path& path);

/// Renames the file `written` to `target`, with the permissions of the file that it replaces.
/// Throws InputError, and removes `written`, where that is not possible.
void put_in_place(const std::filesystem::path& written, const std::filesystem::path& target);

/// Writes `bytes` beside `path` and renames, so that no reader sees a partly written file; a link
/// stays one. Throws InputError where the place cannot be written.
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace sptc::io
