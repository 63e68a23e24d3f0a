// SPDX-License-Identifier: Apache-2.0
#include "sim/report/fitted_name.h"

#include "models/base/text.h"

#include <algorithm>

namespace sptc::report {

std::string fitted_name(std::string_view name, std::size_t width) {
  std::string result = base::escaped(name);
  if (result.size() <= width) {
    return result;
  }
  std::size_t end = width - 2;
  while (end > 0 && (static_cast<unsigned char>(result[end]) & 0xC0) == 0x80) {
    --end;
  }
  return result.substr(0, end) + "..";
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
    if (plain && number > begin + 1) {
      result.erase(begin + 1, number - begin - 1);
    }
    begin = result.find_first_not_of(kBetween, result.find_first_of(kBetween, begin));
  }
  return fitted_name(result, width);
}

}  // namespace sptc::report
