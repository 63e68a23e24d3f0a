// SPDX-License-Identifier: Apache-2.0
//
// Measured rows of boards: the files evidence/BOARD.csv of configuration directories.
#pragma once

#include "models/numerics/data_type.h"
#include "sim/check/times/measurements.h"
#include "sim/config/config_fwd.h"
#include "sim/run/run_result.h"
#include "sim/run/simulation_options.h"

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::check::times {

/// Measured rows of the board called `name`. Empty where there is no such file. Throws InputError for a bad one.
std::vector<Measurement> evidence_of(const std::string& name);

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

/// Mean errors of gains in percent, by EvidenceDistance::Where: nothing where it is not known.
using ErrorsByDistance = std::array<std::optional<double>, 4>;

/// The errors in the text of evidence/distance.json, which scripts/evidence_distance.py writes. `file` is for messages.
/// Throws InputError.
ErrorsByDistance parse_errors_by_distance(std::string_view text, const std::string& file);

/// How near measured pairs are to the types of `result` on `architecture`: evidence/ says which boards were measured,
/// and architecture files their chips and generations. Of several types the farthest counts, of those with both
/// variants where there is any. Throws InputError for a bad file.
run::EvidenceDistance evidence_distance(const run::RunResult& result, const config::Architecture& architecture);

/// The same of `types`, one at least.
run::EvidenceDistance evidence_distance(const std::set<numerics::DataType>& types,
                                        const config::Architecture& architecture);

}  // namespace sptc::check::times
