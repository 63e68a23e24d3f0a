// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <zlib.h>

namespace sptc::support {

/// `text` as a gzip file.
inline std::string gzipped(std::string_view text) {
  z_stream state{};
  if (deflateInit2(&state, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string packed(deflateBound(&state, text.size()), '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  deflate(&state, Z_FINISH);
  packed.resize(packed.size() - state.avail_out);
  deflateEnd(&state);
  return packed;
}

/// One file of a tar.
inline std::string tar_member(std::string_view name, std::string_view bytes) {
  std::string header(512, '\0');
  std::copy(name.begin(), name.end(), header.begin());
  std::snprintf(header.data() + 124, 12, "%011lo", static_cast<unsigned long>(bytes.size()));
  header[156] = '0';
  const std::string_view magic = "ustar";
  std::copy(magic.begin(), magic.end(), header.begin() + 257);
  const std::size_t padding = (512 - bytes.size() % 512) % 512;
  return header + std::string(bytes) + std::string(padding, '\0');
}

/// What ends a tar.
inline std::string tar_end() {
  return std::string(1024, '\0');
}

}  // namespace sptc::support
