// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/cost_factor.h"
#include "sim/sweep/sweep_spec.h"

namespace sptc::sweep {

/// The constants that energies and areas of a sweep depend on, and which of them each point has:
/// points of one energy file, type of operands and power of the board at rest share all of them.
struct CostSets {
  struct Set {
    energy::PartFactors energy{};
    energy::AreaFactors area{};

    bool operator==(const Set&) const = default;
  };

  std::vector<energy::CostFactor> factors;
  std::vector<Set> sets;
  std::vector<std::string> axes;  ///< whose values say which set a point has
  /// Sets by the values of `axes`. Points without energies have none.
  std::map<std::vector<std::string>, std::size_t> set_of;
};

/// Sets of a sweep. Ranges are those of the energy files at the time of the call.
CostSets cost_sets(const SweepSpec& spec);

/// {"factors": [[low, high, under], ...], "sets": [{"energy": [...], "area": [...]}, ...],
/// "axes": [...], "points": [[value, ..., set], ...]}.
nlohmann::json to_json(const CostSets& sets);

/// Throws InputError, which begins with `file`, where `json` is not what to_json() returns.
CostSets parse_cost_sets(const nlohmann::json& json, const std::string& file);

/// How near to the boards of a sweep its types were measured, dense and sparse: a line for each
/// architecture, and one for points that vary its parameters. Of several types the farthest counts.
std::vector<std::string> evidence_lines(const SweepSpec& spec);

}  // namespace sptc::sweep
