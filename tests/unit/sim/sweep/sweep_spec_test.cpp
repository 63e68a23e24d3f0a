// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_spec.h"

#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <filesystem>
#include <string>
#include <utility>

namespace sptc::sweep {
namespace {

using nlohmann::json;

SweepSpec parse(const json& spec) {
  return parse_sweep_spec(spec.dump(), "spec.json");
}

/// The values of the axis that `axis` describes.
json values_of(json axis) {
  axis["parameter"] = "/boost_clock_mhz";
  const SweepSpec spec = parse(spec_json({{"axes", json::array({axis})}}));
  return json(spec.axes[2].values);
}

void expect_refused(const json& changes, std::string_view part) {
  support::expect_input_error([&] { parse(spec_json(changes)); }, {part});
}

void expect_axis_refused(const json& axis, std::string_view part) {
  expect_refused({{"axes", json::array({axis})}}, part);
}

TEST(SweepSpec, ReadsListsRangesAndRandomValues) {
  EXPECT_EQ(values_of({{"values", {100, 200.5}}}), json({100, 200.5}));
  EXPECT_EQ(values_of({{"range", {{"from", 100}, {"to", 130}, {"step", 10}}}}), json({100, 110, 120, 130}));
  EXPECT_EQ(values_of({{"range", {{"from", 0.1}, {"to", 0.3}, {"step", 0.1}}}}).size(), 3u);
  EXPECT_EQ(values_of({{"range", {{"from", 100}, {"to", 1000}, {"factor", 2}}}}), json({100, 200, 400, 800}));
}

// The first three draws, of mix_bits() computed elsewhere: of seed 3 the shares 0.02151, 0.73871
// and 0.45052 of the interval, of seed 4 the shares 0.12015, 0.56419 and 0.21979.
TEST(SweepSpec, DrawsRandomValuesByTheirSeedOnALinearOrALogarithmicScale) {
  const auto drawn = [](const json& changes) {
    json random = {{"from", 1}, {"to", 1000}, {"count", 3}, {"integer", true}, {"seed", 3}};
    random.update(changes);
    return values_of({{"random", random}});
  };
  EXPECT_EQ(drawn(json::object()), json({22, 739, 451})) << "1 + 999 * share";
  EXPECT_EQ(drawn({{"seed", 4}}), json({121, 565, 221}));
  EXPECT_EQ(drawn({{"scale", "log"}, {"to", 1024}}), json({1, 167, 23})) << "1024^share";
}

TEST(SweepSpec, NamesAxesAfterTheirTargetsAndFindsParametersByTheirLastKey) {
  const SweepSpec spec = parse(spec_json({{"axes",
                                           {{{"parameter", "max_warps"}, {"values", {32, 64}}},
                                            {{"option", "split-k"}, {"values", {1, 2}}},
                                            {{"option", "dtype"}, {"name", "type"}, {"values", {"f16"}}}}}}));
  EXPECT_EQ(spec.axes[2].target, "/sm/max_warps");
  EXPECT_EQ(spec.axes[2].name, "max_warps");
  EXPECT_EQ(spec.axes[3].name, "split_k");
  EXPECT_EQ(spec.axes[4].name, "type");
}

TEST(SweepSpec, RefusesAxesThatSayNothingOrTooMuch) {
  expect_axis_refused({{"values", {1}}}, "/axes/0: needs 'parameter', 'option' or 'dim'");
  expect_axis_refused({{"parameter", "/sms"}}, "needs exactly one of 'values'");
  expect_axis_refused({{"parameter", "/smss"}, {"values", {1, 2}}}, "unknown parameter '/smss'");
  expect_axis_refused({{"parameter", "/sms"}, {"values", {1, 1}}}, "/values/1: 1 stands twice");
  expect_axis_refused({{"parameter", "/sms"}, {"values", json::array()}}, "must not be empty");
  expect_axis_refused({{"parameter", "/sms"}, {"values", {nullptr, 1}}}, "/values/0");
  expect_axis_refused({{"parameter", "/sms"}, {"values", {108}}}, "changes nothing");
  expect_axis_refused({{"parameter", "/sms"}, {"values", {-1, 2}}}, "the value -1 is refused");
  expect_axis_refused({{"parameter", "/sms"}, {"values", {"many", 2}}}, "is refused");
  expect_axis_refused({{"parameter", "/sms"}, {"value", {1, 2}}}, "'values'");
  expect_axis_refused({{"option", "seed"}, {"name", "status"}, {"values", {1}}}, "'status'");
  expect_axis_refused({{"option", "seed"}, {"name", "sparse_x"}, {"values", {1}}}, "'sparse_x'");
  expect_axis_refused({{"option", "seed"}, {"name", "a b"}, {"values", {1}}}, "'a b'");
  expect_axis_refused({{"option", "x"}, {"range", {{"from", 2}, {"to", 1}, {"step", 1}}}}, "is above 'to'");
  for (const json& more : {json::object(), json{{"step", 1}, {"factor", 2}}}) {
    json range = {{"from", 1}, {"to", 4}};
    range.update(more);
    expect_axis_refused({{"option", "x"}, {"range", range}}, "needs either 'step' or 'factor'");
  }
  expect_axis_refused({{"option", "x"}, {"range", {{"from", 0}, {"to", 1e9}, {"step", 1}}}}, "at most 100000 values");
  expect_axis_refused({{"option", "x"}, {"range", {{"from", 0}, {"to", 1}, {"step", 0}}}}, "must be above 0");
  expect_axis_refused({{"option", "x"}, {"range", {{"from", 0}, {"to", 1}, {"factor", 2}}}}, "'from' above 0");
  expect_axis_refused({{"option", "x"}, {"random", {{"from", 1}, {"to", 4}, {"count", 9}, {"integer", true}}}},
                      "cannot draw 9");
  expect_axis_refused({{"zip", {{{"option", "a"}, {"values", {1, 2}}}, {{"option", "b"}, {"values", {1, 2, 3}}}}}},
                      "has 3 values, but the first axis of the zip has 2");
  expect_axis_refused({{"zip", {{{"option", "a"}, {"values", {1, 2}}}, {{"option", "a"}, {"values", {3, 4}}}}}},
                      "stands twice in the zip");
  expect_axis_refused({{"zip", {{{"option", "a"}, {"values", {1, 2}}}, {{"option", "A"}, {"values", {3, 4}}}}}},
                      "stands twice in the zip");
}

TEST(SweepSpec, RefusesTwoAxesOfOneTargetUnderDifferentNames) {
  for (const auto& [kind, target] : {std::pair{"option", "seed"}, std::pair{"parameter", "/sm/max_warps"}}) {
    expect_refused(
        {{"axes", {{{kind, target}, {"values", {16, 32}}}, {{kind, target}, {"name", "other"}, {"values", {48, 64}}}}}},
        std::string("/axes/1: '") + target + "' is varied by another axis already");
  }
}

TEST(SweepSpec, ValuesMayStandTwiceInAZipButNoCombination) {
  const auto zip = [](const json& a, const json& b) {
    return json{{"zip", {{{"option", "a"}, {"values", a}}, {{"option", "b"}, {"values", b}}}}};
  };
  expect_axis_refused(zip({4, 4, 8}, {1, 1, 1}), "/zip: combination 1 stands twice: [4,1]");
}

// To SQLite columns are alike in upper and lower case.
TEST(SweepSpec, RefusesNamesThatDifferFromAnotherColumnInTheirCaseOnly) {
  for (const char* const name : {"Speedup", "STATUS", "Dense_time_us", "Workload"}) {
    expect_axis_refused({{"option", "seed"}, {"name", name}, {"values", {1}}},
                        std::string("'") + name + "' has a meaning of its own");
  }
  expect_refused({{"axes",
                   {{{"option", "seed"}, {"name", "a"}, {"values", {1, 2}}},
                    {{"option", "check"}, {"name", "A"}, {"values", {"none"}}}}}},
                 "/axes/1: the name 'A' is taken by another axis");
}

TEST(SweepSpec, RefusesTheRestOfWhatIsWrong) {
  expect_refused({{"schema", "x"}}, "/schema");
  expect_refused({{"axis", 1}}, "unknown key 'axis'");
  expect_refused({{"workloads", json::array()}}, "must not be empty");
  expect_refused({{"workloads", {7}}}, "/workloads/0");
  const std::string missing = (std::filesystem::current_path() / "no.json").string() + ": no such file";
  expect_refused({{"workloads", {"no.json"}}}, "spec.json: /workloads/0: " + missing);
  expect_refused({{"workloads", {{{"file", "no.json"}, {"dims", json::object()}}}}},
                 "spec.json: /workloads/0/file: " + missing);
  expect_refused({{"arch", "./no.json"}}, "spec.json: /arch: " + missing);
  expect_refused({{"workloads", {{{"m", 0}, {"n", 1}, {"k", 1}}}}}, "/workloads/0/m");
  expect_refused({{"workloads", {{{"m", 1}, {"n", 1}, {"k", 1}}, {{"m", 1}, {"n", 1}, {"k", 1}}}}},
                 "a second workload is called '1x1x1'");
  expect_refused({{"arch", "a101"}}, "spec.json: /arch: unknown architecture");
  expect_refused({{"arch", {"a100-sxm4-80gb", "a100-sxm4-80gb"}}}, "a second architecture");
  expect_refused({{"options", {{"seed", 4}}}}, "'seed' is set under /options too");
  expect_refused({{"options", {{"check", nullptr}}}}, "/options/check");
  expect_refused({{"where", {1}}}, "/where/0");
  expect_refused({{"sample", {{"points", 0}}}}, "/sample/points");
  expect_refused({{"sample", {{"points", 4}, {"kind", "random"}}}}, "unknown key 'kind'");
  expect_refused({{"store", "nothing"}}, "/store");
  expect_refused({{"limits", {{"timeout_s", -1}}}}, "/limits/timeout_s");
  support::expect_input_error([] { parse_sweep_spec("{\"schema\": ", "spec.json"); }, {"spec.json", "line"});
}

}  // namespace
}  // namespace sptc::sweep
