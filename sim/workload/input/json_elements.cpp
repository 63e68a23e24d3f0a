// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/json_elements.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/workload/input/json_repair.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <limits>
#include <streambuf>
#include <utility>

namespace sptc::workload::input {
namespace {

using nlohmann::json;

/// Builds the elements from what the parser meets.
class ElementReader : public nlohmann::json_sax<json> {
 public:
  ElementReader(const std::string& file, const std::vector<std::string_view>& keys,
                const OnElement& on_element)
      : file_(file), keys_(keys), on_element_(on_element) {}

  /// Counts bytes that come before the next value. Throws InputError where they are too many.
  void expect(std::size_t bytes) {
    constexpr std::size_t kMaxValue = std::size_t{16} << 20;
    if (unparsed_ > kMaxValue) {
      fail("a value has more than 16 MiB");
    }
    unparsed_ += bytes;
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw base::InputError(file_ + ": " + problem);
  }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return add(static_cast<std::int64_t>(std::min<number_unsigned_t>(value, kMost)));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override {
    spent_ += value.size();
    return add(std::move(value));
  }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return open(json::object()); }
  bool start_array(std::size_t /*elements*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    unparsed_ = 0;
    spent_ += key.size();
    (depth_ == 1 ? list_ : key_) = std::move(key);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& last_token,
                   const json::exception& error) override;

 private:
  /// Puts `value` into what is open of the element.
  json* insert(json value) {
    constexpr std::size_t kMaxElement = std::size_t{64} << 20, kOfValue = 32;
    spent_ += kOfValue;
    if (spent_ > kMaxElement) {
      fail("an element of a list has more than 64 MiB");
    }
    json& to = *open_.back();
    if (to.is_array()) {
      to.push_back(std::move(value));
      return &to.back();
    }
    return &(to[key_] = std::move(value));
  }

  bool add(json value) {
    unparsed_ = 0;
    if (!open_.empty()) {
      insert(std::move(value));
    }
    return true;
  }

  bool open(json value) {
    constexpr std::size_t kMaxDepth = 256;
    unparsed_ = 0;
    if (depth_ >= kMaxDepth) {
      fail("nested deeper than 256 levels");
    }
    ++depth_;
    if (!open_.empty()) {
      open_.push_back(insert(std::move(value)));
    } else if (in_list_) {
      spent_ = 0;
      element_ = std::move(value);
      open_.push_back(&element_);
    } else if (value.is_array() && depth_ <= 2 && (depth_ == 1 || outermost_is_object_)) {
      in_list_ = std::find(keys_.begin(), keys_.end(), list_) != keys_.end();
      number_ = 0;
    } else if (depth_ == 1) {
      outermost_is_object_ = true;
    }
    return true;
  }

  bool close() {
    unparsed_ = 0;
    --depth_;
    if (open_.empty()) {
      in_list_ = false;
      return true;
    }
    open_.pop_back();
    if (open_.empty()) {
      on_element_(list_, number_++, element_);
    }
    return true;
  }

  const std::string& file_;
  const std::vector<std::string_view>& keys_;
  const OnElement& on_element_;
  std::size_t depth_ = 0;  ///< objects and arrays that are open
  bool outermost_is_object_ = false, in_list_ = false;
  std::string list_;  ///< the last key of the outermost object
  std::size_t number_ = 0;
  json element_;
  std::vector<json*> open_;  ///< parts of it
  std::string key_;
  std::size_t spent_ = 0;     ///< bytes of the element, about
  std::size_t unparsed_ = 0;  ///< bytes since the last value, but for those of a block
};

bool ElementReader::parse_error(std::size_t /*position*/, const std::string& /*last_token*/,
                                const json::exception& error) {
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
  fail("not valid JSON: " + io::printable(what) +
       (ends && depth_ > 0 ? "; the file is cut off" : ""));
}

/// Hands the bytes of another over, mended, and refuses what the parser would gather or leave
/// unread.
class MendedBuffer : public std::streambuf {
 public:
  MendedBuffer(std::streambuf& source, ElementReader& reader) : source_(source), reader_(reader) {}
  const JsonRepair& repair() const { return repair_; }

 protected:
  int_type underflow() override {
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
        reader_.fail("not valid JSON: it holds a NUL byte");
      }
      reader_.expect(read.size());
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
  ElementReader& reader_;
  JsonRepair repair_;
  std::string mended_;
  bool ended_ = false;
  std::array<char, std::size_t{1} << 16> block_{};
};

}  // namespace

std::vector<std::string> top_level_keys(std::string_view head) {
  std::vector<std::string> keys;
  int depth = 0;
  bool key_may_follow = false;
  for (std::size_t at = 0; at < head.size(); ++at) {
    const char c = head[at];
    if (depth == 0 && c != '{' && std::isspace(static_cast<unsigned char>(c)) == 0) {
      return keys;
    }
    if (c == '"') {
      const std::size_t begin = ++at;
      while (at < head.size() && head[at] != '"') {
        at += head[at] == '\\' ? 2 : 1;
      }
      if (depth == 1 && key_may_follow && at < head.size()) {
        keys.emplace_back(head.substr(begin, at - begin));
        key_may_follow = false;
      }
    } else if (c == '{' || c == '[') {
      ++depth;
      key_may_follow = depth == 1;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) {
        return keys;
      }
    } else if (c == ',' && depth == 1) {
      key_may_follow = true;
    }
  }
  return keys;
}

std::string read_elements(std::istream& stream, const std::string& file,
                          const std::vector<std::string_view>& keys, const OnElement& on_element) {
  ElementReader reader(file, keys, on_element);
  MendedBuffer buffer(*stream.rdbuf(), reader);
  std::istream bounded(&buffer);
  json::sax_parse(bounded, static_cast<nlohmann::json_sax<json>*>(&reader));
  return buffer.repair().text();
}

}  // namespace sptc::workload::input
