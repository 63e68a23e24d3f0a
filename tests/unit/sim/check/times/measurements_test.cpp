// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/measurements.h"

#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sptc::check::times {
namespace {

/// What is wrong with one row under `header`.
std::string error_of(const std::string& header, const std::string& row, const MeasurementDefaults& defaults = {}) {
  return support::input_error_of(
      [&] { parse_measurements("m,n,k,time_us_median," + header + "\n1,1,1,1," + row + "\n", "f.csv", defaults); });
}

MeasuredLaunch launch_of(const std::string& header, const std::string& row, const MeasurementDefaults& defaults = {}) {
  return parse_measurements("m,n,k,time_us_median," + header + "\n1,1,1,1," + row + "\n", "f.csv", defaults)
      .at(0)
      .launch;
}

TEST(Measurements, ColumnsAreFoundByNameInAnyOrderAndOthersAreNamed) {
  std::vector<std::string> ignored;
  const auto rows = parse_measurements(
      "time_us_median,k,extra,n,m,source,b\n12.5,64,x,8,128,a model,zeros\n7,32,y,1,16,,\n", "f.csv", {}, &ignored);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].launch.shape, (base::GemmShape{128, 8, 64}));
  EXPECT_EQ(rows[0].time_us, 12.5);
  EXPECT_EQ(rows[0].source, "a model");
  EXPECT_EQ(rows[0].line, 2);
  EXPECT_EQ(rows[0].launch.operands, workload::DataKind::kRandom);
  EXPECT_EQ(rows[1].launch.shape, (base::GemmShape{16, 1, 32}));
  EXPECT_EQ(ignored, (std::vector<std::string>{"extra", "b"}));
}

TEST(Measurements, ATypeMayNameTheScalesOfItsBlocks) {
  EXPECT_EQ(launch_of("dtype", "mxfp8").format(), (kernels::OperandFormat{numerics::DataType::kE4m3, 32}));
  EXPECT_EQ(launch_of("dtype", "e4m3").format(), (kernels::OperandFormat{numerics::DataType::kE4m3, 0}));
}

TEST(Measurements, EveryConditionOfALaunchIsRead) {
  const auto rows = parse_measurements(
      "m,n,k,time_us_median,dtype,sparsity,d_dtype,l2,launch,algorithm,warmup,repeat,operands,"
      "clock_mhz,power_limit_w,power_w,batch\n"
      "64,8,128,9,e4m3,2:4,bf16,rotate:6,graph,best,25,50,relu,1200,700,693.5,1\n",
      "f.csv");
  const MeasuredLaunch& launch = rows.at(0).launch;
  EXPECT_EQ(launch.dtype, numerics::DataType::kE4m3);
  EXPECT_EQ(launch.sparsity(), "2:4");
  EXPECT_EQ(launch.type_of_d(), numerics::DataType::kBf16);
  kernels::LaunchConditions conditions;
  conditions.l2 = {kernels::L2State::Kind::kRotate, 6};
  conditions.launch = kernels::LaunchMode::kGraph;
  conditions.algorithm = kernels::Algorithm::kBest;
  EXPECT_EQ(launch.conditions, conditions);
  EXPECT_EQ(launch.repetition, (kernels::Repetition{25, 50}));
  EXPECT_EQ(launch.operands, workload::DataKind::kRelu);
  EXPECT_EQ(launch.clock_mhz, 1200);
  EXPECT_EQ(launch.power_limit_w, 700);
  EXPECT_EQ(rows[0].power_w, 693.5);
}

TEST(Measurements, AnEmptyFieldLeavesWhatTheOptionsSay) {
  MeasurementDefaults defaults;
  defaults.sparse = true;
  defaults.launch.dtype = numerics::DataType::kTf32;
  defaults.launch.d_dtype = numerics::DataType::kF32;
  defaults.launch.conditions.l2 = {kernels::L2State::Kind::kWarm, 1};
  defaults.launch.repetition = kernels::Repetition{1, 2};
  defaults.launch.power_limit_w = 300;
  const std::string header = "dtype,sparsity,d_dtype,l2,warmup,repeat,power_limit_w,power_w,batch,operands";
  const MeasuredLaunch silent = launch_of(header, ",,,,,,,,,", defaults);
  // The pattern is that of the type of the row.
  EXPECT_EQ(silent.sparsity(), "1:2");
  EXPECT_EQ(silent.type_of_d(), numerics::DataType::kF32);
  EXPECT_EQ(silent.conditions.l2.name(), "warm");
  EXPECT_EQ(silent.repetition, (kernels::Repetition{1, 2}));
  EXPECT_EQ(silent.power_limit_w, 300);
  EXPECT_EQ(launch_of("dtype", "f16", defaults).sparsity(), "2:4");
  EXPECT_EQ(launch_of("sparsity", "dense", defaults).sparsity(), "dense");
  EXPECT_EQ(launch_of("sparsity", "1:1", defaults).sparsity(), "dense");
  EXPECT_EQ(launch_of("l2", "cold", defaults).conditions.l2.name(), "cold");
}

