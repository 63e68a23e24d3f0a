// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <string>
#include <string_view>

namespace sptc::report {

/// Where the joules of one launch go, by level of the machine, dense above sparse, and a sentence:
/// what sparsity saves, and what it adds (metadata, selection). Empty where no energies are known.
std::string explain_energy(const run::OperationResult& operation);

/// The same for the sums over the network.
std::string explain_energy(const run::Totals& totals);

/// The sentence alone, of `weights` ("2:4") against dense ones.
std::string energy_sentence(std::string_view weights, const run::EnergyResult& dense,
                            const run::EnergyResult& sparse);

/// An energy beside a total of `total_uj`: as many decimals as tell a ten-thousandth of that, one
/// at least.
std::string uj_text(double uj, double total_uj);

/// Whether uj_text() would print more than zeros.
bool uj_shows(double uj, double total_uj);

}  // namespace sptc::report
