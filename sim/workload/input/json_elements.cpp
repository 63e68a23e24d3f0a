// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/json_elements.h"

#include "sim/io/text_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <limits>
#include <streambuf>

namespace sptc::workload::input {
namespace {

using nlohmann::json;

constexpr std::size_t kMostOpen = 512;  // read_elements() refuses half of it
constexpr std::size_t kMostHeld = 64;
constexpr unsigned char kFirstOfSequence = 0x80;

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/// Neither a control character nor of a longer sequence of UTF-8.
bool is_ascii(char c) {
  return static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < kFirstOfSequence;
}

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.';
}

/// Bytes of the sequence of UTF-8 that `first` begins; 0 where it begins none.
std::size_t sequence_length(unsigned char first) {
  return first >= 0xC2 && first <= 0xDF   ? 2
         : first >= 0xE0 && first <= 0xEF ? 3
         : first >= 0xF0 && first <= 0xF4 ? 4
                                          : 0;
}

/// Whether `c` may follow what is `held` of a sequence (RFC 3629).
bool continues(std::string_view held, unsigned char c) {
  const auto first = static_cast<unsigned char>(held[0]);
  const bool second = held.size() == 1;
  const unsigned char least = second && first == 0xE0 ? 0xA0 : second && first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = second && first == 0xED ? 0x9F : second && first == 0xF4 ? 0x8F : 0xBF;
  return c >= least && c <= most;
}

/// Mends what Chrome, Perfetto or Python's json take: control characters, backslashes and bytes of
/// no UTF-8 in strings, commas before a closing bracket, NaN and Infinity (null then), and brackets
/// missing behind the last whole event. Takes the text in pieces.
class JsonRepair {
 public:
  explicit JsonRepair(std::string& mended) : mended_(mended) {}

  /// Appends `piece`, mended. What the next piece decides is kept back.
  void take(std::string_view piece) {
    for (std::size_t at = 0; at < piece.size(); ++at) {
      if (state_ == State::kString) {  // most of a trace
        const std::size_t begin = at;
        while (at < piece.size() && is_ascii(piece[at]) && piece[at] != '"' && piece[at] != '\\') {
          ++at;
        }
        mended_.append(piece, begin, at - begin);
        if (at == piece.size()) {
          return;
        }
      }
      const char c = piece[at];
      switch (state_) {
        case State::kOutside:
          outside(c);
          break;
        case State::kString:
          in_string(c);
          break;
        case State::kBackslash:
        case State::kUnicode:
          behind_backslash(c);
          break;
        case State::kSequence:
          in_sequence(c);
          break;
      }
    }
  }

  void finish() {
    constexpr std::string_view kEvents = "{[";
    if (state_ != State::kOutside) {
      return;
    }
    end_word();
    const bool behind_event = last_ == '}' || last_ == ']';
    const bool among_events = open_ == "[" || open_ == kEvents || open_ == "{";
    if (behind_event && among_events) {
      commas_ += space_.empty() ? 0 : 1;
      space_.clear();
      for (; !open_.empty(); open_.pop_back()) {
        mended_ += open_.back() == '[' ? ']' : '}';
        ++brackets_;
      }
    }
    flush_space();
  }

  /// What was mended, in one sentence; empty where nothing was.
  std::string text() const {
    std::string list;
    const auto add = [&list](std::int64_t number, std::string_view one, std::string_view many) {
      if (number > 0) {
        list += fmt::format("{}{} {}", list.empty() ? "" : ", ", number, number == 1 ? one : many);
      }
    };
    add(controls_, "control character in a string", "control characters in strings");
    add(backslashes_, "backslash that escapes nothing", "backslashes that escape nothing");
    add(bytes_, "byte of no UTF-8", "bytes of no UTF-8");
    add(commas_, "comma before nothing", "commas before nothing");
    add(words_, "number that is none (NaN, Infinity)", "numbers that are none (NaN, Infinity)");
    add(brackets_, "closing bracket missing at the end", "closing brackets missing at the end");
    return list.empty() ? list : "the file is not valid JSON, and was read all the same: " + list;
  }

 private:
  void in_string(char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"') {
      mended_ += c;
      state_ = State::kOutside;
      last_ = c;
    } else if (c == '\\') {
      state_ = State::kBackslash;
    } else if (byte < ' ') {
      mended_ += fmt::format("\\u{:04x}", byte);
      ++controls_;
    } else if (byte < kFirstOfSequence) {
      mended_ += c;
    } else if (sequence_length(byte) > 0) {
      held_ = c;
      state_ = State::kSequence;
    } else {
      mended_ += '?';
      ++bytes_;
    }
  }

