// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/config/config_fwd.h"
#include "sim/run/run_result.h"

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace sptc::check::times {

/// Mean errors of gains in percent, by EvidenceDistance::Where: nothing where it is not known.
using ErrorsByDistance = std::array<std::optional<double>, 4>;

/// The errors in the text of evidence/distance.json, which scripts/evidence_distance.py writes. `file` is for messages.
/// Throws InputError.
ErrorsByDistance parse_errors_by_distance(std::string_view text, const std::string& file);

/// How near measured pairs are to the types of `result` on `architecture`: the files of evidence/ name the boards that
/// were measured, and architecture files their chips and generations. Of several types the farthest counts, of those
/// with both variants where there is any. Throws InputError for a bad file.
run::EvidenceDistance evidence_distance(const run::RunResult& result, const config::Architecture& architecture);

/// The same of `types`, one at least.
run::EvidenceDistance evidence_distance(const std::set<numerics::DataType>& types,
                                        const config::Architecture& architecture);

}  // namespace sptc::check::times
