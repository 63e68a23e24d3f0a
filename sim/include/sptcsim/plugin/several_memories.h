// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace sptcsim {

/// FILE or FILE,N: what N memories that share the addresses are configured by.
struct SeveralMemories {
  std::string file;
  int count = 1;
};

/// Reads a --memory-config of that form. `what` the file holds: "a configuration of DRAMSys". Throws
/// std::invalid_argument where there is no such file, or N is not 1 to 64.
inline SeveralMemories several_memories(const std::string& config, const std::string& what) {
  const std::size_t comma = config.rfind(',');
  const std::string file = config.substr(0, comma);
  const int count = comma == std::string::npos ? 1 : std::atoi(config.c_str() + comma + 1);
  if (!std::filesystem::is_regular_file(file) || count < 1 || count > 64) {
    throw std::invalid_argument("its --memory-config must be FILE or FILE,N with " + what + " and 1 to 64, not '" +
                                config + "'");
  }
  return {file, count};
}

}  // namespace sptcsim
