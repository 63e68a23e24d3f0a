// SPDX-License-Identifier: Apache-2.0
//
// Why launches take their time and their energy, in text; empty where there is nothing to say.
#pragma once

#include "sim/run/run_result.h"

#include <array>
#include <string>
#include <string_view>

namespace sptc::report {

/// What the tensor cores of one launch do in its cycles, where it was simulated; how much faster it would be with twice
/// of each resource; dense above sparse, and explanation_sentence().
std::string explain(const run::OperationResult& operation);

/// What the sparse weights gain, and of each variant what its tensor cores do and what would make it faster.
std::string explanation_sentence(const run::OperationResult& operation);

/// A part of the machine and what it takes.
struct EnergyShare {
  std::string_view name;
  double uj = 0;
};

/// The energy in four shares: tensor cores, what is near them, memory, and the rest.
std::array<EnergyShare, 4> energy_shares(const run::EnergyResult& energy);

/// Where the joules of one launch go, by level of the machine, dense above sparse, and a sentence: what sparsity saves,
/// and what it adds (metadata, selection). Empty where no energies are known.
std::string explain_energy(const run::OperationResult& operation);

/// The sentence alone, of `weights` ("2:4") against dense ones.
std::string energy_sentence(std::string_view weights, const run::EnergyResult& dense, const run::EnergyResult& sparse);

/// How many samples the network classifies right.
std::string accuracy_text(const run::RunResult& result);

/// --explain: why each operation takes its time and its energy.
std::string explanation_text(const run::RunResult& result);

}  // namespace sptc::report
