// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/json_head.h"

#include <cctype>

namespace sptc::workload::input {

std::vector<std::string> top_level_keys(std::string_view head) {
  std::vector<std::string> keys;
  int depth = 0;
  bool key_may_follow = false;
  for (std::size_t at = 0; at < head.size(); ++at) {
    const char c = head[at];
    if (depth == 0 && c != '{' && std::isspace(static_cast<unsigned char>(c)) == 0) {
      return keys;
    }
    if (c == '"') {
      const std::size_t begin = ++at;
      while (at < head.size() && head[at] != '"') {
        at += head[at] == '\\' ? 2 : 1;
      }
      if (depth == 1 && key_may_follow && at < head.size()) {
        keys.emplace_back(head.substr(begin, at - begin));
        key_may_follow = false;
      }
    } else if (c == '{' || c == '[') {
      ++depth;
      key_may_follow = depth == 1;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) {
        return keys;
      }
    } else if (c == ',' && depth == 1) {
      key_may_follow = true;
    }
  }
  return keys;
}

}  // namespace sptc::workload::input
