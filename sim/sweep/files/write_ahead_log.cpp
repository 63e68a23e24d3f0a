// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/files/write_ahead_log.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <system_error>

namespace sptc::sweep::files {
namespace {

// Form of both files: sqlite.org/fileformat.html.
constexpr std::size_t kLogHead = 32;
constexpr std::size_t kReadVersion = 19;  // place in the head of a database
constexpr char kLogged = 2;               // its value where there is a log

/// The first bytes; fewer where the file is shorter, or not there.
std::string head_of(const std::filesystem::path& file) {
  std::string bytes(kLogHead, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), kLogHead);
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

std::filesystem::path log_of(const std::filesystem::path& file) {
  return file.string() + "-wal";
}

/// False where there is nothing in `from`, or no such file any more.
bool copy_bytes(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::ifstream in(from, std::ios::binary);
  if (in.peek() == std::ifstream::traits_type::eof()) {
    return false;
  }
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  if (!(out << in.rdbuf()) || !out.flush()) {
    throw base::InputError(fmt::format("{}: no room for a copy in {}", io::printable(from.string()),
                                       io::printable(to.parent_path().string())));
  }
  return true;
}

std::filesystem::path scratch_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return (error ? std::filesystem::path("/tmp") : folder) / "sptcsim-results";
}

}  // namespace

std::uintmax_t size_beside(const std::filesystem::path& file, std::string_view end) {
  const std::string beside = file.string() + std::string(end);
  struct stat found {};
  if (::lstat(beside.c_str(), &found) != 0) {
    return 0;
  }
  if (!S_ISREG(found.st_mode)) {
    throw base::InputError(io::printable(beside) + ": not a regular file");
  }
  if (found.st_nlink > 1) {
    throw base::InputError(io::printable(beside) + ": is a file that has another name, too");
  }
  return static_cast<std::uintmax_t>(found.st_size);
}

bool has_log(const std::filesystem::path& file) {
  const std::string head = head_of(file);
  return head.size() > kReadVersion && head[kReadVersion] == kLogged &&
         size_beside(file, "-wal") >= kLogHead;
}

CopyWithLog::CopyWithLog(const std::filesystem::path& file)
    : folder_(scratch_folder(), [](const char* name) { return ::mkdir(name, 0700); }),
      database_(folder_.path() / "results"),
      log_(log_of(database_.path())),
      index_(database_.path().string() + "-shm") {
  if (folder_.made() < 0) {
    throw base::InputError(fmt::format(
        "{}: no room for a copy in {}: {}", io::printable(file.string()),
        io::printable(folder_.path().parent_path().string()), std::strerror(folder_.error())));
  }
  const std::string head = head_of(log_of(file));
  // A log that began anew holds no longer what went from it into the file meanwhile.
  is_whole_ = copy_bytes(file, database_.path()) && copy_bytes(log_of(file), log_.path()) &&
              head_of(log_.path()) == head && head_of(log_of(file)) == head;
}

}  // namespace sptc::sweep::files