TEST(Measurements, DHasTheTypeOfTheOperandsUnlessTheseAreIntegers) {
  EXPECT_EQ(launch_of("dtype", "bf16").type_of_d(), numerics::DataType::kBf16);
  EXPECT_EQ(launch_of("dtype", "s8").type_of_d(), numerics::DataType::kS32);
  EXPECT_EQ(launch_of("dtype,d_dtype", "s8,s8").type_of_d(), numerics::DataType::kS8);
}

TEST(Measurements, AFieldThatSaysNothingSensibleIsRefusedByName) {
  const std::pair<std::string, std::vector<std::string>> columns[] = {
      {"dtype", {"f17", "f16 ", "\x01"}},
      {"sparsity", {"sparse", "4:2", "2:4 "}},
      {"d_dtype", {"tf32", "f64"}},
      {"l2", {"hot", "rotate:0", "rotate:"}},
      {"launch", {"Graph"}},
      {"algorithm", {"fastest"}},
      {"operands", {"0"}},
      {"clock_mhz", {"0", "nan"}},
      {"power_limit_w", {"-1", "1e9"}},
      {"power_w", {"0", "inf", "300 W"}},
      {"batch", {"64", "01"}},
      {"warmup,repeat", {"-1,1", "0,0", "1.5,1", "0,1000001"}}};
  for (const auto& [header, fields] : columns) {
    for (const std::string& field : fields) {
      const std::string message = error_of(header, field);
      const std::string column = header.substr(0, header.find(','));
      EXPECT_TRUE(message.starts_with("f.csv:2: ")) << message;
      EXPECT_TRUE(message.find(column == "dtype" ? "operand type" : column) != std::string::npos ||
                  message.find("repeat") != std::string::npos)
          << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
  EXPECT_EQ(error_of("l2", "wam"), "f.csv:2: unknown l2 'wam' (nearest valid: 'warm'; allowed: cold, warm, rotate:N)");
  EXPECT_EQ(error_of("batch", "64"), "f.csv:2: batch is '64', but single GEMMs are scored");
}

TEST(Measurements, FieldsThatContradictEachOtherAreRefused) {
  EXPECT_EQ(error_of("warmup,repeat", "25,"), "f.csv:2: warmup and repeat are given together or not at all");
  EXPECT_EQ(error_of("repeat", "50"), "f.csv:2: warmup and repeat are given together or not at all");
  EXPECT_EQ(error_of("dtype,d_dtype", "f16,s8"), "f.csv:2: d_dtype is 's8', but products of f16 are no integers");
  MeasurementDefaults defaults;
  defaults.launch.d_dtype = numerics::DataType::kS32;
  EXPECT_EQ(error_of("dtype", "e4m3", defaults), "f.csv:2: d_dtype is 's32', but products of e4m3 are no integers");
}

TEST(Measurements, HostileTextIsRefusedWithFileAndLine) {
  const auto error = [](const std::string& text) {
    return support::input_error_of([&] { parse_measurements(text, "f.csv"); });
  };
  EXPECT_NE(error("").find("f.csv"), std::string::npos);
  EXPECT_FALSE(error("m,n,k,time_us_median\n").empty());
  EXPECT_NE(error("m,n,k,time_us\n1,1,1,1\n").find("time_us_median"), std::string::npos);
  EXPECT_NE(error("m,n,k,time_us_median\n1,1,1,1\n1,1,1\n").find("f.csv:3"), std::string::npos);
  // What stands in the place of the header says what is wrong with it: separators, line ends.
  EXPECT_NE(error("m;n;k;time_us_median\n1;1;1;1\n").find("'m;n;k;time_us_median'"), std::string::npos);
  EXPECT_NE(error("m,n,k,time_us_median\r1,1,1,1\r").find("time_us_median\\x0d1"), std::string::npos);
  EXPECT_NE(error("m,n,k,m,time_us_median\n1,1,1,2,1\n").find("'m' stands twice"), std::string::npos);
  for (const char* row : {"0,1,1,1", "1,-1,1,1", "1,1,x,1", "1,1,1,0", "1,1,1,-3", "1,1,1,nan", "1,1,1,inf",
                          "1,1,1,1e300", "1,1,1,1e-320", "1,1,99999999999,1", "1.5,1,1,1", ",,,"}) {
    EXPECT_NE(error(std::string("m,n,k,time_us_median\n") + row + "\n").find("f.csv:2"), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace sptc::check::times
