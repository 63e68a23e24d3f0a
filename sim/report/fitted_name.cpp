// SPDX-License-Identifier: Apache-2.0
#include "sim/report/fitted_name.h"

#include <algorithm>

namespace sptc::report {

std::string fitted_name(std::string_view name, std::size_t width) {
  std::string result(name);
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  if (result.size() <= width) {
    return result;
  }
  std::size_t end = width - 2;
  while (end > 0 && (static_cast<unsigned char>(result[end]) & 0xC0) == 0x80) {
    --end;
  }
  return result.substr(0, end) + "..";
}

}  // namespace sptc::report
