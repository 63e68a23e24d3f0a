// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/input_stream.h"

#include "models/base/error.h"
#include "sim/io/file_use.h"
#include "sim/io/text_file.h"
#include "sim/workload/input/byte_sources.h"
#include "sim/workload/input/decompression.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <streambuf>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sptc::workload::input {
namespace {

constexpr std::size_t kHeadBytes = 256 << 10;

std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path, const std::string& shown) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw base::InputError(shown + ": no such file");
  }
  if (std::filesystem::is_directory(status)) {
    const bool is_model = std::filesystem::exists(path / "config.json", error);
    throw base::InputError(
        fmt::format("{}: is a directory: give the file in it that says the layers{}", shown,
                    is_model ? ", " + io::printable((path / "config.json").string())
                             : ": config.json, an ONNX model, a recording or a workload"));
  }
  if (std::filesystem::is_block_file(status)) {
    throw base::InputError(shown + ": not a regular file");
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    throw base::InputError(
        fmt::format("{}: cannot be opened for reading: {}", shown, std::strerror(errno)));
  }
  if (std::filesystem::is_regular_file(status)) {
    io::announce_input(path);
  }
  return file_source(descriptor, shown);
}

/// "x.tar.gz:member" where there is no file of that whole name.
std::pair<std::filesystem::path, std::string> path_and_member(const std::filesystem::path& given) {
  const std::string text = given.string();
  const std::size_t colon = text.find(':');
  std::error_code error;
  if (colon == std::string::npos || std::filesystem::exists(given, error)) {
    return {given, ""};
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

/// The name of the member to read: the one that is asked for, else the largest, which is said in
/// `choice` where there are several.
TarMember chosen_member(TarReader tar, const std::string& wanted, const std::string& shown,
                        std::string& choice) {
  std::optional<TarMember> chosen;
  int members = 0;
  while (const std::optional<TarMember> member = tar.next()) {
    ++members;
    const bool better =
        wanted.empty() ? !chosen || member->bytes > chosen->bytes : member->name == wanted;
    if (better) {
      chosen = member;
    }
  }
  if (!chosen) {
    throw base::InputError(wanted.empty() ? shown + ": the tar holds no file"
                                          : fmt::format("{}: the tar holds no file '{}'", shown,
                                                        io::printable(wanted)));
  }
  if (wanted.empty() && members > 1) {
    choice = fmt::format("of {} files in the tar the largest is read, {}; {}:NAME reads another",
                         members, io::printable(chosen->name), shown);
  }
  return *chosen;
}

}  // namespace

/// A window on the bytes of a source.
class InputStream::Buffer : public std::streambuf {
 public:
  explicit Buffer(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), window_(take(*source_, kHeadBytes)) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (window_.starts_with(kByteOrderMark)) {
      window_.erase(0, kByteOrderMark.size());
      skipped_mark_ = true;
    }
    setg(window_.data(), window_.data(), window_.data() + window_.size());
  }
  std::string_view window() const { return window_; }
  bool skipped_mark() const { return skipped_mark_; }

  /// As of InputStream, and counts the lines that end.
  std::optional<std::string_view> line(std::size_t max_bytes, std::int64_t& number,
                                       const std::string& name) {
    carried_.clear();
    while (underflow() != traits_type::eof()) {
      if (carried_.empty() && !skip_line_ends(number)) {
        continue;
      }
      const std::string_view left(gptr(), static_cast<std::size_t>(egptr() - gptr()));
      const std::string_view piece = left.substr(0, left.find('\n'));
      const bool ends = piece.size() < left.size();
      gbump(static_cast<int>(piece.size()) + (ends ? 1 : 0));
      if (carried_.size() + piece.size() > max_bytes) {
        throw base::InputError(
            fmt::format("{}:{}: a line of more than {} bytes", name, number + 1, max_bytes));
      }
      if (!ends || !carried_.empty()) {
        carried_ += piece;
      }
      if (ends) {
        ++number;
        return carried_.empty() ? piece : std::string_view(carried_);
      }
    }
    number += carried_.empty() ? 0 : 1;
    return carried_.empty() ? std::nullopt : std::optional<std::string_view>(carried_);
  }

 protected:
  int_type underflow() override {
    if (gptr() == egptr()) {
      window_.resize(kHeadBytes);
      const std::size_t got = source_->read(window_.data(), window_.size());
      setg(window_.data(), window_.data(), window_.data() + got);
      if (got == 0) {
        return traits_type::eof();
      }
    }
    return traits_type::to_int_type(*gptr());
  }

 private:
  /// Whether something follows in the window.
  bool skip_line_ends(std::int64_t& number) {
    char* at = gptr();
    for (; at != egptr() && (*at == '\n' || *at == '\r'); ++at) {
      number += *at == '\n' ? 1 : 0;
    }
    gbump(static_cast<int>(at - gptr()));
    return at != egptr();
  }

  std::unique_ptr<ByteSource> source_;
  std::string window_;
  bool skipped_mark_ = false;
  std::string carried_;  ///< a line that began in a window before
};

