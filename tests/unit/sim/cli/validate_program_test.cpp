// SPDX-License-Identifier: Apache-2.0
//
// sptcsim validate, --explain, --fidelity analytic and the options of the kernel choice as a user
// meets them.
#include "tests/unit/sim/cli/program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace {

class ValidateProgram : public sptc::cli::JsonProgram {
 protected:
  std::string csv() const {
    return write("measured.csv",
                 "m,n,k,time_us_median,source\n"
                 "4096,4096,4096,600,square\n"
                 "8192,1,8192,90,narrow\n"
                 "4096,128,4096,32,thin\n");
  }

  nlohmann::json report(const std::string& arguments) const {
    return json_of("validate " + arguments + " --format json");
  }
};

TEST_F(ValidateProgram, SimulatesFewRowsAndTakesTheClosedFormForMany) {
  std::string many = "m,n,k,time_us_median\n";
  for (int n = 1; n <= 50; ++n) {
    many += fmt::format("64,{},64,5\n", n);
  }
  const std::string systemc = "SystemC, all 108 SMs";
  EXPECT_EQ(report(write("few.csv", many))["made_by"], systemc);
  EXPECT_EQ(report(path("few.csv") + " --fidelity analytic")["made_by"], "closed form");
  EXPECT_EQ(report(write("many.csv", many + "64,51,64,5\n"))["made_by"], "closed form");
  EXPECT_EQ(report(path("many.csv") + " --fidelity timing")["made_by"], systemc);
  expect_output("validate " + path("few.csv"), "a100-sxm4-80gb (" + systemc + ")");
}

TEST_F(ValidateProgram, ClockIsLimitedWhereTheBoardHasEnergies) {
  const std::string closed_form = csv() + " --fidelity analytic";
  const auto limited = report(closed_form);
  EXPECT_EQ(limited["clock"], "limited");
  EXPECT_EQ(limited["defaults"]["power_limit_w"], 400);
  EXPECT_EQ(report(closed_form + " --power-limit 300")["defaults"]["power_limit_w"], 300);
  EXPECT_EQ(report(closed_form + " --clock boost")["clock"], "boost");
  EXPECT_EQ(report(closed_form + " --clock 1200")["clock"], "1200 MHz");
  const std::string mine = " --arch " + board_without_energies();
  const auto without = report(closed_form + mine);
  EXPECT_EQ(without["clock"], "boost");
  sptc::cli::expect_has(without["notes"].dump(),
                        "'mine' has no energies, so that no power limit lowers its clock, boost");
  expect_refused("validate " + closed_form + mine + " --clock limited", "needs an energy file");
  expect_refused("validate " + closed_form + mine + " --power-limit 70", "needs an energy file");
  expect_refused("validate " + closed_form + " --clock boost --power-limit 70", "has no effect");
  expect_refused("validate " + closed_form + " --clock sustained",
                 "--clock must be 'limited', 'boost' or a number of MHz");
  expect_refused("validate " + closed_form + " --clock fast", "'limited', 'boost' or a number");
}

TEST_F(ValidateProgram, SaysWhichWattsItDoesNotCompare) {
  // 20 launches of 600 us are over in 12 ms, 100,010 take a minute.
  const std::string rows = write("watts.csv",
                                 "m,n,k,time_us_median,power_w,warmup,repeat\n"
                                 "4096,4096,4096,600,300,10,10\n"
                                 "4096,4096,4096,600,300,10,100000\n"
                                 "4096,4096,4096,600,,10,10\n") +
                           " --fidelity analytic";
  const auto notes = [&](const std::string& arguments) { return report(arguments)["notes"].dump(); };
  const std::string brief =
      "watts of 1 rows are not compared: their launches take less than a second in all, over which "
      "NVML averages power";
  const std::string any = "watts of 2 rows are not compared: the board has no energies";
  sptc::cli::expect_has(notes(rows), brief);
  sptc::cli::expect_lacks(notes(rows), "has no energies");
  const std::string mine = " --arch " + board_without_energies();
  sptc::cli::expect_has(notes(rows + mine), any);
  sptc::cli::expect_lacks(notes(rows + mine), "NVML");
  for (const std::string& board : {std::string(), mine}) {  // no row has watts
    sptc::cli::expect_lacks(notes(csv() + " --fidelity analytic" + board), "watts of");
  }
}

