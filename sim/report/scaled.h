// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sptc::report {

/// Three digits and the unit that fits: "12.5 us", "1.69 ms", "3.2 s".
std::string scaled_time(double us);
/// "448 mJ".
std::string scaled_energy(double uj);

}  // namespace sptc::report
