// SPDX-License-Identifier: Apache-2.0
//
// What the program reads it does not write over. Readers and writers announce their files here, and
// whoever comes second to a file throws InputError. A file is known by device and inode, so that no
// other name of it, and no link, leads round this rule.
#pragma once

#include <filesystem>
#include <string_view>

namespace sptc::io {

/// Whether both paths mean one file, which need not be there yet.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// `path` is read, now or later. Throws where it is to be written.
void announce_input(const std::filesystem::path& path);

/// `option` has `path` written. Throws where it is read, or another option has it written.
void announce_output(std::string_view option, const std::filesystem::path& path);

/// Throws where `path`, which is about to be replaced, is read.
void require_no_input(const std::filesystem::path& path);

}  // namespace sptc::io
