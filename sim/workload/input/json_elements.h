// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload::input {

/// The keys of the JSON object that `head` begins, as far as it goes; none where it begins none.
std::vector<std::string> top_level_keys(std::string_view head);

/// Gets an object or array among the elements of the list `key`, and its number among them.
using OnElement = std::function<void(std::string_view key, std::size_t number, const nlohmann::json& element)>;

/// Reads JSON of any size, mended where writers of traces err, and hands over the elements of those
/// arrays whose keys in the outermost object are in `keys`; "" is an outermost array. Integers
/// beyond 64 bits are the largest. Returns what was mended, one sentence. Throws InputError.
std::string read_elements(std::istream& stream, const std::string& file, const std::vector<std::string_view>& keys,
                          const OnElement& on_element);

}  // namespace sptc::workload::input
