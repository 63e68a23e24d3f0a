// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/byte_sources.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace sptc::workload::input {
namespace {

class FileSource : public ByteSource {
 public:
  FileSource(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::size_t read(char* to, std::size_t size) override {
    ssize_t got = -1;
    do {
      got = ::read(descriptor_, to, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      throw base::InputError(fmt::format("{}: cannot be read: {}", name_, std::strerror(errno)));
    }
    return static_cast<std::size_t>(got);
  }

 private:
  int descriptor_;
  std::string name_;
};

class HeadSource : public ByteSource {
 public:
  HeadSource(std::string head, std::unique_ptr<ByteSource> source)
      : head_(std::move(head)), source_(std::move(source)) {}

  std::size_t read(char* to, std::size_t size) override {
    if (at_ == head_.size()) {
      return source_ ? source_->read(to, size) : 0;
    }
    const std::size_t count = std::min(size, head_.size() - at_);
    std::memcpy(to, head_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string head_;
  std::size_t at_ = 0;
  std::unique_ptr<ByteSource> source_;
};

/// The first `bytes` of `source`, which has at least as many.
class PartSource : public ByteSource {
 public:
  PartSource(std::unique_ptr<ByteSource> source, std::uint64_t bytes, std::string name)
      : source_(std::move(source)), left_(bytes), name_(std::move(name)) {}

  std::size_t read(char* to, std::size_t size) override {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
    if (wanted == 0) {
      return 0;
    }
    const std::size_t got = source_->read(to, wanted);
    if (got == 0) {
      throw base::InputError(name_ + ": the tar ends inside a member: the file is cut off");
    }
    left_ -= got;
    return got;
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::uint64_t left_;
  std::string name_;
};

constexpr std::size_t kTarBlock = 512;

/// What `header` has in a field of text.
std::string text_in(const std::string& header, std::size_t from, std::size_t bytes) {
  const std::string field = header.substr(from, bytes);
  return field.substr(0, field.find('\0'));
}

/// The name of a member, with the prefix that POSIX puts elsewhere.
std::string name_in(const std::string& header) {
  constexpr std::size_t kNameBytes = 100, kMagicAt = 257, kPrefixAt = 345, kPrefixBytes = 155;
  constexpr std::string_view kPosix("ustar\0", 6);
  const std::string name = text_in(header, 0, kNameBytes);
  const std::string prefix = std::string_view(header).substr(kMagicAt, kPosix.size()) == kPosix
                                 ? text_in(header, kPrefixAt, kPrefixBytes)
                                 : "";
  return prefix.empty() ? name : prefix + "/" + name;
}

std::uint64_t size_in(const std::string& header, const std::string& file) {
  constexpr std::size_t kSizeAt = 124, kSizeBytes = 12;
  constexpr char kBinary = '\x80';  // GNU: beyond 8 GiB
  std::uint64_t bytes = 0;
  const std::string field = header.substr(kSizeAt, kSizeBytes);
  if (field[0] == kBinary) {
    for (const char c : field.substr(4)) {
      bytes = bytes << 8U | static_cast<unsigned char>(c);
    }
    return bytes;
  }
  for (const char c : field) {
    if (c >= '0' && c <= '7') {
      bytes = 8 * bytes + static_cast<std::uint64_t>(c - '0');
    } else if (c != ' ' && c != '\0') {
      throw base::InputError(file + ": the size of a member of the tar is no octal number");
    }
  }
  return bytes;
}

/// Of the next member.
struct PaxSize {
  bool given = false;
  std::uint64_t bytes = 0;
};

/// Records "27 path=directory/file\n" of pax: those of the name and the size of the next member.
void read_pax(std::string_view records, std::string& name, PaxSize& size) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, error] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (error != std::errc() || length <= digits + 1 || length > records.size()) {
      return;
    }
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    records.remove_prefix(length);
    if (record.starts_with("path=")) {
      name = record.substr(5);
    } else if (record.starts_with("size=")) {
      size.given = true;
      std::from_chars(record.data() + 5, record.data() + record.size(), size.bytes);
    }
  }
}

}  // namespace

std::unique_ptr<ByteSource> file_source(int descriptor, std::string name) {
  return std::make_unique<FileSource>(descriptor, std::move(name));
}

std::unique_ptr<ByteSource> with_head(std::string head, std::unique_ptr<ByteSource> source) {
  return std::make_unique<HeadSource>(std::move(head), std::move(source));
}

std::string take(ByteSource& source, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t filled = 0;
  while (filled < size) {
    const std::size_t got = source.read(bytes.data() + filled, size - filled);
    if (got == 0) {
      break;
    }
    filled += got;
  }
  bytes.resize(filled);
  return bytes;
}

TarReader::TarReader(std::unique_ptr<ByteSource> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)) {}

void TarReader::skip(std::uint64_t bytes) {
  std::array<char, 65536> dropped{};
  while (bytes > 0) {
    const std::size_t got = source_->read(
        dropped.data(), static_cast<std::size_t>(std::min<std::uint64_t>(bytes, dropped.size())));
    if (got == 0) {
      throw base::InputError(name_ + ": the tar ends inside a member: the file is cut off");
    }
    bytes -= got;
  }
}

std::optional<TarMember> TarReader::next() {
  constexpr std::size_t kTypeAt = 156;
  constexpr char kGnuName = 'L', kPaxRecords = 'x';
  std::string long_name;
  PaxSize long_size;
  while (true) {
    skip(left_);
    skip(padding_);
    const std::string header = take(*source_, kTarBlock);
    if (header.size() < kTarBlock || header[0] == '\0') {
      left_ = padding_ = 0;
      return std::nullopt;
    }
    left_ = long_size.given ? long_size.bytes : size_in(header, name_);
    padding_ = (kTarBlock - left_ % kTarBlock) % kTarBlock;
    const char type = header[kTypeAt];
    if (type == '0' || type == '\0') {
      return TarMember{long_name.empty() ? name_in(header) : long_name, left_};
    }
    if (type == kGnuName) {
      long_name = extension();
      long_name.resize(std::min(long_name.size(), long_name.find('\0')));
    } else if (type == kPaxRecords) {
      read_pax(extension(), long_name, long_size);
    } else {
      long_name.clear();
      long_size = {};
    }
  }
}

std::string TarReader::extension() {
  constexpr std::uint64_t kMost = 1 << 20;
  if (left_ > kMost) {
    throw base::InputError(fmt::format(
        "{}: the tar has a header of {} bytes, more than the {} allowed", name_, left_, kMost));
  }
  std::string bytes = take(*source_, static_cast<std::size_t>(left_));
  left_ -= bytes.size();
  return bytes;
}

std::unique_ptr<ByteSource> TarReader::member() && {
  return std::make_unique<PartSource>(std::move(source_), left_, name_);
}

bool is_tar(std::string_view head) {
  constexpr std::size_t kMagicAt = 257;
  return head.size() >= kTarBlock && head.substr(kMagicAt, 5) == "ustar";
}

}  // namespace sptc::workload::input
