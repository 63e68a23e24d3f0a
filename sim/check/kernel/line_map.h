// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::check::kernel {

/// Line `first` has what belongs to line `second`.
using LineMap = std::vector<std::pair<std::size_t, std::size_t>>;

/// Whether the lines of `map` exchange places among each other.
bool is_permutation(const LineMap& map);
/// c where every line i has what belongs to i ^ c; s where to i + s. `map` must not be empty.
std::optional<std::size_t> common_flip(const LineMap& map);
std::optional<std::ptrdiff_t> common_shift(const LineMap& map);
/// "rows 3 and 11 are exchanged", "rows 64 to 127 hold rows 0 to 63", "row i holds row i ^ 8 ...";
/// `unit`: "row", "column".
std::string describe_moved(const LineMap& map, std::string_view unit);
/// Of `count` lines the one whose content each has: `map`, else itself.
std::vector<std::size_t> sources_of(const LineMap& map, std::size_t count);

}  // namespace sptc::check::kernel