  void behind_backslash(char c) {
    constexpr std::size_t kDigits = 4;
    if (state_ == State::kUnicode) {
      if (std::isxdigit(static_cast<unsigned char>(c)) != 0) {
        held_ += c;
        if (held_.size() == kDigits) {
          mended_ += "\\u" + std::exchange(held_, "");
          state_ = State::kString;
        }
        return;
      }
      mended_ += "\\\\u" + std::exchange(held_, "");
    } else if (c == 'u') {
      held_.clear();
      state_ = State::kUnicode;
      return;
    } else if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) {
      mended_ += {'\\', c};
      state_ = State::kString;
      return;
    } else {
      mended_ += "\\\\";
    }
    ++backslashes_;
    state_ = State::kString;
    in_string(c);
  }

  void in_sequence(char c) {
    if (!continues(held_, static_cast<unsigned char>(c))) {
      mended_ += '?';
      ++bytes_;
      held_.clear();
      state_ = State::kString;
      in_string(c);
      return;
    }
    held_ += c;
    if (held_.size() == sequence_length(static_cast<unsigned char>(held_[0]))) {
      mended_ += std::exchange(held_, "");
      state_ = State::kString;
    }
  }

  void flush_space() { mended_ += std::exchange(space_, ""); }

  void end_word() {
    static constexpr std::string_view kNumbers[] = {"NaN",      "-NaN",      "nan", "-nan", "inf",
                                                    "Infinity", "-Infinity", "Inf", "-inf", "-Inf"};
    if (std::ranges::find(kNumbers, held_) != std::end(kNumbers)) {
      held_ = "null";
      ++words_;
    }
    mended_ += std::exchange(held_, "");
  }

  void outside(char c) {
    if (is_of_word(c)) {
      flush_space();
      if (held_.size() >= kMostHeld) {
        mended_ += std::exchange(held_, "");
      }
      held_ += c;
      last_ = c;
      return;
    }
    end_word();
    if (is_blank(c)) {
      (space_.empty() || space_.size() >= kMostHeld ? mended_ : space_) += c;
      return;
    }
    if ((c == ']' || c == '}') && !space_.empty()) {
      space_.clear();
      ++commas_;
    }
    flush_space();
    if (c == ',') {
      space_ = c;
      return;
    }
    last_ = c;
    mended_ += c;
    if (c == '"') {
      state_ = State::kString;
    } else if ((c == '[' || c == '{') && open_.size() < kMostOpen) {
      open_ += c;
    } else if ((c == ']' || c == '}') && !open_.empty()) {
      open_.pop_back();
    }
  }

  enum class State { kOutside, kString, kBackslash, kUnicode, kSequence };
  std::string& mended_;
  State state_ = State::kOutside;
  std::string held_;   ///< of an escape, a sequence of UTF-8 or a word
  std::string space_;  ///< behind a comma that may be one too many, with it
  std::string open_;   ///< brackets
  char last_ = 0;      ///< the last that is neither blank nor comma, outside of strings
  std::int64_t controls_ = 0, backslashes_ = 0, bytes_ = 0, commas_ = 0, words_ = 0, brackets_ = 0;
};

/// Builds the elements from what the parser meets.
class ElementReader : public nlohmann::json_sax<json> {
 public:
  ElementReader(const std::string& file, const std::vector<std::string_view>& keys, const OnElement& on_element)
      : file_(file), keys_(keys), on_element_(on_element) {}

  [[noreturn]] void fail(const std::string& problem) const { io::refuse("{}: {}", file_, problem); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return add(static_cast<std::int64_t>(std::min<number_unsigned_t>(value, kMost)));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return open(json::object()); }
  bool start_array(std::size_t /*elements*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    (depth_ == 1 ? list_ : key_) = std::move(key);
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*last_token*/, const json::exception& error) override {
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
    fail("not valid JSON: " + io::printable(what) + (ends && depth_ > 0 ? "; the file is cut off" : ""));
  }

 private:
  /// Puts `value` into what is open of the element.
  json* insert(json value) {
    json& to = *open_.back();
    if (to.is_array()) {
      to.push_back(std::move(value));
      return &to.back();
    }
    return &(to[key_] = std::move(value));
  }

  bool add(json value) {
    if (!open_.empty()) {
      insert(std::move(value));
    }
    return true;
  }

  bool open(json value) {
    constexpr std::size_t kMaxDepth = 256;
    if (depth_ >= kMaxDepth) {
      fail("nested deeper than 256 levels");
    }
    ++depth_;
    if (!open_.empty()) {
      open_.push_back(insert(std::move(value)));
    } else if (in_list_) {
      element_ = std::move(value);
      open_.push_back(&element_);
    } else if (value.is_array() && depth_ <= 2 && (depth_ == 1 || outermost_is_object_)) {
      in_list_ = std::ranges::count(keys_, list_) > 0;
      number_ = 0;
    } else if (depth_ == 1) {
      outermost_is_object_ = true;
    }
    return true;
  }

  bool close() {
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
};

/// Hands the bytes of another over, mended, and refuses what the parser would leave unread.
class MendedBuffer : public std::streambuf {
 public:
  MendedBuffer(std::streambuf& source, ElementReader& reader) : source_(source), reader_(reader) {}
  const JsonRepair& repair() const { return repair_; }

 protected:
  int_type underflow() override {
    mended_.clear();
    while (mended_.empty() && !ended_) {
      const std::streamsize bytes = source_.sgetn(block_.data(), static_cast<std::streamsize>(block_.size()));
      if (bytes <= 0) {
        ended_ = true;
        repair_.finish();
        break;
      }
      const std::string_view read(block_.data(), static_cast<std::size_t>(bytes));
      if (read.find('\0') != std::string_view::npos) {
        reader_.fail("not valid JSON: it holds a NUL byte");
      }
      repair_.take(read);
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
  std::string mended_;
  JsonRepair repair_{mended_};
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

std::string read_elements(std::istream& stream, const std::string& file, const std::vector<std::string_view>& keys,
                          const OnElement& on_element) {
  ElementReader reader(file, keys, on_element);
  MendedBuffer buffer(*stream.rdbuf(), reader);
  std::istream bounded(&buffer);
  json::sax_parse(bounded, static_cast<nlohmann::json_sax<json>*>(&reader));
  return buffer.repair().text();
}

}  // namespace sptc::workload::input
