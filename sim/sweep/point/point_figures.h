// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sptc::sweep::point {

/// Values by the names of their columns, in the order in which they were added. Kept as two runs of
/// bytes: a sweep carries millions of them from process to process.
class PointFigures {
 public:
  using Value = std::variant<std::int64_t, double, std::string_view>;

  PointFigures() = default;
  /// What names() and bytes() of another one returned.
  PointFigures(std::string names, std::string bytes)
      : names_(std::move(names)), bytes_(std::move(bytes)) {}

  /// `parts` of the name, those that are not empty joined by '_': {"dense", "time_us"}. Infinities
  /// and NaN are left out: SQL has no word for them.
  void add(std::initializer_list<std::string_view> parts, const Value& value);

  /// Each followed by a line feed. Points of one kind have equal ones.
  const std::string& names() const { return names_; }
  const std::string& bytes() const { return bytes_; }

  /// Takes the first value off `bytes`. Throws std::logic_error where there is no whole one.
  static Value take(std::string_view& bytes);

 private:
  std::string names_;
  std::string bytes_;
};

}  // namespace sptc::sweep::point
