// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/times/measurements.h"
#include "sim/config/config_fwd.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"

#include <set>
#include <vector>

namespace sptc::check::times {

/// Measured rows of the board called `name`: evidence/NAME.csv of a configuration directory. Empty where there is no
/// such file. Throws InputError for a bad one.
std::vector<Measurement> evidence_of(const std::string& name);

/// Types of which `rows` have a pair, dense and sparse.
std::set<numerics::DataType> types_of_pairs(const std::vector<Measurement>& rows);

/// Whether `op` has the type and sparsity of `pair`, is one GEMM per launch, and has each of m, n, k within a factor of
/// two.
bool is_like(const run::OperationResult& op, const run::MeasuredPair& pair);

/// The pairs of `rows` that are like operations of `result`, as is_like() says. Each pair is simulated in closed form
/// on `architecture` under the conditions of its rows. The arithmetic and the library are those that `asked` names.
run::MeasuredGain measured_neighbours(const run::RunResult& result, const config::Architecture& architecture,
                                      const run::SimulationOptions& asked, const std::vector<Measurement>& rows);

/// The same with the rows of the board that `architecture` is called after.
run::MeasuredGain measured_neighbours(const run::RunResult& result, const config::Architecture& architecture,
                                      const run::SimulationOptions& asked);

}  // namespace sptc::check::times
