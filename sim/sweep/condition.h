// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sptc::sweep {

/// An expression of SQLite over the axes of a sweep: "sms * dot_units <= 3456 and (dtype == 'f16'
/// or not stages > 4)", "stages in (3, 4)". The number of an axis is a double, a word is text, true
/// and false are 1 and 0. For one thread at a time.
class Condition {
 public:
  /// Throws InputError at `place` for anything that is no expression over `axes`.
  Condition(std::string_view text, std::span<const std::string> axes, const io::JsonPlace& place);

  /// The value of axis i.
  using Lookup = std::function<const nlohmann::json&(std::size_t axis)>;

  /// Whether it is true (not 0) at a point. Throws InputError where it gives no number: a word, or
  /// nothing, as 1 / 0 does.
  bool holds(const Lookup& axis) const;

 private:
  class Statement;

  std::string text_;
  io::JsonPlace place_;
  std::size_t axes_;
  std::shared_ptr<Statement> statement_;
};

}  // namespace sptc::sweep