InputStream::InputStream(const std::filesystem::path& path) {
  if (path == "-") {
    path_ = "standard input";
    name_ = path_.string();
    unwrap(file_source(::dup(STDIN_FILENO), name_), {}, "");
    return;
  }
  const auto [file, member] = path_and_member(path);
  path_ = path;
  name_ = io::printable(file.string());
  unwrap(open_file(file, name_), file, member);
}

InputStream::InputStream(std::string bytes, const std::string& name) : path_(name), name_(name) {
  unwrap(with_head(std::move(bytes), nullptr), {}, "");
}

InputStream::~InputStream() = default;

void InputStream::unwrap(std::unique_ptr<ByteSource> source, const std::filesystem::path& reopen,
                         const std::string& member) {
  source = decompressed(std::move(source), name_);
  std::string head = take(*source, 512);
  const bool tar = is_tar(head);
  source = with_head(std::move(head), std::move(source));
  if (!tar && !member.empty()) {
    throw base::InputError(name_ + ": is no tar, so it has no member '" + io::printable(member) +
                           "'");
  }
  if (tar) {
    TarReader reader(std::move(source), name_);
    if (reopen.empty()) {  // standard input passes once: its first file is read
      const std::optional<TarMember> first = reader.next();
      name_ += first ? ":" + io::printable(first->name) : "";
      choice_ = "standard input passes once, so the first file of the tar is read";
    } else {
      const TarMember chosen = chosen_member(std::move(reader), member, name_, choice_);
      reader = TarReader(decompressed(open_file(reopen, name_), name_), name_);
      for (auto next = reader.next(); next && next->name != chosen.name; next = reader.next()) {
      }
      name_ += ":" + io::printable(chosen.name);
    }
    source = std::move(reader).member();
  }
  buffer_ = std::make_unique<Buffer>(std::move(source));
  if (buffer_->skipped_mark()) {
    choice_ += (choice_.empty() ? "" : "; ") + std::string("a byte order mark is skipped");
  }
  stream_ = std::make_unique<std::istream>(buffer_.get());
  stream_->exceptions(std::ios::badbit);
}

std::istream& InputStream::stream() {
  return *stream_;
}

std::string_view InputStream::head() const {
  return buffer_->window();
}

std::optional<std::string_view> InputStream::line(std::size_t max_bytes) {
  return buffer_->line(max_bytes, line_number_, name_);
}

std::string InputStream::place() const {
  return fmt::format("{}:{}", name_, line_number_);
}

std::string InputStream::rest(std::size_t max_bytes) {
  std::string bytes;
  while (stream_->peek() != std::istream::traits_type::eof()) {
    const auto ready = static_cast<std::size_t>(buffer_->in_avail());
    if (bytes.size() + ready > max_bytes) {
      throw base::InputError(fmt::format(
          "{}: more than the {} bytes allowed for a file of this kind", name_, max_bytes));
    }
    const std::size_t before = bytes.size();
    bytes.resize(before + ready);
    stream_->read(bytes.data() + before, static_cast<std::streamsize>(ready));
  }
  return bytes;
}

}  // namespace sptc::workload::input
