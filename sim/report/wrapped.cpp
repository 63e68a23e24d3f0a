// SPDX-License-Identifier: Apache-2.0
#include "sim/report/wrapped.h"

#include <sstream>

namespace sptc::report {

std::string wrapped(const std::string& text, std::size_t width) {
  std::string out, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line = word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return line.empty() ? out : out + line + "\n";
}

}  // namespace sptc::report
