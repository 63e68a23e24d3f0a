// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers.h"

#include <algorithm>
#include <vector>

namespace sptc::fuzz {

std::span<const Reader> readers() {
  static const std::vector<Reader> all = [] {
    std::vector<Reader> united;
    for (const std::span<const Reader> part :
         {workload_readers(), configuration_readers(), tensor_readers(), comparison_readers(), sweep_readers()}) {
      united.insert(united.end(), part.begin(), part.end());
    }
    return united;
  }();
  return all;
}

const Reader* find_reader(std::string_view name) {
  const auto all = readers();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Reader& reader) { return reader.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace sptc::fuzz
