// SPDX-License-Identifier: Apache-2.0
#include "sim/report/words.h"

#include "models/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <sstream>
#include <utility>

namespace sptc::report {
namespace {

constexpr std::string_view kCut = "..";

/// Whether `byte` is one of a character of UTF-8 but the first.
bool is_within_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// `value` of the second of `units`, each of which is a thousand of the one before it.
std::string scaled(double value, std::span<const std::string_view> units) {
  constexpr double kStep = 1000;
  constexpr double kRoundsUp = 999.5;
  std::size_t unit = 1;
  while (std::abs(value) >= kRoundsUp && unit + 1 < units.size()) {
    value /= kStep;
    ++unit;
  }
  while (std::abs(value) < kRoundsUp / kStep && value != 0 && unit > 0) {
    value *= kStep;
    --unit;
  }
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

}  // namespace

std::string fitted_name(std::string_view name, std::size_t width) {
  std::string result = base::escaped(name);
  if (result.size() <= width) {
    return result;
  }
  std::size_t end = width - kCut.size();
  while (end > 0 && is_within_character(result[end])) {
    --end;
  }
  return result.substr(0, end).append(kCut);
}

std::string fitted_layer(std::string_view name, std::size_t width) {
  constexpr std::string_view kBetween = "/.";
  constexpr std::string_view kDigits = "0123456789";
  std::string result = base::escaped(name);
  std::size_t begin = result.find_first_not_of(kBetween);
  while (result.size() > width && begin != std::string::npos) {
    const std::size_t end = result.find_first_of(kBetween, begin);
    if (end == std::string::npos) {
      break;  // the last word stays
    }
    const std::size_t number = std::min(end, result.find_first_of(kDigits, begin + 1));
    const bool plain = (static_cast<unsigned char>(result[begin]) & 0x80) == 0 && result[begin] != '\\';
    const bool names_the_layer = result.find_first_of(kBetween, end + 1) == std::string::npos;
    std::size_t behind = begin + 1 + result.size() - width + kCut.size();
    while (behind < number && is_within_character(result[behind])) {
      ++behind;
    }
    if (plain && names_the_layer && behind < number) {
      result.replace(begin + 1, behind - begin - 1, kCut);
    } else if (plain && number > begin + 1) {
      result.erase(begin + 1, number - begin - 1);
    }
    begin = result.find_first_not_of(kBetween, result.find_first_of(kBetween, begin));
  }
  return fitted_name(result, width);
}

std::string scaled_time(double us) {
  static constexpr std::array<std::string_view, 4> kUnits{"ns", "us", "ms", "s"};
  return scaled(us, kUnits);
}

std::string scaled_energy(double uj) {
  static constexpr std::array<std::string_view, 5> kUnits{"nJ", "uJ", "mJ", "J", "kJ"};
  return scaled(uj, kUnits);
}

std::string wrapped(const std::string& text, std::size_t width, std::string_view indent) {
  std::string out, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > width) {
      out += fmt::format("{}{}\n", indent, std::exchange(line, ""));
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + fmt::format("{}{}\n", indent, line);
}

std::string line_of(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace sptc::report
