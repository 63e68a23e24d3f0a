// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::support {

using NamedBytes = std::pair<std::string, std::string>;
using Setting = int (*)(archive*);

/// An archive of `members` as libarchive writes it.
inline std::string archived(const std::vector<NamedBytes>& members, Setting format, Setting filter) {
  std::string bytes;
  const auto append = [](archive*, void* to, const void* from, std::size_t size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(from), size);
    return static_cast<la_ssize_t>(size);
  };
  const auto require = [](bool holds) {
    if (!holds) {
      throw std::runtime_error("libarchive did not write an archive");
    }
  };
  const std::unique_ptr<archive, Setting> to(archive_write_new(), archive_write_free);
  require(format(to.get()) == ARCHIVE_OK && filter(to.get()) == ARCHIVE_OK &&
          archive_write_set_bytes_in_last_block(to.get(), 1) == ARCHIVE_OK &&
          archive_write_open(to.get(), &bytes, nullptr, append, nullptr) == ARCHIVE_OK);
  for (const auto& [name, content] : members) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    require(archive_write_header(to.get(), entry.get()) == ARCHIVE_OK &&
            archive_write_data(to.get(), content.data(), content.size()) == static_cast<la_ssize_t>(content.size()));
  }
  require(archive_write_close(to.get()) == ARCHIVE_OK);
  return bytes;
}

/// `text` as a gzip, xz or zstd file.
inline std::string gzipped(const std::string& text) {
  return archived({{"text", text}}, archive_write_set_format_raw, archive_write_add_filter_gzip);
}
inline std::string xz_packed(const std::string& text) {
  return archived({{"text", text}}, archive_write_set_format_raw, archive_write_add_filter_xz);
}
inline std::string zstd_packed(const std::string& text) {
  return archived({{"text", text}}, archive_write_set_format_raw, archive_write_add_filter_zstd);
}

inline std::string tar_of(const std::vector<NamedBytes>& members,
                          Setting format = archive_write_set_format_pax_restricted) {
  return archived(members, format, archive_write_add_filter_none);
}

}  // namespace sptc::support
