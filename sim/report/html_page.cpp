// SPDX-License-Identifier: Apache-2.0
#include "sim/report/html_page.h"

#include "models/base/error.h"

#include <cstddef>

namespace sptc::report {

std::string html_page(std::string_view page, std::string_view json) {
  constexpr std::string_view kPlace = "[[DATA]]";
  constexpr std::string_view kEscaped = "\\u003c";
  // Inside a script element only "</" and "<!--" could end the data early.
  std::string data(json);
  for (std::size_t at = 0; (at = data.find('<', at)) != std::string::npos; at += kEscaped.size()) {
    data.replace(at, 1, kEscaped);
  }
  const std::size_t at = page.find(kPlace);
  base::ensure(at != std::string_view::npos, "a page has no place for its data");
  return std::string(page).replace(at, kPlace.size(), data);
}

}  // namespace sptc::report
