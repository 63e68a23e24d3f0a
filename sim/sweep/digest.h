// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sptc::sweep {

/// XXH3 of 128 bits as 32 hexadecimal digits: tells contents apart that nobody made to look alike.
std::string fingerprint(std::string_view bytes);

/// Of a file's content, whatever its size. Throws InputError where it cannot be read.
std::string fingerprint_of_file(const std::filesystem::path& file);

/// Of the running program: tells two builds of one version apart.
const std::string& program_digest();

}  // namespace sptc::sweep
