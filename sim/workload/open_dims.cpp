// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/open_dims.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <vector>

namespace sptc::workload {

std::optional<std::int64_t> OpenDims::given(const std::string& name) {
  asked_.insert(name);
  const auto found = given_.find(name);
  return found == given_.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t OpenDims::value(const std::string& name, std::string_view hint) {
  if (const auto value = given(name)) {
    return *value;
  }
  throw base::InputError(
      fmt::format("{}: the dimension '{}' is open: give it, for example --dim {}", file_,
                  io::printable(name), hint));
}

void OpenDims::refuse_unused() const {
  for (const auto& [name, value] : given_) {
    if (!asked_.contains(name)) {
      const std::vector<std::string_view> names(asked_.begin(), asked_.end());
      throw base::InputError(fmt::format("{} has no open dimension {}", file_,
                                         base::unknown_name(io::printable(name), names)));
    }
  }
}

}  // namespace sptc::workload
