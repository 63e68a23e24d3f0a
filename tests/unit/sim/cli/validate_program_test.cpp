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
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  std::string csv() const {
    return written("measured.csv",
                   "m,n,k,time_us_median,source\n"
                   "4096,4096,4096,600,square\n"
                   "8192,1,8192,90,narrow\n"
                   "4096,128,4096,32,thin\n");
  }

  nlohmann::json report(const std::string& arguments) const {
    const Outcome outcome = run("validate " + arguments + " --format json");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }

  /// The only operation of `run` or `gemm`.
  nlohmann::json operation(const std::string& arguments) const {
    const Outcome outcome = run(arguments + " --check none --format json");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)["operations"][0];
  }
};

TEST_F(ValidateProgram, ComparesInBothFidelitiesWithAnyNumberOfJobs) {
  for (const char* const fidelity : {" --fidelity analytic", " --sms sampled"}) {
    const nlohmann::json alone = report(csv() + fidelity);
    EXPECT_EQ(alone["count"], 3);
    double sum = 0;
    for (const auto& row : alone["worst"]) {
      const double measured = row["measured_us"];
      sum += std::abs(row["simulated_us"].get<double>() / measured - 1);
    }
    EXPECT_NEAR(alone["mape_percent"].get<double>(), 100 * sum / 3, 0.01) << fidelity;
    EXPECT_TRUE(alone["residual_correlation"].is_null());
    EXPECT_EQ(report(csv() + fidelity + " --jobs 2"), alone);
    EXPECT_EQ(report(csv() + fidelity + " --jobs 3"), alone);
  }
}

TEST_F(ValidateProgram, HasTheTimesAndWattsOfARunUnderThePowerLimit) {
  const std::string rows = written("limited.csv",
                                   "m,n,k,time_us_median,dtype,sparsity,power_limit_w\n"
                                   "8192,4096,4096,1000,f16,dense,\n"
                                   "8192,4096,4096,1000,bf16,2:4,250\n");
  for (const char* const fidelity : {"analytic", "timing --sms sampled"}) {
    report(rows + " --rows " + path("rows.csv") + " --fidelity " + fidelity);
    const std::string csv = read(path("rows.csv"));
    const auto expect_row = [&](const std::string& start, const nlohmann::json& figures) {
      const auto rounded = [](const nlohmann::json& value) {
        return fmt::format("{}", std::round(1000 * value.get<double>()) / 1000);
      };
      const double us = figures["time_us"];
      EXPECT_NE(
          csv.find(fmt::format("\r\n{},1000,{},{},", start, rounded(us), rounded(us / 10 - 100))),
          std::string::npos)
          << figures << csv;
      EXPECT_NE(csv.find(fmt::format(",{},{},,", rounded(figures["clock_mhz"]),
                                     rounded(figures["power_w"]))),
                std::string::npos)
          << figures << csv;
    };
    const std::string gemm =
        std::string("gemm 8192 4096 4096 --clock limited --fidelity ") + fidelity;
    expect_row("8192,4096,4096,f16,dense,f16", operation(gemm + " --variants dense")["dense"]);
    expect_row("8192,4096,4096,bf16,2:4,bf16",
               operation(gemm + " --variants sparse --dtype bf16 --power-limit 250")["sparse"]);
  }
}

TEST_F(ValidateProgram, SimulatesAllSmsOfFewRowsAndAFewOfMany) {
  std::string many = "m,n,k,time_us_median\n";
  for (int n = 1; n <= 50; ++n) {
    many += fmt::format("64,{},64,5\n", n);
  }
  EXPECT_EQ(report(written("few.csv", many))["sms"], "all");
  EXPECT_EQ(report(path("few.csv") + " --sms sampled")["sms"], "sampled");
  EXPECT_EQ(report(written("many.csv", many + "64,51,64,5\n"))["sms"], "sampled");
  EXPECT_EQ(report(path("many.csv") + " --sms all")["sms"], "all");
  EXPECT_TRUE(report(path("many.csv") + " --fidelity analytic")["sms"].is_null());
  expect_output("validate " + path("few.csv"), "fidelity timing with all SMs");
}

TEST_F(ValidateProgram, ClockIsLimitedWhereTheBoardHasEnergies) {
  const std::string closed_form = csv() + " --fidelity analytic";
  const auto limited = report(closed_form);
  EXPECT_EQ(limited["clock"], "limited");
  EXPECT_EQ(limited["defaults"]["power_limit_w"], 400);
  EXPECT_EQ(report(closed_form + " --power-limit 300")["defaults"]["power_limit_w"], 300);
  EXPECT_EQ(report(closed_form + " --clock boost")["clock"], "boost");
  EXPECT_EQ(report(closed_form + " --clock 1200")["clock"], "1200 MHz");
  const auto without = report(closed_form + " --arch t4");
  EXPECT_EQ(without["clock"], "boost");
  EXPECT_NE(without["notes"].dump().find(
                "'t4' has no energies, so that no power limit lowers its clock, boost"),
            std::string::npos);
  expect_refused("validate " + closed_form + " --arch t4 --clock limited", "needs an energy file");
  expect_refused("validate " + closed_form + " --arch t4 --power-limit 70", "needs an energy file");
  expect_refused("validate " + closed_form + " --clock boost --power-limit 70", "has no effect");
  expect_refused("validate " + closed_form + " --clock sustained",
                 "--clock must be 'limited', 'boost' or a number of MHz");
  expect_refused("validate " + closed_form + " --clock fast", "'limited', 'boost' or a number");
}

