// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/validate.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace sptc::check::times {
namespace {

using nlohmann::json;

/// Dense and 2:4 launches of 40 shapes; one shape has watts.
std::vector<Comparison> pairs() {
  std::vector<Comparison> rows;
  for (std::int64_t i = 1; i <= 40; ++i) {
    Comparison row;
    row.measured.launch.shape = {4096, 64 * i, 4096};
    row.measured.launch.dtype = numerics::DataType::kBf16;
    row.measured.source = "a \"source\", quoted";
    row.measured.time_us = 10.0 * static_cast<double>(i);
    row.simulated = {11.0 * static_cast<double>(i), 2, 1410, {}, {128, 256, 64}, 3};
    rows.push_back(row);
    row.measured.launch.pattern = sparsity::parse_weight_pattern("2:4");
    row.measured.time_us /= 1.5;
    rows.push_back(row);
  }
  rows[78].measured.power_w = 400;
  rows[78].measured.launch.power_limit_w = rows[79].measured.launch.power_limit_w = 400;
  rows[78].simulated.power_w = 390;
  return rows;
}

Validation validation() {
  ValidationHeader header{"a100", "f.csv", "timing", "SystemC, all 108 SMs", "limited", {}, {"a note"}};
  header.defaults.launch.repetition = kernels::Repetition{25, 50};
  header.defaults.launch.power_limit_w = 300;
  return validation_of(header, pairs());
}

TEST(ValidationReport, JsonHasTheFigures) {
  const json report = json::parse(validation_json(validation()));
  EXPECT_EQ(report["schema"], "sptcsim-validation/0.2");
  EXPECT_EQ(report["count"], 80);
  EXPECT_EQ(report["by"][0]["sparsity"], "dense");
  EXPECT_EQ(report["by"][0]["dtype"], "bf16");
  EXPECT_EQ(report["by"][0]["bias_percent"], 10);
  EXPECT_EQ(report["by"][1]["sparsity"], "2:4");
  EXPECT_EQ(report["by"][1]["bias_percent"], 65);
  EXPECT_EQ(report["mape_percent"], 37.5);
  EXPECT_EQ(report["speedup"]["measured_geomean"], 1.5);
  EXPECT_EQ(report["speedup"]["simulated_geomean"], 1);
  EXPECT_TRUE(report["speedup"]["log_correlation"].is_null());
  EXPECT_EQ(report["power"]["bias_percent"], -2.5);
  EXPECT_EQ(report["worst"][0]["sparsity"], "2:4");
  EXPECT_EQ(report["defaults"]["warmup"], 25);
  EXPECT_TRUE(report["defaults"]["d_dtype"].is_null());
}

TEST(ValidationReport, WhatThereIsNothingOfIsNull) {
  std::vector<Comparison> rows = pairs();
  rows.resize(1);
  const json report = json::parse(validation_json(validation_of({}, rows)));
  for (const char* key : {"speedup", "power", "baseline"}) {
    EXPECT_TRUE(report[key].is_null()) << key;
  }
  EXPECT_TRUE(report["by"][0]["roofline_mape_percent"].is_null());
}

TEST(ValidationReport, TextHasOneLineOfConditionsTheTablesAndFiveWorstRows) {
  const std::string text = validation_text(validation());
  EXPECT_TRUE(
      text.starts_with("80 measured GEMMs of f.csv against a100 (SystemC, all 108 SMs), clock limited; "
                       "unless a row says: f16 dense, L2 cold, launch stream, algorithm default, 25 warm-ups and "
                       "50 launches, 300 W, operands random\n"))
      << text;
  EXPECT_NE(text.find("\nbf16   2:4          40     65.00   +65.00"), std::string::npos) << text;
  EXPECT_NE(text.find("\nall                 80     37.50   +37.50"), std::string::npos) << text;
  EXPECT_NE(text.find("\nspeed-up of sparse over dense\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nbf16   default  cold        40     1.500      1.000    33.33       0.00            -"
                      "       0       0      0\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\npower of 1 rows: error 2.50 %, bias -2.50 %\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nnote: a note\n"), std::string::npos);
  std::size_t sources = 0;
  for (std::size_t at = text.find("a \"source"); at != std::string::npos; at = text.find("a \"source", at + 1)) {
    ++sources;
  }
  EXPECT_EQ(sources, 5U);
}

TEST(ValidationReport, RowsAreCsvInTheOrderOfTheFile) {
  const std::string csv = rows_csv(pairs());
  EXPECT_TRUE(
      csv.starts_with("m,n,k,dtype,sparsity,d_dtype,measured_us,simulated_us,error_percent,launch_us,clock_mhz,"
                      "power_w,measured_power_w,tile,split_k,source,l2,algorithm,layout,cluster,recorded_us,"
                      "recorded_tile,recorded_cluster\r\n"
                      "4096,64,4096,bf16,dense,bf16,10,11,10,2,1410,,,128x256x64,3,\"a \"\"source\"\", "
                      "quoted\",cold,default,Kc/n-major,1,,,\r\n"
                      "4096,64,4096,bf16,2:4,bf16,6.666666666666667,11,65,2,1410,,,128x256x64,3,"))
      << csv;
  EXPECT_NE(csv.find("\r\n4096,2560,4096,bf16,dense,bf16,400,440,10,2,1410,390,400,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace sptc::check::times
