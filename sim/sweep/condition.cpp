// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/condition.h"

#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace sptc::sweep {
namespace {

constexpr std::size_t kMaxLength = 4096;  // evaluation is recursive

}  // namespace

/// Recursive descent, one function per level of binding.
class ConditionParser {
 public:
  using Kind = Condition::Kind;

  ConditionParser(Condition& target, std::string_view text, std::span<const std::string> axes)
      : target_(target), text_(text), axes_(axes) {}

  void parse() {
    target_.root_ = either();
    skip_space();
    if (at_ != text_.size()) {
      fail(fmt::format("'{}' is not expected", io::printable(text_.substr(at_))));
    }
  }

 private:
  using Operators = std::initializer_list<std::pair<std::string_view, Kind>>;

  [[noreturn]] void fail(const std::string& problem) const {
    target_.place_.fail(fmt::format("in '{}': {}", io::printable(text_), problem));
  }

  std::size_t add(Condition::Node node) {
    target_.nodes_.push_back(std::move(node));
    return target_.nodes_.size() - 1;
  }

  /// The operand is parsed first: what throws inside the braces of a node makes GCC 12 destroy a
  /// part of it that is gone.
  std::size_t add_unary(Kind kind, std::size_t operand) { return add({kind, 0, {}, operand}); }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }

  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }

  bool accept(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) {
      return false;
    }
    const std::size_t end = at_ + token.size();
    if (is_word(token.front()) && end < text_.size() && is_word(text_[end])) {
      return false;
    }
    at_ = end;
    return true;
  }

  template <typename Operand>
  std::size_t chain(Operand operand, Operators operators) {
    std::size_t left = operand();
    while (true) {
      std::optional<Kind> found;
      for (const auto& [token, kind] : operators) {
        if (!found && accept(token)) {
          found = kind;
        }
      }
      if (!found) {
        return left;
      }
      const std::size_t right = operand();
      left = add({*found, 0, {}, left, right});
    }
  }

  std::size_t either() {
    return chain([&] { return both(); }, {{"or", Kind::kOr}});
  }
  std::size_t both() {
    return chain([&] { return negation(); }, {{"and", Kind::kAnd}});
  }
  std::size_t negation() {
    return accept("not") ? add_unary(Kind::kNot, negation()) : comparison();
  }
  std::size_t comparison() {
    return chain([&] { return sum(); }, {{"<=", Kind::kLessEqual},
                                         {">=", Kind::kGreaterEqual},
                                         {"==", Kind::kEqual},
                                         {"!=", Kind::kNotEqual},
                                         {"<", Kind::kLess},
                                         {">", Kind::kGreater}});
  }
  std::size_t sum() {
    return chain([&] { return product(); }, {{"+", Kind::kAdd}, {"-", Kind::kSubtract}});
  }
  std::size_t product() {
    return chain([&] { return unary(); },
                 {{"*", Kind::kMultiply}, {"/", Kind::kDivide}, {"%", Kind::kRemainder}});
  }

  std::size_t unary() {
    if (++depth_ > kMaxDepth) {
      fail(fmt::format("nested deeper than {} levels", kMaxDepth));
    }
    std::size_t result = 0;
    if (accept("-")) {
      result = add_unary(Kind::kNegate, unary());
    } else if (accept("(")) {
      result = either();
      if (!accept(")")) {
        fail("a ')' is missing");
      }
    } else {
      result = operand();
    }
    --depth_;
    return result;
  }

  std::size_t operand() {
    skip_space();
    if (at_ == text_.size()) {
      fail("an operand is missing at the end");
    }
    const char c = text_[at_];
    if (c == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      if (end == std::string_view::npos) {
        fail("a word does not end with '");
      }
      const std::string word(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
      return add({Kind::kText, 0, word});
    }
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') {
      double value = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc()) {
        fail(fmt::format("'{}' is no number", io::printable(text_.substr(at_))));
      }
      at_ = static_cast<std::size_t>(end - text_.data());
      return add({Kind::kNumber, value});
    }
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) {
      ++end;
    }
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) {
      fail(fmt::format("'{}' is not expected", io::printable(text_.substr(at_))));
    }
    at_ = end;
    if (word == "true" || word == "false") {
      return add({Kind::kNumber, word == "true" ? 1.0 : 0.0});
    }
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (axes_[i] == word) {
        return add({Kind::kAxis, 0, {}, i});
      }
    }
    const std::vector<std::string_view> allowed(axes_.begin(), axes_.end());
    fail("unknown axis " + base::unknown_name(word, allowed));
  }

  static constexpr int kMaxDepth = 64;
  Condition& target_;
  std::string_view text_;
  std::span<const std::string> axes_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