TEST_F(ValidateProgram, OptionsSayWhatRowsDoNot) {
  const std::string rows = written("rows_in.csv",
                                   "m,n,k,time_us_median,dtype,sparsity,d_dtype\n"
                                   "4096,128,4096,32,,,\n4096,128,4096,32,f16,dense,f32\n");
  const auto json =
      report(rows +
             " --fidelity analytic --dtype bf16 --variants sparse --d-dtype f16 --l2 rotate:6 "
             "--launch graph --algorithm best --warmup 25 --repeat 50 --data relu --rows " +
             path("rows.csv"));
  const nlohmann::json expected{
      {"dtype", "bf16"},    {"sparsity", "sparse"},  {"d_dtype", "f16"}, {"l2", "rotate:6"},
      {"launch", "graph"},  {"algorithm", "best"},   {"warmup", 25},     {"repeat", 50},
      {"operands", "relu"}, {"power_limit_w", 400.0}};
  EXPECT_EQ(json["defaults"], expected);
  const std::string csv = read(path("rows.csv"));
  EXPECT_NE(csv.find("\r\n4096,128,4096,bf16,2:4,f16,32,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\r\n4096,128,4096,f16,dense,f32,32,"), std::string::npos) << csv;
}

TEST_F(ValidateProgram, WritesTheReportToAFile) {
  const Outcome outcome =
      run("validate " + csv() + " --fidelity analytic --out " + path("report.txt"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(read(path("report.txt")).find("3 measured GEMMs"), std::string::npos);
}

TEST_F(ValidateProgram, NamesTheColumnsThatItDoesNotRead) {
  written("wide.csv", "m,n,k,op,time_us_median,count,source,b\n4096,4096,4096,softmax,600,3,a,\n");
  for (const char* const format : {"", " --format json"}) {
    expect_output("validate " + path("wide.csv") + " --fidelity analytic" + format,
                  "columns that are not read: op, count, b");
  }
  EXPECT_EQ(run("validate " + csv() + " --fidelity analytic").out.find("columns that are not"),
            std::string::npos);
}

TEST_F(ValidateProgram, WritesEveryRowWithItsKernel) {
  written("quoted.csv",
          "m,n,k,time_us_median,source\n"
          "8192,1,8192,90,\"a, b\"\n"
          "4096,4096,4096,600,c/mlp_down_proj\n");
  const auto json = report(path("quoted.csv") + " --rows " + path("rows.csv") +
                           " --arch h100-sxm5-80gb --fidelity analytic");
  const std::string rows = read(path("rows.csv"));
  EXPECT_TRUE(rows.starts_with(
      "m,n,k,dtype,sparsity,d_dtype,measured_us,simulated_us,error_percent,launch_us,clock_mhz,"
      "power_w,measured_power_w,tile,split_k,source\r\n8192,1,8192,f16,dense,f16,90,"))
      << rows;
  EXPECT_NE(rows.find(",\"a, b\"\r\n4096,4096,4096,f16,dense,f16,600,"), std::string::npos) << rows;
  for (const auto& worst : json["worst"]) {
    EXPECT_NE(rows.find(fmt::format(",{},{},{},", worst["measured_us"].get<double>(),
                                    worst["simulated_us"].get<double>(),
                                    worst["error_percent"].get<double>())),
              std::string::npos)
        << rows;
  }
}

TEST_F(ValidateProgram, RefusesWhatItCannotCompare) {
  expect_refused("validate " + path("absent.csv"), "absent.csv");
  written("bytes.csv", "m,n,k,time_us_median,dtype,sparsity,batch\n4096,4096,4096,600,s8,2:4,64\n");
  expect_refused("validate " + path("bytes.csv"), "bytes.csv:2: batch is '64'");
  written("fp8.csv", "m,n,k,time_us_median,dtype\n64,64,64,6,f16\n64,64,64,6,e4m3\n");
  expect_refused("validate " + path("fp8.csv"), "fp8.csv:3: ");
  expect_refused("validate " + csv() + " --fidelity datapath", "--fidelity");
  expect_refused("validate " + csv() + " --fidelity analytic --sms all", "--sms has no effect");
  expect_refused("validate " + csv() + " --variants both", "--variants");
  expect_refused("validate " + csv() + " --dtype fp16", "--dtype: unknown operand type");
  expect_refused("validate " + csv() + " --d-dtype f64", "unknown --d-dtype 'f64'");
  expect_refused("validate " + csv() + " --d-dtype s8", "measured.csv:2: d_dtype is 's8'");
  expect_refused("validate " + csv() + " --l2 hot", "unknown --l2 'hot'");
  expect_refused("validate " + csv() + " --launch replay", "unknown --launch 'replay'");
  expect_refused("validate " + csv() + " --algorithm fastest", "unknown --algorithm 'fastest'");
  expect_refused("validate " + csv() + " --warmup 5", "--warmup and --repeat are given together");
  expect_refused("validate " + csv() + " --warmup 5 --repeat 0", "--repeat must be an integer");
  expect_refused("validate " + csv() + " --warmup -1 --repeat 1",
                 "--warmup must be an integer from 0 to 1000000, not '-1'");
  expect_refused("validate " + csv() + " --data ones", "unknown kind of data 'ones'");
  expect_refused("validate " + csv() + " --format csv", "text or json");
  expect_refused("validate " + csv() + " --jobs 0", "--jobs");
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
