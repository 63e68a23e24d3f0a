// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload::input {

/// The keys of the JSON object that `head` begins, as far as it goes; none where it begins none.
std::vector<std::string> top_level_keys(std::string_view head);

}  // namespace sptc::workload::input
