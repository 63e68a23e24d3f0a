// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sptc::sim {

/// The numbers of a point by the names of their columns, in the order in which they were added.
class PointFigures {
 public:
  using Number = std::variant<std::int64_t, double>;

  PointFigures() = default;
  /// What names() and numbers() of another one returned.
  PointFigures(std::string names, std::vector<Number> numbers)
      : names_(std::move(names)), numbers_(std::move(numbers)) {}

  /// `parts` of the name, those that are not empty joined by '_': {"dense", "time_us"}. Infinities
  /// and NaN are left out: SQL has no word for them.
  void add(std::initializer_list<std::string_view> parts, Number number) {
    const double* const real = std::get_if<double>(&number);
    if (real != nullptr && !std::isfinite(*real)) {
      return;
    }
    std::string_view between;
    for (const std::string_view part : parts) {
      if (!part.empty()) {
        names_ += between;
        names_ += part;
        between = "_";
      }
    }
    names_ += '\n';
    numbers_.push_back(number);
  }

  /// Each followed by a line feed. Points of one kind have equal ones.
  const std::string& names() const { return names_; }
  const std::vector<Number>& numbers() const { return numbers_; }

 private:
  std::string names_;
  std::vector<Number> numbers_;
};

}  // namespace sptc::sim
