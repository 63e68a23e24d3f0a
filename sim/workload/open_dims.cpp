// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/open_dims.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
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

std::int64_t OpenDims::value_or_missing(const std::string& name) {
  const auto value = given(name);
  if (!value && std::find(missing_.begin(), missing_.end(), name) == missing_.end()) {
    missing_.push_back(name);
  }
  return value.value_or(1);
}

void OpenDims::refuse_missing() const {
  if (missing_.empty()) {
    return;
  }
  std::string names, example;
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    const std::string name = io::printable(missing_[i]);
    names += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == missing_.size() ? " and " : ", ", name);
    example += fmt::format("{}{}=1", i == 0 ? "" : ",", name);
  }
  const bool one = missing_.size() == 1;
  throw base::InputError(fmt::format("{}: the {} {} open: give {}, for example --dim {}", file_,
                                     one ? "dimension " + names : "dimensions " + names,
                                     one ? "is" : "are", one ? "it" : "them", example));
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
