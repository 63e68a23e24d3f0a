// SPDX-License-Identifier: Apache-2.0
#include "sim/io/text_file.h"
#include "sim/report/report.h"
#include "tests/support/json_schema.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>

namespace sptc::report {
namespace {

// whole_result() has every figure, and the schema allows no other.
TEST(JsonReport, FitsTheSchema) {
  const std::string file = std::string(SPTC_SOURCE_DIR) + "/configs/schema/result.schema.json";
  const support::JsonSchema schema(nlohmann::json::parse(io::read_text_file(file, 1 << 20)));
  for (const run::RunResult& result : {whole_result(), synthetic_result(), with_energy()}) {
    EXPECT_EQ(schema.fault(nlohmann::json::parse(json_report(result))), "");
  }
}

TEST(JsonReport, HasPowerOverTimeAndWhereExplainedWhatWasCounted) {
  run::RunResult result = result_with_energy();
  auto json = nlohmann::json::parse(json_report(result));
  EXPECT_EQ(json["power_over_time"]["dense"].size(), 2u);
  EXPECT_EQ(json["power_over_time"]["sparse"][0]["to_us"], 1200);
  EXPECT_FALSE(json["operations"][0]["dense"].contains("energy_events"));
  result.explained = true;
  json = nlohmann::json::parse(json_report(result));
  const auto& dense = json["operations"][0]["dense"];
  EXPECT_EQ(dense["energy_events"], (nlohmann::json{{"multiply", {{"count", 100}, {"switching", 0.5}}}}));
  EXPECT_EQ(dense["core_v"], 0.8);
  EXPECT_EQ(dense["explanation"]["bound_by"], "tensor");
  EXPECT_EQ(dense["explanation"]["what_if"][0],
            (nlohmann::json{{"resource", "tensor"}, {"times", 2}, {"speedup", 1.5}}));
  EXPECT_FALSE(dense["explanation"].contains("stalls")) << "nothing was simulated";
  EXPECT_NE(json["operations"][0]["energy_explanation"].get<std::string>().find("saves 35.0 %"), std::string::npos);
}

TEST(JsonReport, HasWhatTheTensorCoresWaitForWhereExplained) {
  run::RunResult result = synthetic_result();
  gpu::StallShares& stalls = result.operations[0].sparse->explanation.stalls.emplace();
  stalls[sm::StallReason::kMma] = 0.75;
  stalls[sm::StallReason::kL2] = 0.25;
  auto json = nlohmann::json::parse(json_report(result));
  EXPECT_FALSE(json["operations"][0]["sparse"].contains("explanation"));
  result.explained = true;
  json = nlohmann::json::parse(json_report(result));
  const auto& rows = json["operations"][0]["sparse"]["explanation"]["stalls"];
  ASSERT_EQ(rows.size(), sm::kStallReasons);
  EXPECT_EQ(rows[0], (nlohmann::json{{"reason", "mma"}, {"percent", 75}}));
  EXPECT_EQ(rows[6], (nlohmann::json{{"reason", "l2"}, {"percent", 25}}));
}

TEST(JsonReport, WritesNullForWhatWasNotSimulatedAndOmitsWhatIsUnknown) {
  run::RunResult result = synthetic_result();
  result.accuracy.reset();
  result.totals.dense.reset();
  const auto json = nlohmann::json::parse(json_report(result));
  EXPECT_TRUE(json["operations"][1]["sparse"].is_null());
  EXPECT_FALSE(json["operations"][1].contains("speedup"));
  EXPECT_FALSE(json["operations"][1]["dense"].contains("check"));
  EXPECT_FALSE(json.contains("accuracy"));
  EXPECT_TRUE(json["totals"]["dense"].is_null());
  EXPECT_FALSE(json["operations"][0]["dense"].contains("power_w"));
}

TEST(JsonReport, StaysValidWithInfiniteErrorsAndInvalidUtf8) {
  run::RunResult result = synthetic_result();
  result.operations[0].dense->check->worst_error = std::numeric_limits<double>::infinity();
  result.operations[0].name = "\xff\xfe";
  const auto json = nlohmann::json::parse(json_report(result));
  EXPECT_TRUE(json["operations"][0]["dense"]["check"]["worst_error"].is_null());
}

TEST(CsvReport, HasOneRowPerVariantAndQuotesNames) {
  std::istringstream lines(csv_report(synthetic_result()));
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("name,m,n,k,batch,count,dtype,variant,cycles,"));
  const auto columns = std::count(line.begin(), line.end(), ',');
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("ffn.intermediate,4096,3072,768,1,24,f16,dense,141000,100,")) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), ','), columns);
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("ffn.intermediate,4096,3072,768,1,24,f16,sparse,70500,50,")) << line;
  std::getline(lines, line);
  EXPECT_TRUE(
      line.starts_with("\"attention scores, \"\"softmax\"\" input of every head\",384,384,64,128,24,f16,dense,"))
      << line;
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(Reports, HaveRailsWhereTheBoardHasThem) {
  run::RunResult result = with_energy();
  for (const std::string& report :
       {json_report(result), csv_report(result), text_report(result), text_report(result, {.verbose = true})}) {
    EXPECT_EQ(report.find("rail"), std::string::npos);
    EXPECT_EQ(report.find("of it through"), std::string::npos);
  }
  for (auto* const energy : {&result.operations[0].dense->energy, &result.totals.dense->energy,
                             &result.operations[0].sparse->energy, &result.totals.sparse->energy}) {
    (*energy)->rails_uj = {{"GPU", 0.75 * (*energy)->total_uj}, {"VIN", 0.25 * (*energy)->total_uj}};
  }
  const auto json = nlohmann::json::parse(json_report(result));
  const nlohmann::json gpu{{"energy_uj", 1500}, {"power_w", 150}};
  EXPECT_EQ(json["operations"][0]["dense"]["rails"]["GPU"], gpu);
  EXPECT_EQ(json["totals"]["dense"]["rails"]["GPU"], gpu);
  EXPECT_EQ(json["totals"]["sparse"]["rails"]["VIN"]["energy_uj"], 250);
  const std::string file = std::string(SPTC_SOURCE_DIR) + "/configs/schema/result.schema.json";
  EXPECT_EQ(support::JsonSchema(nlohmann::json::parse(io::read_text_file(file, 1 << 20))).fault(json), "");
  const std::string csv = csv_report(result);
  EXPECT_NE(csv.find(",rails.GPU.energy_uj,rails.GPU.power_w,rails.VIN.energy_uj,rails.VIN.power_w"),
            std::string::npos);
  EXPECT_NE(csv.find(",1500,150,500,50\r\n"), std::string::npos) << csv;
  const std::string text = text_report(result, {.verbose = true});
  EXPECT_NE(text.find("    dense rails.GPU: energy_uj 1500, power_w 150\n"), std::string::npos);
  EXPECT_NE(text.find("of it through GPU"), std::string::npos);
}

