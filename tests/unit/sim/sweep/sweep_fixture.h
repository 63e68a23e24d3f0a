// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/text_file.h"
#include "sim/sweep/space/plan.h"
#include "sim/sweep/store/sweep_store.h"
#include "tests/support/temporary_directory.h"

#include <nlohmann/json.hpp>

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

inline space::SweepPlan make_plan(const nlohmann::json& changes = nlohmann::json::object(),
                                  const std::string& version = "1") {
  return {space::parse_sweep_spec(spec_json(changes).dump(), "spec.json"), version};
}

inline std::vector<std::uint64_t> positions(const space::SweepPlan& plan) {
  std::vector<std::uint64_t> result;
  plan.for_each([&](std::uint64_t position) {
    result.push_back(position);
    return true;
  });
  return result;
}

/// Stores each point of `plan`, which `fill` completes, in `results`, and finishes them.
inline void store_points(const std::filesystem::path& results, const space::SweepPlan& plan,
                         const std::function<void(point::PointOutcome& outcome)>& fill) {
  store::SweepStore store(results, plan, {});
  for (const std::uint64_t position : positions(plan)) {
    point::PointOutcome outcome;
    outcome.position = position;
    fill(outcome);
    store.add({&outcome, 1});
  }
  store.finish();
}

}  // namespace sptc::sweep