Condition::Condition(std::string_view text, std::span<const std::string> axes,
                     const io::JsonPlace& place)
    : text_(text), place_(place) {
  if (text.size() > kMaxLength) {
    place.fail(fmt::format("a condition has at most {} characters", kMaxLength));
  }
  ConditionParser(*this, text, axes).parse();
}

bool Condition::holds(const Lookup& axis) const {
  return number(root_, axis) != 0;
}

double Condition::number(std::size_t node, const Lookup& axis) const {
  const Value value = evaluate(node, axis);
  if (value.is_text) {
    place_.fail(fmt::format("in '{}': '{}' is a word where a number belongs", io::printable(text_),
                            io::printable(value.text)));
  }
  return value.number;
}

double Condition::arithmetic(Kind kind, double left, double right) const {
  const auto finite = [&](char sign, double result) {
    if (!std::isfinite(result)) {
      place_.fail(fmt::format("in '{}': {} {} {} is no finite number", io::printable(text_), left,
                              sign, right));
    }
    return result;
  };
  switch (kind) {
    case Kind::kMultiply:
      return finite('*', left * right);
    case Kind::kDivide:
      return finite('/', left / right);
    case Kind::kRemainder:
      return finite('%', std::fmod(left, right));
    case Kind::kAdd:
      return finite('+', left + right);
    default:
      return finite('-', left - right);
  }
}

bool Condition::compare(const Node& node, const Lookup& axis) const {
  const Value left = evaluate(node.left, axis);
  const Value right = evaluate(node.right, axis);
  if (left.is_text != right.is_text) {
    place_.fail(fmt::format("in '{}': the word '{}' is compared with a number",
                            io::printable(text_),
                            io::printable(left.is_text ? left.text : right.text)));
  }
  const auto order =
      left.is_text ? std::partial_ordering(left.text <=> right.text) : left.number <=> right.number;
  switch (node.kind) {
    case Kind::kLess:
      return order < 0;
    case Kind::kLessEqual:
      return order <= 0;
    case Kind::kGreater:
      return order > 0;
    case Kind::kGreaterEqual:
      return order >= 0;
    case Kind::kEqual:
      return order == 0;
    default:
      return order != 0;
  }
}

Condition::Value Condition::evaluate(std::size_t index, const Lookup& axis) const {
  const Node& node = nodes_[index];
  const auto left = [&] { return number(node.left, axis); };
  const auto right = [&] { return number(node.right, axis); };
  switch (node.kind) {
    case Kind::kNumber:
      return {false, node.number, {}};
    case Kind::kText:
      return {true, 0, node.text};
    case Kind::kAxis: {
      const nlohmann::json& value = axis(node.left);
      if (value.is_string()) {
        return {true, 0, value.get_ref<const std::string&>()};
      }
      return {false, value.is_boolean() ? double(value.get<bool>()) : value.get<double>(), {}};
    }
    case Kind::kNegate:
      return {false, -left(), {}};
    case Kind::kNot:
      return {false, double(left() == 0), {}};
    case Kind::kMultiply:
    case Kind::kDivide:
    case Kind::kRemainder:
    case Kind::kAdd:
    case Kind::kSubtract:
      return {false, arithmetic(node.kind, left(), right()), {}};
    case Kind::kAnd:
      return {false, double(left() != 0 && right() != 0), {}};
    case Kind::kOr:
      return {false, double(left() != 0 || right() != 0), {}};
    default:
      return {false, double(compare(node, axis)), {}};
  }
}

}  // namespace sptc::sweep
