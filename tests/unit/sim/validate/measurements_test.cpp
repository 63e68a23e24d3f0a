// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/measurements.h"

#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::sim {
namespace {

TEST(Measurements, ColumnsAreFoundByNameInAnyOrderAndOthersIgnored) {
  const auto rows = parse_measurements(
      "time_us_median,k,extra,n,m,source\n12.5,64,x,8,128,a model\n7,32,y,1,16,\n", "f.csv");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].shape, (GemmShape{128, 8, 64}));
  EXPECT_EQ(rows[0].time_us, 12.5);
  EXPECT_EQ(rows[0].source, "a model");
  EXPECT_EQ(rows[1].shape, (GemmShape{16, 1, 32}));
}

TEST(Measurements, OperandsAreTakenFromTheirColumnOrFromHowVidurProfiles) {
  const std::string header = "m,n,k,time_us_median,source";
  const auto known =
      parse_measurements(header + "\n1,1,1,1,a/mlp_down_proj\n1,1,1,1,a/mlp_up_proj\n", "f.csv");
  EXPECT_TRUE(known[0].zeros);
  EXPECT_TRUE(known[0].zeros_by_name);
  EXPECT_FALSE(known[1].zeros);
  const auto said = parse_measurements(
      header + ",operands\n1,1,1,1,a/mlp_down_proj,random\n1,1,1,1,,zeros\n", "f.csv");
  EXPECT_FALSE(said[0].zeros);
  EXPECT_TRUE(said[1].zeros);
  EXPECT_FALSE(said[1].zeros_by_name);
  EXPECT_NE(input_error_of([&] {
              parse_measurements(header + ",operands\n1,1,1,1,,0\n", "f.csv");
            }).find("operands must be random or zeros"),
            std::string::npos);
  const auto workload =
      parse_measurements("m,n,k,time_us_median,b\n1,1,1,1,zeros\n1,1,1,1,\n", "f");
  EXPECT_TRUE(workload[0].zeros);
  EXPECT_FALSE(workload[1].zeros);
  EXPECT_NE(input_error_of([&] {
              parse_measurements("m,n,k,time_us_median,b\n1,1,1,1,64\n", "f.csv");
            }).find("f.csv:2: b must be 'zeros' or empty, not '64'"),
            std::string::npos);
}

TEST(Measurements, ARowOfAnotherLaunchThanTheScoredOneIsRefused) {
  const std::string header = "m,n,k,time_us_median,dtype,sparsity,batch\n";
  const auto error = [&](const std::string& row, bool sparse) {
    return input_error_of([&] { parse_measurements(header + row + "\n", "f.csv", sparse); });
  };
  EXPECT_EQ(error("1,1,1,1,s8,2:4,64", false),
            "f.csv:2: dtype is 's8', but GEMMs of f16 are scored");
  EXPECT_EQ(error("1,1,1,1,,2:4,64", false), "f.csv:2: batch is '64', but single GEMMs are scored");
  EXPECT_EQ(error("1,1,1,1,f16,2:4,1", false),
            "f.csv:2: sparsity is '2:4', but dense launches are scored (--variants dense)");
  EXPECT_EQ(error("1,1,1,1,f16,dense,1", true),
            "f.csv:2: sparsity is 'dense', but 2:4 launches are scored (--variants sparse)");
  for (const char* row : {"1,1,1,1,F16,,", "1,1,1,1,f16 ,,", "1,1,1,1,,1:2,", "1,1,1,1,,,1.0",
                          "1,1,1,1,,,01", "1,1,1,1,,,-1", "1,1,1,1,\x01,,"}) {
    EXPECT_TRUE(error(row, false).starts_with("f.csv:2: ")) << row;
    EXPECT_TRUE(error(row, true).starts_with("f.csv:2: ")) << row;
  }
  for (const char* row : {"1,1,1,1,f16,dense,1", "1,1,1,1,,,", "1,1,1,1,,1:1,"}) {
    EXPECT_EQ(parse_measurements(header + row + "\n", "f.csv").size(), 1U) << row;
  }
  EXPECT_EQ(parse_measurements(header + "1,1,1,1,,2:4,\n", "f.csv", true).size(), 1U);
}

TEST(Measurements, HostileTextIsRefusedWithFileAndLine) {
  const auto error = [](const std::string& text) {
    return input_error_of([&] { parse_measurements(text, "f.csv"); });
  };
  EXPECT_NE(error("").find("f.csv"), std::string::npos);
  EXPECT_FALSE(error("m,n,k,time_us_median\n").empty());
  EXPECT_NE(error("m,n,k,time_us\n1,1,1,1\n").find("time_us_median"), std::string::npos);
  EXPECT_NE(error("m,n,k,time_us_median\n1,1,1,1\n1,1,1\n").find("f.csv:3"), std::string::npos);
  // What stands in the place of the header says what is wrong with it: separators, line ends.
  EXPECT_NE(error("m;n;k;time_us_median\n1;1;1;1\n").find("'m;n;k;time_us_median'"),
            std::string::npos);
  EXPECT_NE(error("m,n,k,time_us_median\r1,1,1,1\r").find("time_us_median\\x0d1"),
            std::string::npos);
  EXPECT_NE(error("m,n,k,m,time_us_median\n1,1,1,2,1\n").find("'m' stands twice"),
            std::string::npos);
  for (const char* row :
       {"0,1,1,1", "1,-1,1,1", "1,1,x,1", "1,1,1,0", "1,1,1,-3", "1,1,1,nan", "1,1,1,inf",
        "1,1,1,1e300", "1,1,1,1e-320", "1,1,99999999999,1", "1.5,1,1,1", ",,,"}) {
    EXPECT_NE(error(std::string("m,n,k,time_us_median\n") + row + "\n").find("f.csv:2"),
              std::string::npos)
        << row;
  }
}

}  // namespace
}  // namespace sptc::sim
