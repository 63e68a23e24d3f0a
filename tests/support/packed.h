// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <lzma.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <zlib.h>
#include <zstd.h>

namespace sptc::support {

/// `text` as a gzip file.
inline std::string gzipped(std::string_view text) {
  z_stream state{};
  if (deflateInit2(&state, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
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

/// `text` as an xz file.
inline std::string xz_packed(std::string_view text) {
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  if (lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr,
                              reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                              reinterpret_cast<std::uint8_t*>(packed.data()), &size,
                              packed.size()) != LZMA_OK) {
    throw std::runtime_error("lzma_easy_buffer_encode");
  }
  packed.resize(size);
  return packed;
}

/// `text` as a zstd file with a checksum, as the program of that name writes it.
inline std::string zstd_packed(std::string_view text) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
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
