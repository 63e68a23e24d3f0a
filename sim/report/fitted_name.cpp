// SPDX-License-Identifier: Apache-2.0
#include "sim/report/fitted_name.h"

#include "models/base/text.h"

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

}  // namespace sptc::report
