// SPDX-License-Identifier: Apache-2.0
//
// sptcsim validate, --explain, --fidelity analytic and the options of the kernel choice as a user
// meets them.
#include "tests/support/program_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <string>
#include <utility>

namespace {

using Outcome = sptc::ProgramOutcome;

class ValidateProgram : public sptc::ProgramFixture {
 protected:
  std::string csv() const {
    std::ofstream(path("measured.csv")) << "m,n,k,time_us_median,source\n"
                                           "4096,4096,4096,600,square\n"
                                           "8192,1,8192,90,narrow\n"
                                           "4096,128,4096,32,thin\n";
    return path("measured.csv");
  }
};

TEST_F(ValidateProgram, ComparesInBothFidelitiesWithAnyNumberOfJobs) {
  // The error on these made-up rows as it was: half a point more or less shows.
  for (const auto& [options, percent] :
       {std::pair{"", 6.9}, std::pair{" --jobs 2", 6.9},
        std::pair{" --fidelity timing --jobs 3 --clock 1200", 10.1}}) {
    const Outcome outcome = run("validate " + csv() + " --format json" + options);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(json["count"], 3);
    EXPECT_NEAR(json["mape_percent"].get<double>(), percent, 0.5) << options;
    double sum = 0;
    for (const auto& row : json["worst"]) {
      const double measured = row["measured_us"];
      sum += std::abs(row["simulated_us"].get<double>() / measured - 1);
    }
    EXPECT_NEAR(json["mape_percent"].get<double>(), 100 * sum / 3, 0.01) << options;
    EXPECT_TRUE(json["residual_correlation"].is_null());
  }
}

TEST_F(ValidateProgram, WritesPlotAndReportToFiles) {
  const Outcome outcome =
      run("validate " + csv() + " --plot " + path("plot.svg") + " --out " + path("report.txt"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(read(path("report.txt")).find("3 measured GEMMs"), std::string::npos);
  EXPECT_TRUE(read(path("plot.svg")).starts_with("<svg"));
}

TEST_F(ValidateProgram, NamesTheColumnsThatItDoesNotRead) {
  std::ofstream(path("wide.csv")) << "m,n,k,op,time_us_median,count,source\n"
                                     "4096,4096,4096,softmax,600,3,a\n";
  for (const char* const format : {"", " --format json"}) {
    expect_output("validate " + path("wide.csv") + format, "columns that are not read: op, count");
  }
  EXPECT_EQ(run("validate " + csv()).out.find("columns that are not read"), std::string::npos);
}

TEST_F(ValidateProgram, WritesEveryRowWithItsKernel) {
  std::ofstream(path("quoted.csv")) << "m,n,k,time_us_median,source\n"
                                       "8192,1,8192,90,\"a, b\"\n"
                                       "4096,4096,4096,600,c/mlp_down_proj\n";
  const Outcome outcome = run("validate " + path("quoted.csv") + " --rows " + path("rows.csv") +
                              " --arch h100-sxm5-80gb --format json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_NE(json["notes"].dump().find("1 multiply zeros"), std::string::npos) << json["notes"];
  const std::string rows = read(path("rows.csv"));
  EXPECT_TRUE(rows.starts_with(
      "m,n,k,source,operands,measured_us,simulated_us,error_percent,tile,split_k,clock_mhz\r\n"
      "8192,1,8192,\"a, b\",random,90,"))
      << rows;
  EXPECT_NE(rows.find("\r\n4096,4096,4096,c/mlp_down_proj,zeros,600,"), std::string::npos) << rows;
  for (const auto& worst : json["worst"]) {
    EXPECT_NE(rows.find(fmt::format(",{},{},{},", worst["measured_us"].get<double>(),
                                    worst["simulated_us"].get<double>(),
                                    worst["error_percent"].get<double>())),
              std::string::npos)
        << rows;
  }
}

TEST_F(ValidateProgram, TakesOneEffectEachOutOfTheClosedForm) {
  const Outcome outcome = run("validate " + csv() + " --ablations --format json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["ablations"].size(), 9);
  int other = 0;
  for (const auto& row : json["ablations"]) {
    EXPECT_GT(row["mape_percent"], 0) << row;
    other += row["mape_percent"] != json["mape_percent"] ? 1 : 0;
  }
  // Clock, quantisation, L2 and overlap are in all three rows; split-K and zeros need not be.
  EXPECT_GE(other, 4);
  const std::string notes = json["notes"].dump();
  EXPECT_NE(notes.find("fitted numbers: 7 constants of the GPU (4 more are set"),
            std::string::npos);
  expect_output("validate " + csv() + " --ablations", "tile and wave quantisation");
  expect_refused("validate " + csv() + " --ablations --fidelity timing", "--ablations");
}

TEST_F(ValidateProgram, RefusesWhatItCannotCompare) {
  expect_refused("validate " + path("absent.csv"), "absent.csv");
  std::ofstream(path("bytes.csv")) << "m,n,k,time_us_median,dtype,sparsity,batch\n"
                                      "4096,4096,4096,600,s8,2:4,64\n";
  expect_refused("validate " + path("bytes.csv"), "bytes.csv:2: dtype is 's8'");
  std::ofstream(path("sparse.csv")) << "m,n,k,time_us_median,sparsity\n4096,4096,4096,400,2:4\n";
  expect_refused("validate " + path("sparse.csv"), "--variants dense");
  expect_output("validate " + path("sparse.csv") + " --variants sparse", "1 measured GEMM");
  expect_refused("validate " + csv() + " --fidelity datapath", "--fidelity");
  expect_refused("validate " + csv() + " --format csv", "text or json");
  expect_refused("validate " + csv() + " --jobs 0", "--jobs");
  expect_refused("validate " + csv() + " --clock limited",
                 "must be 'boost', 'sustained' or a number");
  expect_refused("validate " + csv() + " --plot " + path("no/plot.svg"), "--plot");
  expect_refused("validate " + csv() + " --rows " + path("no/rows.csv"), "--rows");
}

TEST_F(ValidateProgram, ExplainsWhatBoundsAGemm) {
  const std::string gemm = "gemm 8192 1 8192 --check none --explain";
  expect_output(gemm, "dense is bound by DRAM");
  expect_output(gemm, "for 2x it would need, in closed form, DRAM");
  expect_output(gemm + " --fidelity analytic", "for 2x it would need DRAM");
  const Outcome outcome = run(gemm + " --format json --fidelity analytic");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_NE(json["operations"][0]["explanation"].get<std::string>().find("DRAM"),
            std::string::npos);
  expect_refused(gemm + " --format csv", "--explain");
}

TEST_F(ValidateProgram, WhatChangesNoCycleSavesNothing) {
  for (const char* arguments :
       {"512 512 512", "4096 4096 4096 --clock sustained", "4096 4096 4096 --clock limited",
        "512 512 512 --fidelity analytic", "8192 8192 640 --fidelity analytic --clock limited"}) {
    const Outcome outcome =
        run("gemm --check none --explain --format json " + std::string(arguments));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto operation = nlohmann::json::parse(outcome.out)["operations"][0];
    for (const char* variant : {"dense", "sparse"}) {
      for (const auto& [resource, saved] : operation[variant]["saved_if_twice_as_fast"].items()) {
        if (saved.is_number()) {
          EXPECT_TRUE(saved == 0.0 || std::abs(saved.get<double>()) > 1e-12)
              << arguments << ", " << variant << ", " << resource << ": " << saved;
        }
      }
    }
  }
}

TEST_F(ValidateProgram, ExplainsASimulatedGemmWithWhatADesignTwiceAsFastTakes) {
  const std::string common =
      " --check none --variants dense --format json --tile 64x32x64 --stages 4 --split-k 5";
  std::ofstream(path("faster.json")) << R"({"base": "a100-sxm4-80gb", "name": "faster", "memory":
      {"dram_gb_per_s": {"value": 4078, "evidence": "assumed", "source": "twice"}}})";
  const auto dense = [&](const std::string& arguments) {
    const Outcome outcome = run("gemm 4096 16 4096" + common + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["operations"][0]["dense"];
  };
  const auto base = dense(" --explain");
  const auto faster = dense(" --arch " + path("faster.json"));
  const double saved = 1 - faster["time_us"].get<double>() / base["time_us"].get<double>();
  EXPECT_GT(saved, 0.05);
  EXPECT_NEAR(base["saved_if_twice_as_fast"]["hbm"].get<double>(), saved, 1e-9);
  EXPECT_EQ(base["bound_by"], "hbm");
  // All rates: of the tensor cores and what feeds them, shared memory, L2 and its ports, DRAM.
  const auto twice = [](const nlohmann::json& value) {
    return nlohmann::json{{"value", value}, {"evidence", "assumed"}, {"source", "twice"}};
  };
  const nlohmann::json rates{{"base", "a100-sxm4-80gb"},
                             {"name", "rates"},
                             {"sm",
                              {{"shared_memory_bank_bytes_per_cycle", twice(8)},
                               {"tensor_core",
                                {{"dot_units", twice(64)},
                                 {"f32_dot_units", twice(64)},
                                 {"operand_a_port_bytes_per_cycle", twice(256)},
                                 {"operand_b_port_bytes_per_cycle", twice(256)},
                                 {"accumulator_port_bytes_per_cycle", twice(256)},
                                 {"metadata_port_bytes_per_cycle", twice(41.2)},
                                 {"register_bank_bytes_per_cycle", twice(512)},
                                 {"selector_bytes_per_cycle", twice(1024)}}}}},
                             {"memory",
                              {{"l2_bytes_per_cycle", twice(7702)},
                               {"sm_port_bytes_per_cycle", twice(128)},
                               {"dram_gb_per_s", twice(4078)}}}};
  std::ofstream(path("rates.json")) << rates;
  const auto all = dense(" --arch " + path("rates.json"));
  EXPECT_NEAR(base["saved_if_twice_as_fast"]["rates"].get<double>(),
              1 - all["time_us"].get<double>() / base["time_us"].get<double>(), 1e-9);
}

TEST_F(ValidateProgram, SaysOfACalibratedGemmWhatADesignTwiceAsFastTakes) {
  std::ofstream(path("dram.json")) << R"({"base": "t4", "name": "dram", "memory":
      {"dram_gb_per_s": {"value": 640, "evidence": "assumed", "source": "twice"}}})";
  const auto operation = [&](const std::string& arguments) {
    const Outcome outcome =
        run("gemm 8192 2048 32 --dtype s8 --check none --format json" + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["operations"][0];
  };
  const auto base = operation(" --arch t4 --explain");
  const auto faster = operation(" --arch " + path("dram.json"));
  const double us = base["dense"]["time_us"].get<double>();
  EXPECT_GT(base["dense"]["calibration_us"].get<double>(), 0.2 * us);
  const double saved = 1 - faster["dense"]["time_us"].get<double>() / us;
  EXPECT_GT(saved, 0.3);
  EXPECT_NEAR(base["dense"]["saved_if_twice_as_fast"]["hbm"].get<double>(), saved, 1e-9);
  EXPECT_NE(base["explanation"].get<std::string>().find(
                fmt::format("(twice as fast: -{:.0f} %)", 100 * saved)),
            std::string::npos)
      << base["explanation"];
}

TEST_F(ValidateProgram, SaysThatMoreThanTwiceTheRatesAreNeededWhereTheyAre) {
  // DRAM bounds both, and twice as fast it is not quite enough: that is no latency.
  const Outcome dram = run("gemm 64 100352 576 --check none --explain --format json");
  ASSERT_EQ(dram.exit_code, 0) << dram.err;
  const auto op = nlohmann::json::parse(dram.out)["operations"][0];
  const std::string sentence = op["explanation"];
  EXPECT_EQ(sentence.find("out of reach"), std::string::npos) << sentence;
  EXPECT_GT(op["sparse"]["needed_for_two"]["times_as_fast"]["hbm"].get<double>(), 2);
  EXPECT_GT(op["sparse"]["needed_for_two"]["speedup"].get<double>(), 1.95);
  EXPECT_LT(op["sparse"]["without_rates_us"].get<double>(),
            op["dense"]["time_us"].get<double>() / 2);
  expect_output("gemm 64 64 64 --check none --explain", "2x is out of reach: launch, latency");
}

TEST_F(ValidateProgram, CallsNothingOutOfReachThatADerivedDesignReaches) {
  const auto eight_times = [](double value) {
    return nlohmann::json{{"value", 8 * value}, {"evidence", "assumed"}, {"source", "eight times"}};
  };
  const nlohmann::json rates{{"base", "a100-sxm4-80gb"},
                             {"name", "rates"},
                             {"sm",
                              {{"shared_memory_banks", eight_times(32)},
                               {"tensor_core",
                                {{"dot_units", eight_times(32)},
                                 {"f32_dot_units", eight_times(32)},
                                 {"operand_a_port_bytes_per_cycle", eight_times(128)},
                                 {"operand_b_port_bytes_per_cycle", eight_times(128)},
                                 {"accumulator_port_bytes_per_cycle", eight_times(128)},
                                 {"metadata_port_bytes_per_cycle", eight_times(20.6)},
                                 {"register_bank_bytes_per_cycle", eight_times(256)},
                                 {"selector_bytes_per_cycle", eight_times(512)}}}}},
                             {"memory",
                              {{"l2_bytes_per_cycle", eight_times(3851)},
                               {"sm_port_bytes_per_cycle", eight_times(64)},
                               {"dram_gb_per_s", eight_times(2039)}}}};
  std::ofstream(path("rates.json")) << rates;
  for (const char* fidelity : {"analytic", "timing"}) {
    const auto operation = [&](const std::string& arguments) {
      const Outcome outcome = run("gemm 4096 128 1024 --check none --format json --fidelity " +
                                  std::string(fidelity) + arguments);
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      return nlohmann::json::parse(outcome.out)["operations"][0];
    };
    const auto base = operation(" --explain");
    const auto faster = operation(" --variants sparse --arch " + path("rates.json"));
    const double speedup =
        base["dense"]["time_us"].get<double>() / faster["sparse"]["time_us"].get<double>();
    EXPECT_GT(speedup, 2) << fidelity;
    const std::string sentence = base["explanation"];
    EXPECT_EQ(sentence.find("out of reach"), std::string::npos) << sentence;
  }
}

TEST_F(ValidateProgram, NamesRegisterBanksThatAreTooNarrow) {
  std::ofstream(path("banks.json")) << R"({"base": "a100-sxm4-80gb", "name": "banks", "sm":
      {"tensor_core": {"register_bank_bytes_per_cycle":
      {"value": 64, "evidence": "assumed", "source": "a quarter"}}}})";
  const Outcome outcome =
      run("gemm 4096 4096 4096 --check none --explain --variants sparse --format json --arch " +
          path("banks.json"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto op = nlohmann::json::parse(outcome.out)["operations"][0];
  EXPECT_NE(op["explanation"].get<std::string>().find(
                "bound by the register banks of the tensor cores (register_bank_bytes_per_cycle)"),
            std::string::npos)
      << op["explanation"];
  EXPECT_GT(op["sparse"]["saved_if_twice_as_fast"]["register_banks"].get<double>(), 0.25);
}

TEST_F(ValidateProgram, ComparesDenseAndSparseWithTheTileThatIsAskedFor) {
  const std::string gemm = "gemm 1024 1024 1024 --check none --fidelity analytic --tile ";
  expect_output(gemm + "128x128x32",
                "    dense 128x128x32, 4 stages, mma.sync.m16n8k16; "
                "2:4 128x128x64, 4 stages, mma.sp.sync.m16n8k32\n");
  expect_output(gemm + "128x128x128 --arch b200", "tcgen05.mma.m128n128k16; 2:4 128x128x128");
  expect_output(gemm + "128x256x64 --arch h100-sxm5-80gb", "wgmma.sp.m64n256k32\n");
  const std::string note = "dense and sparse launches run as mma.sync, not wgmma";
  expect_output(gemm + "192x128x64 --arch h100-sxm5-80gb", note);
  const Outcome own = run(gemm + "128x256x64 --arch h100-sxm5-80gb");
  EXPECT_EQ(own.out.find("run as mma.sync"), std::string::npos) << own.out;
}

TEST_F(ValidateProgram, ReadsPartialSumsBackThatTheL2CannotKeep) {
  for (const char* fidelity : {"analytic", "timing"}) {
    const Outcome outcome =
        run("gemm 4096 4096 4096 --split-k 16 --variants dense --check none "
            "--format json --fidelity " +
            std::string(fidelity));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto dense = nlohmann::json::parse(outcome.out)["operations"][0]["dense"];
    const double partial_sums = 16.0 * 4 * 4096 * 4096;
    EXPECT_GT(dense["bytes"]["hbm_read"], partial_sums);
    EXPECT_LT(dense["bytes"]["hbm_read"], 1.2 * partial_sums);
    const double reduction_us =
        dense["busy_cycles"]["reduction"].get<double>() / dense["clock_mhz"].get<double>();
    EXPECT_GT(reduction_us, 500);
    EXPECT_GT(dense["launch_us"], reduction_us);
  }
}

TEST_F(ValidateProgram, SimulatesTheDesignThatItNamesForTwice) {
  const auto sparse = [&](const std::string& arguments) {
    const Outcome outcome =
        run("gemm 4096 16 4096 --check none --format json --tile 64x32x64 --stages 4 --split-k 5" +
            arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["operations"][0];
  };
  const auto base = sparse(" --explain");
  const auto needed = base["sparse"]["needed_for_two"];
  ASSERT_TRUE(needed.is_object()) << base["explanation"];
  for (const char* const rate : {"tensor", "smem", "sm_port"}) {
    ASSERT_EQ(needed["times_as_fast"][rate], 1) << rate;
  }
  const auto times = [&](double value, const char* rate) {
    return nlohmann::json{{"value", value * needed["times_as_fast"][rate].get<double>()},
                          {"evidence", "assumed"},
                          {"source", "as the sentence says"}};
  };
  const nlohmann::json named{
      {"base", "a100-sxm4-80gb"},
      {"name", "named"},
      {"memory",
       {{"dram_gb_per_s", times(2039, "hbm")}, {"l2_bytes_per_cycle", times(3851, "l2")}}}};
  std::ofstream(path("named.json")) << named;
  const auto design = sparse(" --arch " + path("named.json"));
  EXPECT_NEAR(needed["speedup"].get<double>(),
              base["dense"]["time_us"].get<double>() / design["sparse"]["time_us"].get<double>(),
              1e-6);
}

TEST_F(ValidateProgram, ExplainsWithTwoRatesWhereNothingAloneSavesMuch) {
  const Outcome outcome =
      run("gemm 10007 10007 101 --arch b200 --variants dense --check none --explain --format json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto op = nlohmann::json::parse(outcome.out)["operations"][0];
  EXPECT_NE(op["explanation"].get<std::string>().find("nothing alone, but by DRAM and the L2"),
            std::string::npos)
      << op["explanation"];
  EXPECT_GT(op["dense"]["saved_if_twice_as_fast"]["two"]["saved"].get<double>(), 0.3);
  EXPECT_EQ(op["dense"]["bound_by"], "hbm");
}

TEST_F(ValidateProgram, TakesTheSlicesOfKThatAreAskedFor) {
  const Outcome outcome =
      run("gemm 256 256 16384 --variants dense --check none --format json --split-k 8");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["operations"][0]["dense"]["kernel"]["split_k"], 8);
  EXPECT_GT(json["operations"][0]["dense"]["busy_cycles"]["reduction"], 0);
  expect_refused("gemm 256 256 16384 --split-k 0", "--split-k");
  expect_refused("gemm 64 64 64 --split-k 64", "split-k 64 is not in 1..1");
  expect_refused("gemm 256 256 16384 --clock fast", "--clock");
}

}  // namespace
