// SPDX-License-Identifier: Apache-2.0
#include "sim/report/html_page.h"

#include "models/base/error.h"

#include <cstddef>

namespace sptc::report {

std::string html_page(std::string_view page, std::string_view json) {
  constexpr std::string_view kPlace = "[[DATA]]";
  constexpr std::string_view kEscaped = "\\u003c";
  // Inside a script element only "</" and "<!--" could end the data early.
  std::string data;
  data.reserve(json.size() + json.size() / 64);
  for (const char c : json) {
    if (c == '<') {
      data += kEscaped;
    } else {
      data += c;
    }
  }
  const std::size_t at = page.find(kPlace);
  base::ensure(at != std::string_view::npos, "a page has no place for its data");
  std::string result(page.substr(0, at));
  result += data;
  result += page.substr(at + kPlace.size());
  return result;
}

}  // namespace sptc::report
