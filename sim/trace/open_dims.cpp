// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/open_dims.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/config/text_file.h"

#include <fmt/format.h>

#include <vector>

namespace sptc::sim {

std::optional<std::int64_t> OpenDims::given(const std::string& name) {
  asked_.insert(name);
  const auto found = given_.find(name);
  return found == given_.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t OpenDims::value(const std::string& name, std::string_view hint) {
  if (const auto value = given(name)) {
    return *value;
  }
  throw InputError(fmt::format("{}: the dimension '{}' is open: give it, for example --dim {}",
                               file_, printable(name), hint));
}

void OpenDims::refuse_unused() const {
  for (const auto& [name, value] : given_) {
    if (!asked_.contains(name)) {
      const std::vector<std::string_view> names(asked_.begin(), asked_.end());
      throw InputError(
          fmt::format("{} has no open dimension {}", file_, unknown_name(printable(name), names)));
    }
  }
}

}  // namespace sptc::sim
