// SPDX-License-Identifier: Apache-2.0
#include "sim/io/text_file.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/file_use.h"
#include "sim/io/output_file.h"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace sptc::io {
namespace {

/// What is at `path`. Throws InputError "no such `what`" where nothing is, or why that is not to be seen.
std::filesystem::file_status status_of(const std::filesystem::path& path, const char* what) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    refuse("{}: no such {}", printable(path.string()), what);
  }
  if (error) {
    refuse("{}: cannot be opened for reading: {}", printable(path.string()), error.message());
  }
  return status;
}

}  // namespace

void require_regular_file(const std::filesystem::path& path) {
  const auto status = status_of(path, "file");
  if (!std::filesystem::is_regular_file(status)) {
    refuse("{}: {}not a regular file", printable(path.string()),
           std::filesystem::is_directory(status) ? "is a directory, " : "");
  }
}

void require_directory(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(status_of(path, "directory"))) {
    refuse("{}: is a file, not a directory", printable(path.string()));
  }
  if (::access(path.c_str(), R_OK | X_OK) != 0) {
    refuse("{}: this directory cannot be read", printable(path.string()));
  }
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const std::string shown = printable(path.string());
  require_regular_file(path);
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) {
    throw base::InputError(shown + ": cannot be opened for reading");
  }
  announce_input(path);
  const auto size = static_cast<std::uint64_t>(stream.tellg());
  if (size > max_bytes) {
    refuse("{}: {} bytes, but at most {} are allowed for a file of this kind", shown, size, max_bytes);
  }
  std::string bytes(size, '\0');
  stream.seekg(0);
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  if (static_cast<std::uint64_t>(stream.gcount()) != size) {
    throw base::InputError(shown + ": cannot be read to its end");
  }
  return bytes;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMaxBytes = 120;
  return base::escaped(base::shortened(text, kMaxBytes));
}

std::size_t place_among(std::span<const std::string_view> names, std::string_view name, std::string_view unknown) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    refuse("{} {}", unknown, base::unknown_name(printable(name), names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::filesystem::path behind_link(const std::filesystem::path& path) {
  constexpr int kMaxLinks = 40;  // as many as Linux follows
  std::error_code error;
  std::filesystem::path target = path;
  for (int links = 0; std::filesystem::is_symlink(target, error); ++links) {
    if (links == kMaxLinks) {
      throw base::InputError(printable(path.string()) + ": this link leads back to itself");
    }
    target = target.parent_path() / std::filesystem::read_symlink(target);
  }
  return target;
}

void put_in_place(const std::filesystem::path& written, const std::filesystem::path& target) {
  using std::filesystem::perms;
  std::error_code error;
  const auto status = std::filesystem::status(target, error);
  if (std::filesystem::exists(status)) {
    std::filesystem::permissions(written, status.permissions() & perms::all, error);
  }
  std::filesystem::rename(written, target, error);
  if (error) {
    const std::string reason = error.message();
    std::filesystem::remove(written, error);
    throw base::InputError(printable(target.string()) + ": cannot be written: " + reason);
  }
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace sptc::io
