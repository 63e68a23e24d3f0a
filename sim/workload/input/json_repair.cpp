// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/json_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

namespace sptc::workload::input {
namespace {

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
  const unsigned char least = second && first == 0xE0   ? 0xA0
                              : second && first == 0xF0 ? 0x90
                                                        : 0x80;
  const unsigned char most = second && first == 0xED ? 0x9F : second && first == 0xF4 ? 0x8F : 0xBF;
  return c >= least && c <= most;
}

}  // namespace

void JsonRepair::take(std::string_view piece, std::string& mended) {
  for (std::size_t at = 0; at < piece.size(); ++at) {
    if (state_ == State::kString) {  // most of a trace
      const std::size_t begin = at;
      while (at < piece.size() && is_ascii(piece[at]) && piece[at] != '"' && piece[at] != '\\') {
        ++at;
      }
      mended.append(piece, begin, at - begin);
      if (at == piece.size()) {
        return;
      }
    }
    const char c = piece[at];
    switch (state_) {
      case State::kOutside:
        outside(c, mended);
        break;
      case State::kString:
        in_string(c, mended);
        break;
      case State::kBackslash:
      case State::kUnicode:
        behind_backslash(c, mended);
        break;
      case State::kSequence:
        in_sequence(c, mended);
        break;
    }
  }
}

void JsonRepair::in_string(char c, std::string& mended) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"') {
    mended += c;
    state_ = State::kOutside;
    last_ = c;
  } else if (c == '\\') {
    state_ = State::kBackslash;
  } else if (byte < ' ') {
    mended += fmt::format("\\u{:04x}", byte);
    ++controls_;
  } else if (byte < kFirstOfSequence) {
    mended += c;
  } else if (sequence_length(byte) > 0) {
    held_ = c;
    state_ = State::kSequence;
  } else {
    mended += '?';
    ++bytes_;
  }
}

void JsonRepair::behind_backslash(char c, std::string& mended) {
  constexpr std::size_t kDigits = 4;
  if (state_ == State::kUnicode) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) {
      held_ += c;
      if (held_.size() == kDigits) {
        mended += "\\u" + std::exchange(held_, "");
        state_ = State::kString;
      }
      return;
    }
    mended += "\\\\u" + std::exchange(held_, "");
  } else if (c == 'u') {
    held_.clear();
    state_ = State::kUnicode;
    return;
  } else if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) {
    mended += {'\\', c};
    state_ = State::kString;
    return;
  } else {
    mended += "\\\\";
  }
  ++backslashes_;
  state_ = State::kString;
  in_string(c, mended);
}

void JsonRepair::in_sequence(char c, std::string& mended) {
  if (!continues(held_, static_cast<unsigned char>(c))) {
    mended += '?';
    ++bytes_;
    held_.clear();
    state_ = State::kString;
    in_string(c, mended);
    return;
  }
  held_ += c;
  if (held_.size() == sequence_length(static_cast<unsigned char>(held_[0]))) {
    mended += std::exchange(held_, "");
    state_ = State::kString;
  }
}

void JsonRepair::flush_space(std::string& mended) {
  mended += std::exchange(space_, "");
}

void JsonRepair::end_word(std::string& mended) {
  static constexpr std::string_view kNumbers[] = {"NaN",      "-NaN",      "nan", "-nan", "inf",
                                                  "Infinity", "-Infinity", "Inf", "-inf", "-Inf"};
  if (std::find(std::begin(kNumbers), std::end(kNumbers), held_) != std::end(kNumbers)) {
    held_ = "null";
    ++words_;
  }
  mended += std::exchange(held_, "");
}

void JsonRepair::outside(char c, std::string& mended) {
  if (is_of_word(c)) {
    flush_space(mended);
    if (held_.size() >= kMostHeld) {
      mended += std::exchange(held_, "");
    }
    held_ += c;
    last_ = c;
    return;
  }
  end_word(mended);
  if (is_blank(c)) {
    (space_.empty() || space_.size() >= kMostHeld ? mended : space_) += c;
    return;
  }
  if ((c == ']' || c == '}') && !space_.empty()) {
    space_.clear();
    ++commas_;
  }
  flush_space(mended);
  if (c == ',') {
    space_ = c;
    return;
  }
  last_ = c;
  mended += c;
  if (c == '"') {
    state_ = State::kString;
  } else if ((c == '[' || c == '{') && open_.size() < kMostOpen) {
    open_ += c;
  } else if ((c == ']' || c == '}') && !open_.empty()) {
    open_.pop_back();
  }
}

void JsonRepair::finish(std::string& mended) {
  constexpr std::string_view kEvents = "{[";
  if (state_ != State::kOutside) {
    return;
  }
  end_word(mended);
  const bool behind_event = last_ == '}' || last_ == ']';
  const bool among_events = open_ == "[" || open_ == kEvents || open_ == "{";
  if (behind_event && among_events) {
    commas_ += space_.empty() ? 0 : 1;
    space_.clear();
    for (; !open_.empty(); open_.pop_back()) {
      mended += open_.back() == '[' ? ']' : '}';
      ++brackets_;
    }
  }
  flush_space(mended);
}

std::string JsonRepair::text() const {
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

}  // namespace sptc::workload::input
