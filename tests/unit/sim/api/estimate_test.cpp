// SPDX-License-Identifier: Apache-2.0
#include "sim/run/estimate.h"

#include "sim/api/handles.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sptcsim/estimate.h>
#include <string>
#include <vector>

namespace sptcsim {
namespace {

using sptc::support::expect_input_error;

const Architecture& a100() {
  static const Architecture loaded("a100-sxm4-80gb");
  return loaded;
}

Workload two_layers() {
  return Workload({{.name = "first", .m = 1024, .n = 512, .k = 2048},
                   {.name = "second", .m = 512, .n = 512, .k = 64, .count = 3, .prunable = false}});
}

TEST(ApiEstimate, FiguresAreThoseOfTheReport) {
  const Workload workload = two_layers();
  const Result result = estimate(workload, a100());
  EXPECT_EQ(result.json, report_of(sptc::run::estimate(workload.state().value, a100().state().value), a100()));
  ASSERT_EQ(result.gemms.size(), 2U);
  const sptc::run::RunResult run = sptc::run::estimate(workload.state().value, a100().state().value);
  for (std::size_t i = 0; i < 2; ++i) {
    const sptc::run::OperationResult& expected = run.operations[i];
    const GemmResult& gemm = result.gemms[i];
    EXPECT_EQ(gemm.gemm.name, expected.name);
    EXPECT_EQ(gemm.gemm.count, expected.count);
    EXPECT_EQ(gemm.dense->cycles, expected.dense->timing.cycles);
    EXPECT_EQ(gemm.dense->time_us, expected.dense->timing.time_us);
    EXPECT_EQ(gemm.dense->energy_uj, expected.dense->energy->total_uj);
    EXPECT_EQ(gemm.sparse.has_value(), expected.sparse.has_value());
    EXPECT_EQ(gemm.speedup(), expected.speedup());
  }
  EXPECT_TRUE(result.gemms[0].sparse);
  EXPECT_FALSE(result.gemms[1].sparse) << "what is no weight has no sparse variant";
}

TEST(ApiEstimate, OtherNumbersMakeAnotherDesign) {
  const Architecture half = a100().with({{"/sms", 54}, {"l2_capacity_bytes", a100().number("l2_capacity_bytes")}});
  EXPECT_EQ(half.number("/sms"), 54);
  EXPECT_EQ(a100().number("/sms"), 108);
  const Workload workload({{.m = 8192, .n = 8192, .k = 8192}});
  const Options boost{{"clock", "boost"}};
  EXPECT_GT(estimate(workload, half, boost).gemms[0].dense->time_us,
            1.9 * estimate(workload, a100(), boost).gemms[0].dense->time_us);
}

TEST(ApiEstimate, ADesignOfADerivedFileKeepsItsEnergies) {
  const sptc::support::TemporaryDirectory directory;
  const std::string file = (directory.path() / "mine.json").string();
  std::ofstream(file) << R"({"base": "a100-sxm4-80gb", "name": "mine",
      "sms": {"value": 54, "evidence": "assumed", "source": "half"}})";
  const Architecture mine(file);
  const Workload workload({{.m = 1024, .n = 1024, .k = 1024}});
  const Result before = estimate(workload, mine);
  const Result after = estimate(workload, mine.with({{"/sms", 27}}));
  ASSERT_TRUE(before.gemms[0].dense->energy_uj);
  ASSERT_TRUE(after.gemms[0].dense->energy_uj);
  EXPECT_GT(after.gemms[0].dense->time_us, before.gemms[0].dense->time_us);
}

TEST(ApiEstimate, NamesOfArchitecturesAreThoseOfTheFilesOfTheirDirectory) {
  const std::vector<std::string> names = architectures();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::count(names.begin(), names.end(), "a100-sxm4-80gb"), 1);
  EXPECT_TRUE(std::filesystem::exists(config_directory() + "/a100-sxm4-80gb.json"));
}

TEST(ApiEstimate, BadInputIsRefusedInOneSentence) {
  expect_input_error([] { Architecture("a100-sxm4-80g"); }, {"a100-sxm4-80gb"});
  expect_input_error([] { a100().number("/smss"); }, {"/sms"});
  expect_input_error([] { a100().with({{"/sms", 0.5}}); }, {"sms"});
  expect_input_error([] { a100().with({{"/sms", -1}}); }, {"sms"});
  for (const double wrong : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300, 0x1p63}) {
    expect_input_error([&] { a100().with({{"/sms", wrong}}); }, {"sms"});
    expect_input_error([&] { a100().with({{"/memory/dram_gb_per_s", wrong}}); }, {"dram_gb_per_s"});
  }
  expect_input_error([] { a100().number("/numerics"); }, {"'/numerics' of a100-sxm4-80gb is a word and no number"});
  expect_input_error([] { Workload(std::vector<Gemm>{}); }, {"no GEMM"});
  expect_input_error([] { Workload({{.name = "empty", .m = 1, .n = 0, .k = 1}}); }, {"empty", "0"});
  expect_input_error([] { estimate(two_layers(), a100(), {{"clok", "boost"}}); }, {"'clock'"});
  expect_input_error([] { estimate(two_layers(), a100(), {{"fidelity", "timing"}}); }, {"fidelity"});
}

}  // namespace
}  // namespace sptcsim
