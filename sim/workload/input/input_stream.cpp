// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/input_stream.h"

#include "sim/io/file_use.h"
#include "sim/io/text_file.h"

#include <cerrno>
#include <cstring>
#include <streambuf>
#include <unistd.h>

namespace sptc::workload::input {
namespace {

constexpr std::size_t kHeadBytes = 256 << 10;
constexpr const char* kModelFile = "config.json";
/// More than recordings compress to.
constexpr io::UnpackBound kUnpackBound{64 << 20, 500};

/// `file`, which is null where it could not be opened.
io::OpenFile opened(std::FILE* file, const std::string& shown) {
  if (file == nullptr) {
    io::refuse("{}: cannot be opened for reading: {}", shown, std::strerror(errno));
  }
  return io::OpenFile(file);
}

io::OpenFile open_file(const std::filesystem::path& path, const std::string& shown) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    io::refuse("{}: no such file", shown);
  }
  if (std::filesystem::is_directory(status)) {
    io::require_directory(path);
    io::refuse(
        "{}: is a directory without config.json: give the file in it that says the layers: an ONNX model, a recording "
        "or a workload",
        shown);
  }
  if (std::filesystem::is_block_file(status)) {
    io::refuse("{}: not a regular file", shown);
  }
  io::OpenFile file = opened(std::fopen(path.c_str(), "rbe"), shown);
  if (std::filesystem::is_regular_file(status)) {
    io::announce_input(path);
  }
  return file;
}

std::filesystem::path model_file(const std::filesystem::path& given) {
  std::error_code error;
  const std::filesystem::path file = given / kModelFile;
  return std::filesystem::is_directory(given, error) && std::filesystem::exists(file, error) ? file : given;
}

/// That the weights beside the config.json of a directory are not read; empty where there are none.
std::string weights_beside(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::directory_iterator entry(file.parent_path(), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") {
      return "the layers are those of config.json: values in the safetensors beside it are not read";
    }
  }
  return "";
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

/// The name of the member of `tar` to read, which is at `member`: the one that is asked for, else
/// the largest, which is said in `choice` where there are several.
std::string chosen_member(io::Archive& tar, std::optional<io::Archive::Member> member, const std::string& wanted,
                          const std::string& shown, std::string& choice) {
  std::optional<io::Archive::Member> chosen;
  int members = 0;
  for (; member; member = tar.next()) {
    ++members;
    const bool better = wanted.empty() ? !chosen || member->bytes > chosen->bytes : member->name == wanted;
    if (better) {
      chosen = member;
    }
  }
  if (!chosen) {
    io::refuse("{}: the tar holds no file{}", shown, wanted.empty() ? "" : fmt::format(" '{}'", io::printable(wanted)));
  }
  if (wanted.empty() && members > 1) {
    choice = fmt::format("of {} files in the tar the largest is read, {}; {}:NAME reads another", members,
                         io::printable(chosen->name), shown);
  }
  return chosen->name;
}

}  // namespace

/// A window on the bytes of a member.
class InputStream::Buffer : public std::streambuf {
 public:
  /// Null: no bytes.
  explicit Buffer(std::unique_ptr<io::Archive> archive) : archive_(std::move(archive)) {
    window_.resize(kHeadBytes);
    window_.resize(archive_ ? archive_->read(window_.data(), window_.size()) : 0);
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (window_.starts_with(kByteOrderMark)) {
      window_.erase(0, kByteOrderMark.size());
      skipped_mark_ = true;
    }
    setg(window_.data(), window_.data(), window_.data() + window_.size());
  }
  std::string_view window() const { return window_; }
  bool skipped_mark() const { return skipped_mark_; }

 protected:
  int_type underflow() override {
    if (gptr() == egptr()) {
      window_.resize(kHeadBytes);
      const std::size_t got = archive_ ? archive_->read(window_.data(), window_.size()) : 0;
      setg(window_.data(), window_.data(), window_.data() + got);
      if (got == 0) {
        return traits_type::eof();
      }
    }
    return traits_type::to_int_type(*gptr());
  }

 private:
  std::unique_ptr<io::Archive> archive_;
  std::string window_;
  bool skipped_mark_ = false;
};

InputStream::InputStream(const std::filesystem::path& path) {
  if (path == "-") {
    path_ = "standard input";
    name_ = path_.string();
    unwrap(opened(::fdopen(::dup(STDIN_FILENO), "rb"), name_), {}, "");
    return;
  }
  path_ = model_file(path);
  choice_ = path_ == path ? "" : weights_beside(path_);
  const auto [file, member] = path_and_member(path_);
  name_ = io::printable(file.string());
  unwrap(open_file(file, name_), file, member);
}

InputStream::InputStream(std::string bytes, const std::string& name)
    : path_(name), name_(name), bytes_(std::move(bytes)) {
  unwrap(opened(::fmemopen(bytes_.data(), bytes_.size(), "rb"), name_), {}, "");
}

InputStream::~InputStream() = default;

void InputStream::unwrap(io::OpenFile file, const std::filesystem::path& reopen, const std::string& wanted) {
  auto archive = std::make_unique<io::Archive>(std::move(file), name_, kUnpackBound);
  std::optional<io::Archive::Member> member = archive->next();
  if (!archive->is_tar()) {
    if (!wanted.empty()) {
      io::refuse("{}: is no tar, so it has no member '{}'", name_, io::printable(wanted));
    }
  } else if (reopen.empty()) {
    choice_ = "standard input passes once, so the first file of the tar is read";
    name_ += member ? ":" + io::printable(member->name) : "";
  } else {
    const std::string chosen = chosen_member(*archive, std::move(member), wanted, name_, choice_);
    archive = std::make_unique<io::Archive>(open_file(reopen, name_), name_, kUnpackBound);
    do {
      member = archive->next();
    } while (member && member->name != chosen);
    name_ += ":" + io::printable(chosen);
  }
  buffer_ = std::make_unique<Buffer>(member ? std::move(archive) : nullptr);
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
  while (std::getline(*stream_, line_)) {
    ++line_number_;
    if (line_.size() > max_bytes) {
      io::refuse("{}: a line of more than {} bytes", place(), max_bytes);
    }
    if (!line_.empty() && line_ != "\r") {
      return line_;
    }
  }
  return std::nullopt;
}

std::string InputStream::place() const {
  return fmt::format("{}:{}", name_, line_number_);
}

std::string InputStream::rest(std::size_t max_bytes) {
  std::string bytes;
  while (stream_->peek() != std::istream::traits_type::eof()) {
    const auto ready = static_cast<std::size_t>(buffer_->in_avail());
    if (bytes.size() + ready > max_bytes) {
      io::refuse("{}: more than the {} bytes allowed for a file of this kind", name_, max_bytes);
    }
    const std::size_t before = bytes.size();
    bytes.resize(before + ready);
    stream_->read(bytes.data() + before, static_cast<std::streamsize>(ready));
  }
  return bytes;
}

}  // namespace sptc::workload::input
