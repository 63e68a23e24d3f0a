// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_crosscheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sptc::check::kernel {
namespace {

/// 1 where an element is in a place that is explained, or everything is.
WrongElements explained_elements(const KernelDiagnosis& diagnosis) {
  WrongElements explained(diagnosis.wrong.rows(), diagnosis.wrong.cols(), diagnosis.fitting.empty() ? 0 : 1);
  for (const FaultLocation* const location : {&diagnosis.location, &diagnosis.beyond_rounding}) {
    location->each_explained([&](std::size_t row, std::size_t column) { explained(row, column) = 1; });
  }
  return explained;
}

}  // namespace

MismatchMap mismatch_map(const KernelDiagnosis& diagnosis, std::size_t most_rows, std::size_t most_columns) {
  struct Count {
    std::size_t total, bad, known;
  };
  const bool two = diagnosis.populations.are_two();
  const WrongElements explained = explained_elements(diagnosis);
  const WrongElements& wrong = diagnosis.wrong;
  const auto is_shown = [&](std::size_t i, std::size_t j) {
    return wrong(i, j) != 0 && (!two || explained(i, j) != 0 || diagnosis.populations.beyond_rounding(i, j) != 0);
  };
  const auto quotient = [](std::size_t count, std::size_t by) { return (count + by - 1) / by; };
  MismatchMap map;
  map.by_size = !two && diagnosis.fitting.empty() && !diagnosis.location.has_fault();
  map.height = std::bit_ceil(quotient(wrong.rows(), most_rows));
  map.width = std::bit_ceil(quotient(wrong.cols(), most_columns));
  const std::size_t rows = quotient(wrong.rows(), map.height), columns = quotient(wrong.cols(), map.width);
  base::Matrix<Count> counts(rows, columns);
  map.digits = map.cells = base::Matrix<std::uint8_t>(rows, columns);
  for (std::size_t i = 0; i < wrong.rows(); ++i) {
    for (std::size_t j = 0; j < wrong.cols(); ++j) {
      const std::size_t row = i / map.height, column = j / map.width;
      Count& count = counts(row, column);
      ++count.total;
      count.bad += is_shown(i, j) ? 1 : 0;
      count.known += is_shown(i, j) && explained(i, j) != 0 ? 1 : 0;
      map.digits(row, column) = std::max(map.digits(row, column), diagnosis.digits(i, j));
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& [total, bad, known] = counts.data()[i];
    map.cells.data()[i] = static_cast<std::uint8_t>(bad == 0 ? 0 : (bad == total ? 2 : 1) + (known == bad ? 2 : 0));
  }
  return map;
}

std::string map_text(const KernelDiagnosis& diagnosis) {
  constexpr std::size_t kMostRows = 32, kMostColumns = 64;
  constexpr std::string_view kCharacters = ".+#+#";
  if (diagnosis.wrong.empty() || diagnosis.is_right()) {
    return "";
  }
  const MismatchMap map = mismatch_map(diagnosis, kMostRows, kMostColumns);
  if (!map.by_size && std::count(map.cells.data(), map.cells.data() + map.cells.size(), 0) == 0) {
    return "";
  }
  std::string text = fmt::format("map of D, a character for {} x {} elements (", map.height, map.width);
  text += map.by_size                       ? ". equal, else the digits of the largest error in ulps, * NaN):\n"
          : diagnosis.populations.are_two() ? ". equal or off by rounding, + some off by more, # all off by more):\n"
                                            : ". equal, + some differ, # all differ):\n";
  for (std::size_t row = 0; row < map.cells.rows(); ++row) {
    text += fmt::format("{:>8}  ", row * map.height);
    for (std::size_t column = 0; column < map.cells.cols(); ++column) {
      const std::uint8_t digits = map.digits(row, column);
      const bool is_number = digits != KernelDiagnosis::kNoDigits;
      text += !map.by_size  ? kCharacters[map.cells(row, column)]
              : digits == 0 ? '.'
              : is_number   ? static_cast<char>('0' + std::min<int>(digits, 9))  // of f32 no more than 10 digits
                            : '*';
    }
    text += '\n';
  }
  return text;
}

}  // namespace sptc::check::kernel
