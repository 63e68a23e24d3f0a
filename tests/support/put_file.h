// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

namespace sptc::support {

/// Writes `bytes` to `file`, without waiting for a disk as io::write_file() does.
inline void put_file(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

}  // namespace sptc::support