TEST_F(ValidateProgram, OptionsSayWhatRowsDoNot) {
  const std::string rows = write("rows_in.csv",
                                 "m,n,k,time_us_median,dtype,sparsity,d_dtype\n"
                                 "4096,128,4096,32,,,\n4096,128,4096,32,f16,dense,f32\n");
  const auto json = report(rows +
                           " --fidelity analytic --dtype bf16 --variants sparse --d-dtype f16 --l2 rotate:6 "
                           "--launch graph --algorithm best --warmup 25 --repeat 50 --data relu --rows " +
                           path("rows.csv"));
  const nlohmann::json expected{{"dtype", "bf16"},    {"sparsity", "sparse"},  {"d_dtype", "f16"}, {"l2", "rotate:6"},
                                {"launch", "graph"},  {"algorithm", "best"},   {"warmup", 25},     {"repeat", 50},
                                {"operands", "relu"}, {"power_limit_w", 400.0}};
  EXPECT_EQ(json["defaults"], expected);
  const std::string csv = read(path("rows.csv"));
  sptc::cli::expect_has(csv, "\r\n4096,128,4096,bf16,2:4,f16,32,");
  sptc::cli::expect_has(csv, "\r\n4096,128,4096,f16,dense,f32,32,");
}

TEST_F(ValidateProgram, NamesTheColumnsThatItDoesNotRead) {
  write("wide.csv", "m,n,k,op,time_us_median,count,source,b\n4096,4096,4096,softmax,600,3,a,\n");
  for (const char* const format : {"", " --format json"}) {
    expect_output("validate " + path("wide.csv") + " --fidelity analytic" + format,
                  "columns that are not read: op, count, b");
  }
  expect_output_without("validate " + csv() + " --fidelity analytic", "columns that are not");
}

TEST_F(ValidateProgram, NotesTimesThatByTheirFileAreOfAnotherBoard) {
  const std::string file = write("rtx4090.csv", "m,n,k,time_us_median\n4096,4096,4096,600\n");
  const std::string validate = "validate " + file + " --fidelity analytic --arch ";
  expect_output(validate + "h100-pcie", "has times of rtx4090");
  expect_output_without(validate + "RTX4090", "has times of");
}

TEST_F(ValidateProgram, RefusesWhatItCannotCompare) {
  expect_refused("validate " + path("absent.csv"), "absent.csv");
  write("bytes.csv", "m,n,k,time_us_median,dtype,sparsity,batch\n4096,4096,4096,600,s8,2:4,64\n");
  expect_refused("validate " + path("bytes.csv"), "bytes.csv:2: batch is '64'");
  write("fp8.csv", "m,n,k,time_us_median,dtype\n64,64,64,6,f16\n64,64,64,6,e4m3\n");
  expect_refused("validate " + path("fp8.csv"), "fp8.csv:3: ");
  expect_refused("validate " + csv() + " --fidelity datapath", "--fidelity");
  expect_refused("validate " + csv() + " --variants both", "--variants");
  expect_refused("validate " + csv() + " --dtype fp17", "--dtype: unknown operand type");
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
  for (const char* fidelity : {"analytic", "timing"}) {
    const std::string options = gemm + " --fidelity " + fidelity;
    expect_output(options, "twice the DRAM rate would gain");
    const auto op = json_of(options + " --format json")["operations"][0];
    EXPECT_EQ(op["dense"]["bound_by"], "hbm");
    EXPECT_EQ(op["sparse"]["explanation"]["bound_by"], "hbm");
    const auto& explanation = op["dense"]["explanation"];
    EXPECT_EQ(explanation["bound_by"], "hbm");
    ASSERT_EQ(explanation["what_if"].size(), 10U);
    EXPECT_EQ(explanation.contains("stalls"), std::string(fidelity) == "timing");
    double percent = 0;
    for (const auto& stall : explanation.value("stalls", nlohmann::json::array())) {
      percent += stall["percent"].get<double>();
    }
    if (explanation.contains("stalls")) {
      EXPECT_NEAR(percent, 100, 1e-9);
      EXPECT_EQ(explanation["stalls"][7]["reason"], "dram");
      EXPECT_GT(explanation["stalls"][7]["percent"], 10);
    }
  }
  expect_output(gemm + " --format csv", ",explanation.stalls.dram,");
}

}  // namespace
