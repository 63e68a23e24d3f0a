// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace sptc::compare {

/// Throws InputError where `list`, which `option` gave, has a name or number twice.
template <typename Name>
void require_each_once(const char* option, std::vector<Name> list) {
  std::ranges::sort(list);
  if (const auto again = std::ranges::adjacent_find(list); again != list.end()) {
    throw base::InputError(fmt::format("{} names '{}' twice", option, *again));
  }
}

}  // namespace sptc::compare
