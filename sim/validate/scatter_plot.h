// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/validate/accuracy.h"

#include <span>
#include <string>

namespace sptc::sim {

/// An SVG image: measured time across, simulated / measured upwards, both logarithmic, one dot per
/// row, coloured by n, with lines at 1 and at plus and minus 10 %.
std::string scatter_plot(std::span<const Comparison> rows, const std::string& title);

}  // namespace sptc::sim
