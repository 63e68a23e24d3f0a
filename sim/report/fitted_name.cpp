// SPDX-License-Identifier: Apache-2.0
#include "sim/report/fitted_name.h"

#include "models/base/text.h"

#include <algorithm>

namespace sptc::report {
namespace {

constexpr std::string_view kCut = "..";

/// Of a character of UTF-8 all bytes but the first.
bool is_within_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
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
    const bool plain =
        (static_cast<unsigned char>(result[begin]) & 0x80) == 0 && result[begin] != '\\';
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

}  // namespace sptc::report
