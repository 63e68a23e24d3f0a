// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::sweep {

/// An expression over the axes of a sweep: "sms * dot_units <= 3456 and (dtype == 'f16' or not
/// stages > 4)". Operands are axis names, numbers, 'words', true and false (1 and 0); operators,
/// tightest first: unary -; * / %; + -; comparisons; not; and; or. Numbers are doubles.
class Condition {
 public:
  /// Throws InputError at `place` for anything that is no expression over `axes`.
  Condition(std::string_view text, std::span<const std::string> axes, const io::JsonPlace& place);

  /// The value of axis i.
  using Lookup = std::function<const nlohmann::json&(std::size_t axis)>;

  /// Whether it is true (not 0) at a point. Throws InputError where a word meets a number, or
  /// arithmetic gives no finite number, as 1 / 0.
  bool holds(const Lookup& axis) const;

 private:
  friend class ConditionParser;

  enum class Kind : std::uint8_t {
    kNumber,
    kText,
    kAxis,
    kNegate,
    kNot,
    kMultiply,
    kDivide,
    kRemainder,
    kAdd,
    kSubtract,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kNotEqual,
    kAnd,
    kOr,
  };
  struct Node {
    Kind kind;
    double number = 0;
    std::string text = {};
    std::size_t left = 0, right = 0;  ///< nodes; for kAxis, left is the axis
  };
  struct Value {
    bool is_text = false;
    double number = 0;
    std::string_view text;
  };

  Value evaluate(std::size_t index, const Lookup& axis) const;
  double number(std::size_t node, const Lookup& axis) const;
  double arithmetic(Kind kind, double left, double right) const;
  bool compare(const Node& node, const Lookup& axis) const;

  std::string text_;
  io::JsonPlace place_;
  std::vector<Node> nodes_;
  std::size_t root_ = 0;
};

}  // namespace sptc::sweep