TEST(JsonReport, HasEnergyAndPowerWhereTheyAreKnown) {
  run::RunResult result = with_energy();
  result.totals.dense->rest_us = 12;
  result.totals.dense->rest_uj = 34;
  const nlohmann::json report = nlohmann::json::parse(json_report(result));
  const nlohmann::json& dense = report["operations"][0]["dense"];
  EXPECT_EQ(dense["energy_uj"]["multiply"], 1500);
  EXPECT_EQ(dense["energy_uj"]["total"], 2000);
  EXPECT_EQ(dense["power_w"], 200);
  EXPECT_EQ(dense["peak_power_w"], 250);
  EXPECT_EQ(dense["gflops_per_w"], 1250);
  EXPECT_EQ(report["operations"][0]["sparse"]["power_limited"], true);
  EXPECT_EQ(report["operations"][0]["performance_per_watt_ratio"], 2);
  EXPECT_FALSE(report["operations"][1]["dense"].contains("energy_uj"));
  EXPECT_EQ(report["totals"]["performance_per_watt_ratio"], 2);
  EXPECT_EQ(report["totals"]["sparse"]["energy_uj"]["total"], 1000);
  EXPECT_EQ(report["totals"]["sparse"]["energy_uj"]["multiply"], 750);
  EXPECT_EQ(report["totals"]["dense"]["rest"]["energy_uj"], 34);
}

TEST(CsvReport, HasEnergyColumnsThatAreEmptyWhereItIsNotKnown) {
  const std::string with = csv_report(with_energy());
  EXPECT_NE(with.find(",energy_uj,power_w,peak_power_w,pj_per_flop,performance_per_watt_ratio,"), std::string::npos);
  EXPECT_NE(with.find(",2000,200,250,0.8,2,true,"), std::string::npos) << with;
  EXPECT_NE(csv_report(synthetic_result()).find(",,,,,true,"), std::string::npos);
}

}  // namespace
}  // namespace sptc::report
