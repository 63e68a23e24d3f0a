// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/files/write_ahead_log.h"

#include "models/base/error.h"
#include "sim/io/memory_guard.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sptc::sweep::files {
namespace {

// Form of both files: sqlite.org/fileformat.html.
constexpr std::size_t kDatabaseHead = 100, kLogHead = 32, kFrameHead = 24;
constexpr std::size_t kWriteVersion = 18, kReadVersion = 19;  // places in the head of a database
constexpr char kRollback = 1, kLogged = 2;                    // their values
constexpr std::uint32_t kMagic = 0x377f0682;                  // + 1: sums over big-endian words
constexpr std::uint32_t kVersion = 3007000;

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

/// SQLite's sum of words, each pair on top of those before.
class Sum {
 public:
  explicit Sum(bool big_endian_words) : big_endian_(big_endian_words) {}

  /// Of a multiple of 8 bytes.
  void add(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      first_ += word(bytes, at) + second_;
      second_ += word(bytes, at + 4) + first_;
    }
  }
  /// Whether both halves stand in `bytes` from `at` on.
  bool stands_in(std::string_view bytes, std::size_t at) const {
    return big_endian(bytes, at) == first_ && big_endian(bytes, at + 4) == second_;
  }

 private:
  std::uint32_t word(std::string_view bytes, std::size_t at) const {
    const std::uint32_t value = big_endian(bytes, at);
    return big_endian_ ? value : __builtin_bswap32(value);
  }
  bool big_endian_;
  std::uint32_t first_ = 0, second_ = 0;
};

/// From the begin of the file; fewer bytes where it ends.
std::string read(int descriptor, std::size_t most, const std::string& shown) {
  struct stat found {};
  const bool known = ::fstat(descriptor, &found) == 0;
  std::string bytes(
      std::min<std::size_t>(known ? static_cast<std::size_t>(found.st_size) : 0, most), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno != EINTR) {
      throw base::InputError(fmt::format("{}: cannot be read: {}", shown, std::strerror(errno)));
    }
    if (got == 0) {
      break;
    }
    done += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  bytes.resize(done);
  return bytes;
}

/// Opened anew each time: a log is removed and made while one looks.
std::string read_log(const std::filesystem::path& log, std::size_t most) {
  const int descriptor =
      ::open(log.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) {
      return {};
    }
    throw base::InputError(
        fmt::format("{}: cannot be read: {}", io::printable(log.string()), std::strerror(errno)));
  }
  try {
    std::string bytes = read(descriptor, most, io::printable(log.string()));
    ::close(descriptor);
    return bytes;
  } catch (...) {
    ::close(descriptor);
    throw;
  }
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

std::optional<std::string> with_log(int descriptor, const std::filesystem::path& file) {
  const std::string shown = io::printable(file.string());
  const std::filesystem::path log_file = file.string() + "-wal";
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    const std::string head = read(descriptor, kDatabaseHead, shown);
    const std::string begin = read_log(log_file, kLogHead);
    if (begin.size() < kLogHead || head.size() < kDatabaseHead || head[kReadVersion] != kLogged) {
      return std::nullopt;
    }
    struct stat found {};
    if (::fstat(descriptor, &found) == 0) {
      io::require_memory(static_cast<std::uint64_t>(found.st_size) + size_beside(file, "-wal"),
                         shown + " and its log");
    }
    constexpr auto kAll = static_cast<std::size_t>(-1);
    std::string database = read(descriptor, kAll, shown);
    const std::string log = read_log(log_file, kAll);
    // A log that began anew holds no longer what went from it into the file meanwhile.
    if (log.starts_with(begin)) {
      apply_log(database, log, shown);
      return database;
    }
  }
  throw base::InputError(shown + ": changes faster than it can be read; repeat the command");
}

void apply_log(std::string& database, std::string_view log, const std::string& shown) {
  constexpr std::uint32_t kLeast = 512, kMost = 65536;
  if (log.size() < kLogHead || database.size() < kDatabaseHead) {
    throw base::InputError(shown + ": damaged: it ends, or the log beside it, in its head");
  }
  const std::uint32_t magic = big_endian(log, 0), page = big_endian(log, 8);
  const std::uint32_t of_database =
      static_cast<unsigned char>(database[16]) << 8 | static_cast<unsigned char>(database[17]);
  Sum sum((magic & 1) != 0);
  sum.add(log.substr(0, 24));
  const bool begun = (magic & ~1U) == kMagic && big_endian(log, 4) == kVersion &&
                     sum.stands_in(log, 24) && page >= kLeast && page <= kMost;
  std::vector<std::pair<std::uint32_t, std::string_view>> pages;  // of the transaction at hand
  const std::size_t frames = (log.size() - kLogHead) / (kFrameHead + (begun ? page : kMost));
  if (begun && page != (of_database == 1 ? kMost : of_database)) {
    throw base::InputError(shown + ": damaged: the log beside it is of another database");
  }
  const std::size_t most = database.size() / std::max(page, kLeast) + 4 * frames + 1024;
  for (std::size_t frame = 0; begun && frame < frames; ++frame) {
    const std::string_view bytes = log.substr(kLogHead + frame * (kFrameHead + page));
    const std::uint32_t number = big_endian(bytes, 0), size = big_endian(bytes, 4);
    sum.add(bytes.substr(0, 8));
    sum.add(bytes.substr(kFrameHead, page));
    const bool good = number > 0 && bytes.substr(8, 8) == log.substr(16, 8) &&  // salts
                      sum.stands_in(bytes, 16);
    if (!good) {
      break;  // of an older log, or of a program that was ended here
    }
    if (number > most || size > most) {
      throw base::InputError(shown + ": damaged: the log beside it names pages that are not there");
    }
    pages.emplace_back(number, bytes.substr(kFrameHead, page));
    if (size == 0) {
      continue;
    }
    database.resize(std::size_t{size} * page);
    for (const auto& [place, content] : pages) {
      if (place <= size) {
        content.copy(database.data() + std::size_t{place - 1} * page, page);
      }
    }
    pages.clear();
  }
  database[kWriteVersion] = database[kReadVersion] = kRollback;
}

}  // namespace sptc::sweep::files
