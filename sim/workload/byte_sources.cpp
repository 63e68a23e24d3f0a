// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/byte_sources.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace sptc::workload {
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
  constexpr std::size_t kNameBytes = 100, kSizeAt = 124, kSizeBytes = 12, kTypeAt = 156;
  while (true) {
    skip(left_);
    skip(padding_);
    const std::string header = take(*source_, kTarBlock);
    if (header.size() < kTarBlock || header[0] == '\0') {
      left_ = padding_ = 0;
      return std::nullopt;
    }
    std::uint64_t bytes = 0;
    for (const char c : header.substr(kSizeAt, kSizeBytes)) {
      if (c >= '0' && c <= '7') {
        bytes = 8 * bytes + static_cast<std::uint64_t>(c - '0');
      } else if (c != ' ' && c != '\0') {
        throw base::InputError(name_ + ": the size of a member of the tar is no octal number");
      }
    }
    left_ = bytes;
    padding_ = (kTarBlock - bytes % kTarBlock) % kTarBlock;
    if (header[kTypeAt] == '0' || header[kTypeAt] == '\0') {
      return TarMember{header.substr(0, std::min(kNameBytes, header.find('\0'))), bytes};
    }
  }
}

std::unique_ptr<ByteSource> TarReader::member() && {
  return std::make_unique<PartSource>(std::move(source_), left_, name_);
}

bool is_tar(std::string_view head) {
  constexpr std::size_t kMagicAt = 257;
  return head.size() >= kTarBlock && head.substr(kMagicAt, 5) == "ustar";
}

}  // namespace sptc::workload
