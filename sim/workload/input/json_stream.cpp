// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/json_stream.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/workload/input/json_repair.h"

#include <array>
#include <limits>
#include <streambuf>
#include <string_view>

namespace sptc::workload::input {

/// Hands the bytes of another over, mended, and refuses what the parser would gather or leave
/// unread.
class JsonStream::Buffer : public std::streambuf {
 public:
  Buffer(std::streambuf& source, JsonStream& reader) : source_(source), reader_(reader) {}
  const JsonRepair& repair() const { return repair_; }

 protected:
  int_type underflow() override {
    constexpr std::size_t kMaxValue = std::size_t{16} << 20;
    mended_.clear();
    while (mended_.empty() && !ended_) {
      const std::streamsize bytes =
          source_.sgetn(block_.data(), static_cast<std::streamsize>(block_.size()));
      if (bytes <= 0) {
        ended_ = true;
        repair_.finish(mended_);
        break;
      }
      const std::string_view read(block_.data(), static_cast<std::size_t>(bytes));
      if (read.find('\0') != std::string_view::npos) {
        throw base::InputError(reader_.file_ + ": not valid JSON: it holds a NUL byte");
      }
      if (reader_.unparsed_ > kMaxValue) {
        throw base::InputError(reader_.file_ + ": a value has more than 16 MiB");
      }
      reader_.unparsed_ += read.size();
      repair_.take(read, mended_);
    }
    if (mended_.empty()) {
      return traits_type::eof();
    }
    setg(mended_.data(), mended_.data(), mended_.data() + mended_.size());
    return traits_type::to_int_type(*gptr());
  }

 private:
  std::streambuf& source_;
  JsonStream& reader_;
  JsonRepair repair_;
  std::string mended_;
  bool ended_ = false;
  std::array<char, std::size_t{1} << 16> block_{};
};

void JsonStream::read(std::istream& stream) {
  Buffer buffer(*stream.rdbuf(), *this);
  std::istream bounded(&buffer);
  nlohmann::json::sax_parse(bounded, static_cast<nlohmann::json_sax<nlohmann::json>*>(this));
  repairs_ = buffer.repair().text();
}

bool JsonStream::number_integer(number_integer_t value) {
  unparsed_ = 0;
  on_integer(value);
  return true;
}

bool JsonStream::number_unsigned(number_unsigned_t value) {
  unparsed_ = 0;
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  on_integer(value > static_cast<std::uint64_t>(kMost) ? kMost : static_cast<std::int64_t>(value));
  return true;
}

bool JsonStream::number_float(number_float_t value, const string_t& /*text*/) {
  unparsed_ = 0;
  on_float(value);
  return true;
}

bool JsonStream::string(string_t& value) {
  unparsed_ = 0;
  on_text(value);
  return true;
}

bool JsonStream::word(std::string_view word) {
  unparsed_ = 0;
  on_word(word);
  return true;
}

bool JsonStream::start_object(std::size_t /*elements*/) {
  return open(false);
}

bool JsonStream::start_array(std::size_t /*elements*/) {
  return open(true);
}

bool JsonStream::end_object() {
  return close();
}

bool JsonStream::end_array() {
  return close();
}

bool JsonStream::key(string_t& key) {
  unparsed_ = 0;
  on_key(key);
  return true;
}

bool JsonStream::open(bool array) {
  unparsed_ = 0;
  constexpr std::size_t kMaxDepth = 256;
  if (arrays_.size() >= kMaxDepth) {
    throw base::InputError(file_ + ": nested deeper than 256 levels");
  }
  arrays_.push_back(array);
  on_open(array);
  return true;
}

bool JsonStream::close() {
  unparsed_ = 0;
  const bool array = arrays_.back();
  arrays_.pop_back();
  on_close(array);
  return true;
}

bool JsonStream::parse_error(std::size_t /*position*/, const std::string& /*last_token*/,
                             const nlohmann::json::exception& error) {
  // "[..] parse error at line 1, column 2: syntax error ..", or "[..] number overflow .."
  std::string_view what = error.what();
  constexpr std::string_view kCodeEnd = "] ";
  const std::size_t line = what.find("line "), code_end = what.find(kCodeEnd);
  if (line != std::string_view::npos) {
    what.remove_prefix(line);
  } else if (code_end != std::string_view::npos) {
    what.remove_prefix(code_end + kCodeEnd.size());
  }
  const bool ends = what.find("unexpected end of input") != std::string_view::npos ||
                    what.find("missing closing quote") != std::string_view::npos;
  throw base::InputError(file_ + ": not valid JSON: " + io::printable(what) +
                         (ends && !arrays_.empty() ? "; the file is cut off" : ""));
}

}  // namespace sptc::workload::input
