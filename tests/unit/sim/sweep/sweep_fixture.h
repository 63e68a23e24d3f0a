// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/text_file.h"
#include "sim/sweep/coordinator.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/sweep_store.h"
#include "tests/support/temporary_directory.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sptc::sweep {

/// A spec of two GEMMs; `changes` replaces its keys.
inline nlohmann::json spec_json(const nlohmann::json& changes = nlohmann::json::object()) {
  nlohmann::json spec = nlohmann::json::parse(R"({"schema": "sptcsim-sweep/0.1", "name": "test",
      "workloads": [{"m": 16, "n": 16, "k": 16}, {"m": 32, "n": 16, "k": 16}],
      "axes": [{"parameter": "/sms", "values": [54, 108, 27]},
               {"option": "seed", "values": [1, 2]}]})");
  spec.update(changes);
  return spec;
}

inline SweepPlan make_plan(const nlohmann::json& changes = nlohmann::json::object()) {
  return SweepPlan(parse_sweep_spec(spec_json(changes).dump(), "spec.json"));
}

inline std::vector<std::uint64_t> positions(const SweepPlan& plan) {
  return positions_of(plan, {});
}

/// Stores the first `most` points of `plan`, which `fill` completes, in `results`, and finishes
/// them.
inline void store_points(const std::filesystem::path& results, const SweepPlan& plan,
                         const std::function<void(PointOutcome& outcome)>& fill, std::size_t most = SIZE_MAX) {
  SweepStore store(results, plan, {});
  for (const std::uint64_t position : positions(plan)) {
    if (store.size() < most) {
      PointOutcome outcome;
      outcome.position = position;
      fill(outcome);
      store.add({&outcome, 1});
    }
  }
  store.finish();
}

}  // namespace sptc::sweep
