// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/profile/torch_call.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sptc::workload::profile {

/// The integers of "[1, 1]"; nothing where it is none.
std::optional<std::vector<std::int64_t>> integers_of(std::string_view text);

/// What a convolution launches whose inputs are x, w, and, where these places say, its padding and
/// stride; dilation and groups follow them.
void read_convolution(const TorchCall& call, std::size_t pad_input, std::size_t stride_input,
                      RecordedLaunch& launch);

}  // namespace sptc::workload::profile
