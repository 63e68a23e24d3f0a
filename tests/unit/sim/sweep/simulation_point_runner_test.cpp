// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/simulation_point_runner.h"

#include "sim/run/simulate.h"
#include "sim/sweep/plan.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <variant>

namespace sptc::sweep {
namespace {

using nlohmann::json;

SweepPlan checked(const json& changes) {
  return checked_plan(parse_sweep_spec(spec_json(changes).dump(), "spec.json"));
}

/// The figure called `wanted` of a point.
double figure(const PointOutcome& outcome, const std::string& wanted) {
  std::istringstream names(outcome.totals.names());
  std::string_view bytes = outcome.totals.bytes();
  for (std::string name; std::getline(names, name);) {
    const PointFigures::Value value = PointFigures::take(bytes);
    if (name == wanted) {
      return std::get<double>(value);
    }
  }
  ADD_FAILURE() << wanted;
  return 0;
}

TEST(SimulationPoints, AreWhatSimulateMakesOfTheSameOptions) {
  const SweepPlan plan = checked(
      {{"workloads", {{{"m", 4096}, {"n", 64}, {"k", 4096}}}},
       {"options", {{"fidelity", "analytic"}, {"check", "none"}, {"power-limit", 150}, {"warmup", 2}, {"repeat", 3}}},
       {"axes", {{{"option", "l2"}, {"values", {"cold", "warm"}}}}}});
  SimulationPointRunner runner;
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  options.check = run::CheckMode::kNone;
  options.power_limit_w = 150;
  options.warmup = 2;
  options.repeat = 3;
  double before = 0;
  for (const std::uint64_t position : positions(plan)) {
    options.conditions.l2.kind = position == 0 ? kernels::L2State::Kind::kCold : kernels::L2State::Kind::kWarm;
    const run::Totals totals =
        run::simulate(plan.spec().workloads[0].workload, config::load_architecture("a100-sxm4-80gb"), options).totals;
    const PointOutcome outcome = runner.run(plan, plan.point(position));
    EXPECT_EQ(figure(outcome, "dense_time_us"), totals.dense->time_us);
    EXPECT_EQ(figure(outcome, "sparse_time_us"), totals.sparse->time_us);
    EXPECT_NE(totals.dense->time_us, before);
    before = totals.dense->time_us;
  }
}

TEST(SimulationPoints, HaveOptionsThatTheTableKnows) {
  const auto plan_with = [](const std::string& option, const json& value) {
    return [=] { checked({{"options", {{option, value}}}}); };
  };
  support::expect_input_error(plan_with("fidelty", "timing"),
                              {"spec.json: /options: unknown option 'fidelty' (nearest valid: 'fidelity'"});
  support::expect_input_error(plan_with("power-limit", -1),
                              {"spec.json: /options: --power-limit must be a number of watts from 0.001"});
  for (const auto& [option, value] : {std::pair<const char*, json>("engine", "compiled"), {"tp", 2}, {"link", 300}}) {
    support::expect_input_error(plan_with(option, value), {"a sweep compares GEMMs alone"});
  }
  EXPECT_NO_THROW(plan_with("engine", "gemms")());
  support::expect_input_error(
      [] {
        checked({{"axes", {{{"option", "out"}, {"values", {"x"}}}}}});
      },
      {"spec.json: /axes/0: unknown option 'out'"});
  support::expect_input_error(
      [] {
        checked({{"where", "sms > 1000"}});
      },
      {"spec.json: /where: leaves none of the 12 points"});
}

}  // namespace
}  // namespace sptc::sweep
