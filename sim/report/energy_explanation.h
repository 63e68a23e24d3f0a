// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <string>

namespace sptc::sim {

/// Where the joules of one launch go, by level of the machine, dense above sparse, and a sentence:
/// what 2:4 saves, and what it adds (metadata, selection). Empty where no energies are known.
std::string explain_energy(const OperationResult& operation);

/// The same for the sums over the network.
std::string explain_energy(const Totals& totals);

/// The sentence alone; empty where not both variants have energies.
std::string energy_sentence(const EnergyResult& dense, const EnergyResult& sparse);

}  // namespace sptc::sim
