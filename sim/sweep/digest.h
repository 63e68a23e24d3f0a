// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sptc::sweep {

/// SHA-256 as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

/// Of a file's content, whatever its size. Throws InputError where it cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

/// Of the running program: tells two builds of one version apart.
const std::string& program_digest();

}  // namespace sptc::sweep
