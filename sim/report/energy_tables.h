// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/energy.h"
#include "sim/run/run_options.h"

#include <string>

namespace sptc::report {

/// The parts of one tensor core, what sparsity adds, and the whole GPU: what `energy area` prints.
std::string area_text(const run::AreaEstimate& estimate);
/// One JSON object (schema "sptcsim-area/0.1").
std::string area_json(const run::AreaEstimate& estimate);

/// Every number of an energy file with its range, evidence and source: what `energy show` prints.
std::string energy_numbers_text(const config::LoadedEnergy& energy);
/// One JSON object (schema "sptcsim-energy-numbers/0.1").
std::string energy_numbers_json(const config::LoadedEnergy& energy);

}  // namespace sptc::report
