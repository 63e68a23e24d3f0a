// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/extent_expression.h"

#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace sptc::workload {
namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxBytes = 1000;
constexpr std::array<std::string_view, 3> kFunctions{"min", "max", "ceil_div"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word_part(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}

/// Computes while it parses; multiplication and division bind tighter.
class ExtentParser {
 public:
  ExtentParser(std::string_view text, const DimLookup& dim, const io::JsonPlace& place)
      : text_(text), dim_(dim), place_(place) {}

  std::int64_t parse() {
    if (text_.size() > kMaxBytes) {
      fail(fmt::format("has {} characters, more than {}", text_.size(), kMaxBytes));
    }
    const std::int64_t value = sum();
    if (at_ < text_.size()) {
      fail_here("an operator or the end");
    }
    return value;
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    place_.fail(fmt::format("the expression \"{}\" {}", io::printable(text_), problem));
  }

  [[noreturn]] void fail_here(std::string_view wanted) const {
    fail(fmt::format("needs {} at character {}", wanted, at_ + 1));
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }

  /// Whether `c` comes next; it is then behind.
  bool take(char c) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }

  void require(char c) {
    if (!take(c)) {
      fail_here(fmt::format("'{}'", c));
    }
  }

  std::int64_t sum() {
    std::int64_t value = product();
    for (;;) {
      std::int64_t result = 0;
      if (take('+')) {
        check(__builtin_add_overflow(value, product(), &result));
      } else if (take('-')) {
        check(__builtin_sub_overflow(value, product(), &result));
      } else {
        skip_blanks();
        return value;
      }
      value = result;
    }
  }

  std::int64_t product() {
    std::int64_t value = operand();
    for (;;) {
      if (take('*')) {
        std::int64_t result = 0;
        check(__builtin_mul_overflow(value, operand(), &result));
        value = result;
      } else if (take('/')) {
        const std::int64_t divisor = positive(operand());
        if (value % divisor != 0) {
          fail(fmt::format("divides {} by {}, which leaves a remainder (ceil_div(a, b) rounds up)",
                           value, divisor));
        }
        value /= divisor;
      } else {
        return value;
      }
    }
  }

  std::int64_t operand() {
    if (++depth_ > kMaxDepth) {
      fail(fmt::format("is nested deeper than {} levels", kMaxDepth));
    }
    skip_blanks();
    std::int64_t value = 0;
    if (at_ < text_.size() && is_digit(text_[at_])) {
      value = number();
    } else if (at_ < text_.size() && is_letter(text_[at_])) {
      value = word();
    } else if (take('(')) {
      value = sum();
      require(')');
    } else {
      fail_here("a number, a dimension or '('");
    }
    --depth_;
    return value;
  }

  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    check(error != std::errc());
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  std::int64_t word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word_part(text_[at_])) {
      ++at_;
    }
    const std::string name(text_.substr(begin, at_ - begin));
    return take('(') ? call(name) : dim_(name);
  }

  std::int64_t call(const std::string& function) {
    if (std::find(kFunctions.begin(), kFunctions.end(), function) == kFunctions.end()) {
      fail("has the unknown function " + base::unknown_name(io::printable(function), kFunctions));
    }
    const std::int64_t a = sum();
    require(',');
    const std::int64_t b = sum();
    require(')');
    if (function == "min") {
      return std::min(a, b);
    }
    if (function == "max") {
      return std::max(a, b);
    }
    const std::int64_t divisor = positive(b);
    return a / divisor + (a % divisor > 0 ? 1 : 0);
  }

  std::int64_t positive(std::int64_t divisor) const {
    if (divisor <= 0) {
      fail(fmt::format("divides by {}", divisor));
    }
    return divisor;
  }

  void check(bool overflow) const {
    if (overflow) {
      fail("exceeds 64 bits");
    }
  }

  std::string_view text_;
  const DimLookup& dim_;
  const io::JsonPlace& place_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

std::int64_t evaluate_extent(std::string_view text, const DimLookup& dim,
                             const io::JsonPlace& place) {
  return ExtentParser(text, dim, place).parse();
}

bool is_dim_name(std::string_view name) {
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), is_word_part);
}

}  // namespace sptc::workload
