// SPDX-License-Identifier: Apache-2.0
#include "sim/report/terminal.h"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace sptc::report {

bool is_terminal(int stream) {
  const char* const type = std::getenv("TERM");
  return ::isatty(stream) != 0 && type != nullptr && std::string_view(type) != "dumb";
}

bool has_color(int stream) {
  const char* const no_color = std::getenv("NO_COLOR");
  return is_terminal(stream) && (no_color == nullptr || *no_color == '\0');
}

}  // namespace sptc::report
