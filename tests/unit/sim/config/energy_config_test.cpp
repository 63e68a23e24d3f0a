// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/config/energy_fields.h"
#include "sim/io/text_file.h"
#include "tests/support/expect_input_error.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>

namespace sptc::config {
namespace {

using nlohmann::json;
using numerics::DataType;

const std::string kDirectory = std::string(SPTC_SOURCE_DIR) + "/configs/energy/";

json document(const std::string& name) {
  return json::parse(io::read_text_file(kDirectory + name + ".json", 1 << 20));
}

void expect_refused(const std::function<void(json&)>& change, std::initializer_list<std::string_view> parts) {
  json changed = document("a100-sxm4-80gb");
  change(changed);
  support::expect_input_error([&] { parse_energy(changed.dump(), "x.json"); }, parts);
}

TEST(EnergyConfig, EveryEventHasAnEnergyAndAFixedShareAndNoEnergyIsWithoutAnEvent) {
  std::map<std::string, std::set<std::string>> fields;
  for (const EnergyField& field : energy_fields()) {
    EXPECT_TRUE(fields[field.section].insert(field.key).second) << field.key;
  }
  EXPECT_EQ(fields["/events"].size(), energy::kEventCount);
  EXPECT_EQ(fields["/fixed_share"].size(), energy::kEventCount);
  const energy::EnergyTable table = load_energy("a100-sxm4-80gb").config.power.table;
  for (const energy::EventInfo& row : energy::kEvents) {
    for (const DataType type :
         {DataType::kF16, DataType::kBf16, DataType::kTf32, DataType::kE4m3, DataType::kE5m2, DataType::kS8}) {
      EXPECT_GT(table.energy_pj(row.event, type), 0) << row.name;
    }
    expect_refused([&](json& file) { file["events"].erase(std::string(row.name) + "_" + std::string(row.unit)); },
                   {"/events", row.name, "missing"});
  }
  expect_refused([](json& file) { file["events"]["teleport_pj"] = file["events"]["hbm_pj_per_byte"]; },
                 {"/events", "teleport_pj"});
}

TEST(EnergyConfig, ValuesOfAnotherNodeAreScaledByANamedFactor) {
  // f16 multiply: 1.1 pJ at 45 nm times 0.33.
  const LoadedEnergy a100 = load_energy("a100-sxm4-80gb");
  EXPECT_NEAR(a100.config.power.table.energy_pj(energy::Event::kMultiply, DataType::kF16), 1.1 * 0.33, 1e-12);
  expect_refused([](json& file) { file["node_scaling"]["45"].erase("logic"); },
                 {"node_scaling/45/logic", "/events/multiply_pj/f16/node_nm"});
  expect_refused([](json& file) { file["events"]["hbm_pj_per_byte"].erase("node_nm"); },
                 {"/events/hbm_pj_per_byte", "node_nm"});
}

TEST(EnergyConfig, AFactorThatIsWrongOrMissingIsSaidOnceAndNotOfAllThatItScales) {
  const auto expect_once = [](const auto& change, const char* what) {
    json file = document("a100-sxm4-80gb");
    change(file["node_scaling"]);
    const std::string error = support::input_error_of([&] { parse_energy(file.dump(), "x.json"); });
    EXPECT_NE(error.find(what), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  };
  expect_once([](json& factors) { factors["45"]["logic"]["value"] = -1; }, "/node_scaling/45/logic/value");
  expect_once([](json& factors) { factors["45"].erase("logic"); }, "node_scaling/45/logic");
  expect_once([](json& factors) { factors["45"].erase("area"); }, "node_scaling/45/area");
  expect_once([](json& factors) { factors = 45; }, "/node_scaling: must be an object");
}

TEST(EnergyConfig, EveryNumberHasEvidenceSourceAndWhereAssumedARange) {
  for (const std::string& name : energy_names()) {
    EXPECT_EQ(load_energy(name).config.name, name);
    for (const EnergyParameter& parameter : load_energy(name).parameters) {
      EXPECT_FALSE(parameter.source.empty()) << parameter.pointer;
      EXPECT_LE(parameter.low, parameter.value) << parameter.pointer;
      EXPECT_GE(parameter.high, parameter.value) << parameter.pointer;
    }
  }
  expect_refused([](json& file) { file["clock"]["floor_supply_v"].erase("range"); },
                 {"/clock/floor_supply_v", "needs a 'range'"});
  expect_refused([](json& file) { file["clock"]["floor_supply_v"].erase("source"); },
                 {"/clock/floor_supply_v", "source"});
  expect_refused([](json& file) { file["clock"]["floor_supply_v"]["evidence"] = "measurd"; },
                 {"/clock/floor_supply_v/evidence", "measured"});
}

TEST(EnergyConfig, ASectionThatIsMissingIsSaidOnce) {
  for (const char* section : {"events", "static", "clock", "fixed_share", "area"}) {
    json file = document("a100-sxm4-80gb");
    ASSERT_EQ(file.erase(section), 1U) << section;
    EXPECT_EQ(support::input_error_of([&] { parse_energy(file.dump(), "x.json"); }),
              "x.json: top level: the key '" + std::string(section) + "' is missing");
  }
}

TEST(EnergyConfig, HostileNumbersAreRefusedWithTheirPlace) {
  const auto set = [](const char* section, const char* key, const char* part, json value) {
    return [=](json& file) { file[section][key][part] = value; };
  };
  expect_refused(set("static", "constant_w", "value", -1), {"/static/constant_w/value", "-1"});
  expect_refused(set("static", "constant_w", "value", "a lot"), {"/static/constant_w/value"});
  expect_refused(set("static", "constant_w", "value", 1e9), {"/static/constant_w/value", "at most"});
  expect_refused(set("fixed_share", "multiply", "value", 1.5), {"/fixed_share/multiply/value"});
  expect_refused([](json& file) { file["supply_v"]["value"] = 1e-300; }, {"/supply_v", "is no supply"});
  expect_refused(set("static", "constant_w", "range", json::array({40, 45})),
                 {"/static/constant_w/range", "does not hold"});
  expect_refused(set("static", "constant_w", "range", json::array({1})), {"/static/constant_w/range"});
  expect_refused(set("static", "constant_w", "node_nm", 7), {"/static/constant_w/node_nm"});
  expect_refused([](json& file) { file["node_scaling"]["7nm"] = json::object(); }, {"/node_scaling/7nm", "nm"});
  expect_refused([](json& file) { file["node_nm"] = 0; }, {"/node_nm"});
  expect_refused([](json& file) { file["events"] = 3; }, {"/events", "object"});
  expect_refused([](json& file) { file["events"]["multiply_pj"]["f17"] = 1; }, {"/events/multiply_pj", "f17", "f16"});
  expect_refused([](json& file) { file["events"]["multiply_pj"].erase("tf32"); }, {"/events/multiply_pj", "tf32"});
  expect_refused(set("clock", "boost_supply_v", "value", 0.5), {"/clock/boost_supply_v"});
  support::expect_input_error([] { parse_energy("[]", "x.json"); }, {"x.json", "object"});
  support::expect_input_error([] { parse_energy("{", "x.json"); }, {"x.json", "line 1"});
  support::expect_input_error([] { load_energy("a100-sxm4-8"); }, {"a100-sxm4-8", "a100-sxm4-80gb"});
}

TEST(EnergyConfig, ADerivedFileChangesItsBase) {
  const energy::PowerSpec h100 = load_energy("h100-sxm5-80gb").config.power;
  const energy::PowerSpec h200 = load_energy("h200-sxm").config.power;
  EXPECT_EQ(h100.power_limit_w, h200.power_limit_w);
  EXPECT_NE(h100.static_power.board_idle_w, h200.static_power.board_idle_w);
  // Events of another node are those of the base times a factor that the file names.
  const LoadedEnergy h800 = load_energy("h800-pcie");
  const energy::PowerSpec a100 = load_energy("a100-sxm4-80gb").config.power;
  const double factor = document("h800-pcie")["node_scaling"]["7"]["sram"]["value"];
  EXPECT_NEAR(h800.config.power.table.energy_pj(energy::Event::kRegisterRead, DataType::kF16),
              factor * a100.table.energy_pj(energy::Event::kRegisterRead, DataType::kF16), 1e-12);
}

TEST(EnergyConfig, WhatOnlyMeasuredBoardsHaveMayBeMissing) {
  const energy::PowerSpec a100 = load_energy("a100-sxm4-80gb").config.power;
  EXPECT_EQ(a100.static_power.busy_sm_w, 0);
  EXPECT_EQ(a100.loaded_clock_mhz, 0);
  const EnergyConfig h200 = load_energy("h200-sxm").config;  // from its base
  EXPECT_GT(h200.power.static_power.busy_sm_w, 0);
  EXPECT_EQ(load_energy("b200").config.power.loaded_clock_mhz, 0);  // null
  // A design that boosts higher is held back as far below that.
  const gpu::GpuSpec board = load_architecture("h200-sxm").gpu;
  gpu::GpuSpec faster = board;
  faster.boost_clock_mhz *= 1.5;
  EXPECT_EQ(power_spec(h200, board).loaded_clock_mhz, h200.power.loaded_clock_mhz);
  EXPECT_NEAR(power_spec(h200, faster, &board).loaded_clock_mhz, 1.5 * h200.power.loaded_clock_mhz, 1e-9);
  json file = document("a100-sxm4-80gb");
  file["clock"]["loaded_clock_mhz"] = 1400;
  support::expect_input_error([&] { parse_energy(file.dump(), "x.json"); }, {"/clock/loaded_clock_mhz", "object"});
}

TEST(EnergyConfig, RailsShareOutEachPartOnce) {
  EXPECT_TRUE(load_energy("a100-sxm4-80gb").config.power.rails.empty());
  for (const char* const name : {"jetson-agx-orin-64gb", "jetson-agx-orin-64gb-30w", "jetson-agx-thor"}) {
    const EnergyConfig config = load_energy(name).config;
    ASSERT_EQ(config.power.rails.size(), 3U) << name;
    for (std::size_t part = 0; part < energy::kEnergyParts; ++part) {
      double sum = 0;
      for (const energy::Rail& rail : config.power.rails) {
        EXPECT_GE(rail.shares[part], 0) << name << " " << rail.name;
        sum += rail.shares[part];
      }
      EXPECT_NEAR(sum, 1, 1e-12) << name << " " << energy::kEnergyPartNames[part];
    }
  }
}

TEST(EnergyConfig, RailsThatFeedAPartTwiceOrOfWhichNoneFeedsTheRestAreRefused) {
  const json why{{"evidence", "cited"}, {"source", "s"}};
  json rails{{"A", why}, {"B", why}};
  rails["A"]["all_of"] = json::array({"hbm", "board"});
  const auto refuse = [&](const std::function<void(json&)>& change, std::initializer_list<std::string_view> parts) {
    expect_refused(
        [&](json& file) {
          file["rails"] = rails;
          change(file["rails"]);
        },
        parts);
  };
  json file = document("a100-sxm4-80gb");
  file["rails"] = rails;
  const EnergyConfig config = parse_energy(file.dump(), "x.json").config;
  const energy::Rail& rest = config.power.rails.at(1);
  EXPECT_EQ(rest.shares[energy::index_of(energy::Event::kHbmAccess)], 0);
  EXPECT_EQ(rest.shares[energy::index_of(energy::Event::kL2Access)], 1);
  refuse([](json& all) { all["A"]["all_of"][1] = "hbm"; }, {"/rails/A/all_of/1", "more of 'hbm'"});
  refuse([](json& all) { all["A"]["all_of"][0] = "hbn"; }, {"/rails/A/all_of/0", "hbn", "'hbm'"});
  refuse([](json& all) { all["A"]["all_of"][0] = 7; }, {"/rails/A/all_of/0", "7"});
  refuse([](json& all) { all["A"]["all_of"] = json::array(); }, {"/rails/A/all_of"});
  refuse([](json& all) { all["A"].erase("all_of"); }, {"/rails", "must name no parts"});
  refuse([](json& all) { all.erase("B"); }, {"/rails", "must name no parts"});
  refuse([](json& all) { all["A"].erase("source"); }, {"/rails/A", "source"});
  refuse([](json& all) { all["A"]["efficiency"] = 1; }, {"/rails/A", "efficiency"});
  refuse([&](json& all) { all["A 1"] = why; }, {"/rails/A 1", "letters"});
  refuse([](json& all) { all["A"]["share_of"]["l2"] = 0.5; }, {"/rails/A/share_of/l2", "object"});
  const auto share = [&](double value) {
    json number = why;
    number["value"] = value;
    return number;
  };
  refuse([&](json& all) { all["A"]["share_of"]["l2"] = share(1.5); }, {"/rails/A/share_of/l2/value", "at most 1"});
  refuse([&](json& all) { all["A"]["share_of"]["hbm"] = share(0.5); }, {"/rails/A/share_of/hbm", "more of 'hbm'"});
}

TEST(EnergyConfig, SevenSlicesHaveThePowerOfTheCard) {
  const energy::PowerSpec card = load_energy("a100-sxm4-80gb").config.power;
  for (const auto& [name, slices] :
       std::map<std::string, int>{{"1g.10gb", 1}, {"2g.20gb", 2}, {"3g.40gb", 3}, {"4g.40gb", 4}, {"7g.80gb", 7}}) {
    const energy::PowerSpec slice = load_energy("a100-sxm4-80gb-mig-" + name).config.power;
    const double share = slices / 7.0;
    EXPECT_NEAR(slice.power_limit_w, share * card.power_limit_w, 1e-3 * card.power_limit_w);
    EXPECT_NEAR(slice.static_power.board_idle_w, share * card.static_power.board_idle_w, 0.01);
    EXPECT_EQ(slice.table.event_pj, card.table.event_pj);
  }
}

TEST(EnergyConfig, HostileBasesAreRefused) {
  const auto refuse = [](const char* text, std::initializer_list<std::string_view> parts) {
    support::expect_input_error([&] { parse_energy(text, "x.json"); }, parts);
  };
  refuse(R"({"base": "a100-sxm4-8", "name": "x"})", {"a100-sxm4-80gb"});
  refuse(R"({"base": 7, "name": "x"})", {"/base"});
  refuse(R"({"base": "a100-sxm4-80gb"})", {"name"});
  refuse(R"({"base": "no/such/file.json", "name": "x"})", {"no/such/file.json"});
  refuse(R"({"base": "a100-sxm4-80gb", "name": "x", "static": {"constant_w": {"value": 1e9,
             "evidence": "cited", "source": "s"}}})",
         {"/static/constant_w/value", "at most"});
  refuse(R"({"base": "a100-sxm4-80gb", "name": "x", "statik": {}})", {"statik"});
  refuse(R"({"base": "a100-sxm4-80gb", "name": "x", "static": {"constant_w": null}})", {"/static", "constant_w"});
}

TEST(EnergyConfig, AllProblemsAreToldAtOnce) {
  expect_refused(
      [](json& file) {
        file["static"]["constant_w"]["value"] = -1;
        file["clock"]["min_clock_mhz"]["value"] = 0;
      },
      {"/static/constant_w/value", "/clock/min_clock_mhz/value"});
}

}  // namespace
}  // namespace sptc::config
