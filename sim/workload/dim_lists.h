// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sptc::workload {

/// Named dimensions and the values that each takes.
using DimLists = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

/// `value` of dimension `name`. Throws InputError where no extent is as small or as large.
std::int64_t dim_in_range(const std::string& name, std::int64_t value);

/// The dimensions of the options --dim in `given`: "batch=1,8,64", "seq=384" or both as
/// "batch=1,8,64,seq=384". Throws InputError.
DimLists parse_dim_lists(const std::vector<std::string>& given);

/// The one value of each dimension. Throws InputError where one has several.
NamedDims single_values(const DimLists& lists);

/// All combinations, the last dimension fastest; one without dimensions where there is no list.
/// Throws InputError for more than 10,000.
std::vector<NamedDims> combinations(const DimLists& lists);

}  // namespace sptc::workload
