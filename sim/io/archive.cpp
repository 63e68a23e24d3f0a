// SPDX-License-Identifier: Apache-2.0
#include "sim/io/archive.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <clocale>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>
#include <vector>
#include <zlib.h>

namespace sptc::io {
namespace {

constexpr std::size_t kBlock = 256 << 10;

/// libarchive gives names in the characters of the locale, and "C" has those of ASCII only.
class Utf8Names {
 public:
  Utf8Names() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    before_ = ::uselocale(utf8);
  }
  ~Utf8Names() { ::uselocale(before_); }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t before_;
};

}  // namespace

/// The bytes of a file. libarchive compares no checksum of gzip, so zlib unpacks it here.
class Archive::Source {
 public:
  Source(OpenFile file, std::string name)
      : file_(std::move(file)), name_(std::move(name)), read_(kBlock), unpacked_(kBlock) {
    fill();
    constexpr std::string_view kMagic = "\x1F\x8B";
    is_gzip_ = std::string_view(read_.data(), gzip_.avail_in).starts_with(kMagic);
    constexpr int kGzipFormat = 16 + MAX_WBITS;
    if (is_gzip_ && ::inflateInit2(&gzip_, kGzipFormat) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Source() { ::inflateEnd(&gzip_); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// The next bytes, until the next call; none at the end.
  std::string_view next() {
    if (is_gzip_) {
      return inflate();
    }
    if (gzip_.avail_in == 0) {
      fill();
    }
    return {read_.data(), std::exchange(gzip_.avail_in, 0)};
  }
  /// Bytes of the file that were taken.
  std::uint64_t taken() const { return taken_; }

 private:
  void fill() {
    std::size_t got = 0;
    do {
      std::clearerr(file_.get());
      got = std::fread(read_.data(), 1, read_.size(), file_.get());
    } while (got == 0 && std::ferror(file_.get()) != 0 && errno == EINTR);
    if (got == 0 && std::ferror(file_.get()) != 0) {
      refuse("{}: cannot be read: {}", name_, std::strerror(errno));
    }
    taken_ += got;
    gzip_.next_in = reinterpret_cast<Bytef*>(read_.data());
    gzip_.avail_in = static_cast<uInt>(got);
  }

  std::string_view inflate() {
    gzip_.next_out = reinterpret_cast<Bytef*>(unpacked_.data());
    gzip_.avail_out = static_cast<uInt>(unpacked_.size());
    while (gzip_.avail_out == unpacked_.size()) {
      if (gzip_.avail_in == 0) {
        fill();
      }
      if (between_members_ && (gzip_.avail_in == 0 || *gzip_.next_in != 0x1F)) {
        gzip_.avail_in = 0;  // what follows the last member is padding
        break;
      }
      if (gzip_.avail_in == 0) {
        throw base::InputError(name_ + ": the gzip data end early: the file is cut off");
      }
      const int status = ::inflate(&gzip_, Z_NO_FLUSH);
      between_members_ = status == Z_STREAM_END;
      if (between_members_) {
        ::inflateReset(&gzip_);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        refuse("{}: the gzip data are damaged: {}", name_, gzip_.msg != nullptr ? gzip_.msg : "unknown reason");
      }
    }
    return {unpacked_.data(), unpacked_.size() - gzip_.avail_out};
  }

  OpenFile file_;
  std::string name_;
  std::vector<char> read_, unpacked_;
  std::uint64_t taken_ = 0;
  z_stream gzip_{};  ///< what of read_ was not given yet, whether it is gzip or not
  bool is_gzip_ = false, between_members_ = false;
};

Archive::Archive(OpenFile file, std::string name, UnpackBound bound)
    : name_(std::move(name)),
      bound_(bound),
      source_(std::make_unique<Source>(std::move(file), name_)),
      handle_(::archive_read_new(), ::archive_read_free) {
  ::archive_read_support_filter_xz(handle_.get());
  ::archive_read_support_filter_zstd(handle_.get());
  ::archive_read_support_format_tar(handle_.get());
  ::archive_read_support_format_raw(handle_.get());
  ::archive_read_support_format_empty(handle_.get());
  check(::archive_read_open(handle_.get(), this, nullptr, feed, nullptr));
}

Archive::Archive(const std::filesystem::path& zip, UnpackBound bound)
    : name_(printable(zip.string())), bound_(bound), handle_(::archive_read_new(), ::archive_read_free) {
  std::error_code error;
  zip_bytes_ = std::filesystem::file_size(zip, error);
  ::archive_read_support_format_zip_seekable(handle_.get());
  check(::archive_read_open_filename(handle_.get(), zip.c_str(), kBlock));
}

Archive::~Archive() = default;

std::ptrdiff_t Archive::feed(archive* /*handle*/, void* self, const void** bytes) {
  Archive& reader = *static_cast<Archive*>(self);
  try {
    reader.require_bound();
    const std::string_view next = reader.source_->next();
    *bytes = next.data();
    return static_cast<std::ptrdiff_t>(next.size());
  } catch (...) {
    reader.thrown_ = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

std::optional<Archive::Member> Archive::next() {
  const Utf8Names names;
  // A tar may have attributes that nobody needs; a ZIP archive does not contradict its directory.
  const int least = source_ ? ARCHIVE_WARN : ARCHIVE_OK;
  while (true) {
    member_.clear();
    archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(handle_.get(), &entry);
    if (status == ARCHIVE_EOF) {
      return std::nullopt;
    }
    check(status >= least ? ARCHIVE_OK : status);
    if (::archive_entry_filetype(entry) != AE_IFREG || ::archive_entry_hardlink(entry) != nullptr) {
      continue;
    }
    if (source_ && !is_tar()) {
      return Member{};
    }
    const char* const name = ::archive_entry_pathname(entry);
    member_ = name != nullptr ? name : "";
    const auto bytes = static_cast<std::uint64_t>(::archive_entry_size(entry));
    if (::archive_entry_is_encrypted(entry) != 0) {
      throw base::InputError(place() + ": cannot be unpacked: it is encrypted");
    }
    unpacked_ += source_ ? 0 : bytes;
    require_bound();
    return Member{member_, bytes};
  }
}

std::size_t Archive::read(char* to, std::size_t size) {
  const la_ssize_t got = ::archive_read_data(handle_.get(), to, size);
  check(static_cast<int>(std::min<la_ssize_t>(got, ARCHIVE_OK)));
  unpacked_ += source_ ? static_cast<std::uint64_t>(got) : 0;
  require_bound();
  return static_cast<std::size_t>(got);
}

std::string Archive::contents(std::uint64_t bytes) {
  std::string text;
  text.reserve(bytes + kBlock);
  std::size_t got = 0;
  do {
    const std::size_t before = text.size();
    text.resize(before + kBlock);
    got = read(text.data() + before, kBlock);
    text.resize(before + got);
  } while (got > 0 && text.size() <= bytes);
  if (text.size() != bytes) {
    refuse("{}: is said to have {} bytes, but has {}", place(), bytes, got > 0 ? "more" : std::to_string(text.size()));
  }
  return text;
}

bool Archive::is_tar() const {
  return (::archive_format(handle_.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
}

void Archive::check(int status) const {
  if (status >= ARCHIVE_OK) {
    return;
  }
  if (thrown_) {
    std::rethrow_exception(thrown_);
  }
  if (::archive_errno(handle_.get()) == ENOMEM) {
    throw std::bad_alloc();
  }
  const char* const reason = ::archive_error_string(handle_.get());
  refuse("{}: cannot be unpacked: it is cut off, damaged or of a kind that is not read ({})", place(),
         printable(reason != nullptr ? reason : "no reason known"));
}

void Archive::require_bound() const {
  const auto filtered = source_ ? std::max<la_int64_t>(0, ::archive_filter_bytes(handle_.get(), 0)) : 0;
  const std::uint64_t unpacked = std::max(unpacked_, static_cast<std::uint64_t>(filtered));
  if (unpacked > bound_.free && unpacked / bound_.ratio > (source_ ? source_->taken() : zip_bytes_)) {
    refuse("{}: unpacks to more than {} times its size; unpack it first where that is right", name_, bound_.ratio);
  }
}

std::string Archive::place() const {
  return member_.empty() ? name_ : name_ + ": " + printable(member_);
}

}  // namespace sptc::io
