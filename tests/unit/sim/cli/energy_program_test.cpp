// SPDX-License-Identifier: Apache-2.0
//
// sptcsim energy as a user meets it.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>

namespace {

using Outcome = sptc::support::ProgramOutcome;

class EnergyProgram : public sptc::cli::JsonProgram {};

TEST_F(EnergyProgram, ABoardThatStatesNoPowerLimitSaysWhoseItHas) {
  std::ofstream(path("a16.json")) << R"({"base": "a40", "name": "a16", "board": true,
    "sms": {"value": 72, "evidence": "assumed", "source": "a test"}})";
  std::ofstream(path("energy.json")) << R"({"base": "a40", "name": "a16",
    "static": {"board_idle_w": {"value": 30, "evidence": "cited", "source": "a test"}}})";
  std::ofstream(path("limit.json")) << R"({"base": "energy.json", "name": "a16",
    "clock": {"power_limit_w": {"value": 150, "evidence": "cited", "source": "a test"}}})";
  const auto says = [&](const std::string& options) {
    const Outcome outcome = run("gemm 512 512 512 --fidelity analytic --check none --arch " + options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::string text = outcome.out;
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text.find("the power limit of 300 W is that of a40") != std::string::npos;
  };
  const std::string a16 = path("a16.json");
  EXPECT_TRUE(says(a16));
  EXPECT_TRUE(says(a16 + " --energy " + path("energy.json")));
  EXPECT_FALSE(says(a16 + " --energy " + path("limit.json")));
  EXPECT_FALSE(says(a16 + " --power-limit 150"));
  EXPECT_FALSE(says("a40"));
  EXPECT_FALSE(says("h200"));
}

TEST_F(EnergyProgram, ThePowerLimitOfAModuleHoldsForTheSumOfItsRails) {
  const std::string gemm = "gemm 4096 4096 4096 --fidelity analytic --check none --quiet --format json --arch ";
  EXPECT_FALSE(json_of(gemm + "A100")["totals"]["dense"].contains("rails"));
  const nlohmann::json dense = json_of(gemm + "Orin --clock limited --power-limit 30")["totals"]["dense"];
  double watts = 0;
  for (const nlohmann::json& rail : dense["rails"]) {
    watts += rail["power_w"].get<double>();
  }
  EXPECT_NEAR(watts, dense["power_w"].get<double>(), 1e-9 * watts);
  EXPECT_TRUE(dense["power_limited"].get<bool>());
  EXPECT_LE(watts, 30 * 1.02);
  EXPECT_GT(watts, 30 * 0.9);
  EXPECT_NE(run("energy show Orin").out.find("\nrail VDD_GPU_SOC (cited: "), std::string::npos);
  EXPECT_EQ(run("energy show a100-sxm4-80gb").out.find("\nrail "), std::string::npos);
}

TEST_F(EnergyProgram, ExplainsALimitedLaunchAtTheClockThatItGets) {
  const std::string gemm = "gemm 4096 512 1024 --check none --quiet --format json --explain --variants dense";
  const auto dense = [&](const std::string& clock) { return json_of(gemm + clock)["operations"][0]["dense"]; };
  const nlohmann::json limited = dense(" --clock limited --power-limit 170");
  const double mhz = limited["clock_mhz"];
  ASSERT_LT(mhz, 1000);
  const nlohmann::json fixed = dense(" --clock " + std::to_string(mhz));
  const nlohmann::json& gains = fixed["explanation"]["what_if"];
  ASSERT_EQ(gains.size(), 10U);
  for (std::size_t i = 0; i < gains.size(); ++i) {
    const nlohmann::json& found = limited["explanation"]["what_if"][i];
    EXPECT_EQ(found["resource"], gains[i]["resource"]);
    EXPECT_NEAR(found["speedup"].get<double>(), gains[i]["speedup"].get<double>(), 1e-6) << found;
  }
  // At either clock the tensor cores multiply for as much of the cycles as their work takes.
  for (const nlohmann::json& launch : {limited, fixed}) {
    const nlohmann::json& stalls = launch["explanation"]["stalls"];
    EXPECT_EQ(stalls[0]["reason"], "mma");
    EXPECT_NEAR(stalls[0]["percent"].get<double>(),
                100 * launch["utilization"].get<double>() / (1 - launch["padding"].get<double>()), 1e-9);
    double percent = 0;
    for (const nlohmann::json& stall : stalls) {
      percent += stall["percent"].get<double>();
    }
    EXPECT_NEAR(percent, 100, 1e-9);
  }
  EXPECT_EQ(limited["bound_by"], fixed["bound_by"]);
}

TEST_F(EnergyProgram, TheClockIsLimitedWhereTheBoardHasEnergiesAndBoostElsewhere) {
  const std::string gemm =
      "gemm 8192 8192 8192 --check none --quiet --fidelity analytic "
      "--variants dense --format json";
  const auto report = [&](const std::string& options) { return json_of(gemm + options); };
  const auto mhz = [](const nlohmann::json& json) { return json["operations"][0]["dense"]["clock_mhz"].get<double>(); };
  const nlohmann::json of_default = report("");
  EXPECT_EQ(of_default["options"]["clock"], "limited by 400 W, at most boost");
  EXPECT_LT(mhz(of_default), 1410);
  EXPECT_EQ(of_default, report(" --clock limited"));
  EXPECT_EQ(mhz(report(" --clock boost")), 1410);

  const nlohmann::json without = report(" --arch " + board_without_energies());
  EXPECT_EQ(without["options"]["clock"], "boost");
  EXPECT_EQ(mhz(without), 1590);
  sptc::cli::expect_has(without["notes"].dump(),
                        "'mine' has no energies and no power limit: it runs at its boost clock");
}

TEST_F(EnergyProgram, SaysThatABoardIsNotGivenWhatALaunchTakes) {
  const std::string note = "above the power limit of 400 W: --clock limited gives the clock";
  const std::string gemm = "gemm 8192 8192 8192 --check none --quiet --fidelity analytic";
  const std::string at_boost = gemm + " --clock boost";
  expect_output(at_boost + " --verbose", note);
  expect_output(at_boost + " --format json", note);
  expect_output(at_boost + " --verbose --arch h100-pcie", "above the power limit of 350 W");
  expect_output_without(gemm + " --clock limited", "above the power limit");
  expect_output_without("gemm 64 64 64 --check none --quiet --fidelity analytic --clock boost",
                        "above the power limit");
}

TEST_F(EnergyProgram, TheHeadlineSaysWhereTheLowestClockTakesMoreThanTheLimit) {
  const std::string page = path("limit.html");
  const auto headline_has = [&](const std::string& command, const std::string& watts, bool exceeded) {
    ASSERT_EQ(run(command + " --fidelity analytic --quiet --power-limit " + watts + " --html " + page).exit_code, 0);
    sptc::cli::expect_has(
        read(page), "clock limited by " + watts + " W" + (exceeded ? ", exceeded even at the lowest clock;" : ";"));
  };
  const std::string bert = "run " SPTC_SOURCE_DIR "/traces/bert_large.json --engine compiled --dim batch=8";
  for (const std::string& command : {std::string("gemm 4096 512 4096"), bert}) {
    headline_has(command, "1", true);
    headline_has(command, "300", false);
  }
}

TEST_F(EnergyProgram, TheClockUnderLoadIsNoPowerLimit) {
  const std::string small = "gemm 256 256 256 --arch h100-sxm5-80gb --verbose --variants dense";
  expect_output(small, "clock limited by 700 W, at most 1771 MHz");
  expect_output(small, "clock_mhz 1771");
  expect_output(small, "power_limited false");
  expect_output(small + " --clock boost", "clock_mhz 1830");
  // Launches from rest are over before the clock falls.
  expect_output(small + " --warmup 1 --repeat 2", "clock_mhz 1830");
}

TEST_F(EnergyProgram, ADerivedDesignHasTheEnergiesOfItsBase) {
  const auto derived = [this](const std::string& parameter, double value) {
    std::ofstream(path("derived.json")) << R"({"base": "a100-sxm4-80gb", "name": "derived", ")" << parameter
                                        << R"(": {"value": )" << value
                                        << R"(, "evidence": "assumed", "source": "what if"}})";
    return " --arch " + path("derived.json");
  };
  const std::string gemm = "gemm 512 512 512 --check none --quiet --fidelity analytic";
  expect_output(gemm + derived("sms", 96) + " --verbose",
                "those of that GPU, which derived is derived from: --energy names others");
  const std::string own = run(gemm + " --format csv").out;
  const std::string inherited = run(gemm + " --format csv" + derived("sms", 96)).out;
  const std::string named = run(gemm + " --format csv --energy a100-sxm4-80gb" + derived("sms", 96)).out;
  EXPECT_EQ(inherited, named);
  EXPECT_NE(inherited, own);
  expect_output(gemm + " --clock limited" + derived("sms", 96) + " --verbose", "power_w");
  // A slice has energies of its own.
  std::ofstream(path("slice.json")) << R"({"base": "a100-sxm4-80gb-mig-1g.10gb", "name": "slice",
      "sms": {"value": 12, "evidence": "assumed", "source": "what if"}})";
  expect_output(gemm + " --arch " + path("slice.json"), "note: energies of a100-sxm4-80gb-mig-1g.10gb: ");
  // No energies are no reason to refuse a design that nobody asked the energy of.
  const Outcome slow = run(gemm + derived("boost_clock_mhz", 100) + " --verbose");
  EXPECT_EQ(slow.exit_code, 0) << slow.err;
  sptc::cli::expect_has(slow.out,
                        "note: no energies: those of a100-sxm4-80gb, which derived is derived "
                        "from, do not fit it (");
  expect_refused(gemm + " --clock limited" + derived("boost_clock_mhz", 100), "floor_clock_mhz");
}

TEST_F(EnergyProgram, TheBoardOfADerivedDesignIsThatOfItsBaseWhateverItsSms) {
  const auto energy = [this](int sms, const std::string& options = "") {
    std::ofstream(path("sms.json")) << R"({"base": "a100-sxm4-80gb", "name": "derived", "sms": {"value": )" << sms
                                    << R"(, "evidence": "assumed", "source": "what if"}})";
    return json_of(
        "gemm 8192 8192 4096 --check none --quiet --fidelity analytic --variants dense "
        "--clock 800 --format json" +
        (sms == 108 ? "" : " --arch " + path("sms.json")) + options);
  };
  const auto watts = [](const nlohmann::json& report, const char* part) {
    const nlohmann::json& dense = report["operations"][0]["dense"];
    return dense["energy_uj"].value(part, 0.0) / dense["time_us"].get<double>();
  };
  double last_w = 0;
  for (const int sms : {54, 108, 216, 432, 600}) {
    const nlohmann::json report = energy(sms);
    EXPECT_NEAR(watts(report, "board"), 88 - 32.3 - 108 * 0.317, 0.01) << sms;
    EXPECT_GT(watts(report, "total"), last_w) << sms;
    last_w = watts(report, "total");
  }
  const nlohmann::json at_50 = energy(108, " --board-idle 50");
  EXPECT_EQ(watts(at_50, "board"), 0);
  sptc::cli::expect_has(at_50.dump(), "the chip alone takes 66.5 W at rest, which stand for the 50 W");
}

// The same silicon: declaring another boost clock makes no clock cheaper.
TEST_F(EnergyProgram, TheSupplyOfADerivedDesignIsOnTheLineOfItsBaseWhateverItsBoostClock) {
  const auto volts =
      [this](int boost_mhz, int mhz) {
        std::ofstream(path("boost.json"))
            << R"({"base": "a100-sxm4-80gb", "name": "derived", "boost_clock_mhz": {"value": )" << boost_mhz
            << R"(, "evidence": "assumed", "source": "what if"}})";
        return json_of(
                   "gemm 512 512 512 --check none --quiet --fidelity analytic "
                   "--variants dense --format json --explain --clock " +
                   std::to_string(mhz) + " --arch " + path("boost.json"))["operations"][0]["dense"]["core_v"]
            .get<double>();
      };
  const double floor_mhz = 810, shipped_mhz = 1410;
  const double volts_per_mhz = (0.95 - 0.7) / (shipped_mhz - floor_mhz);
  for (const int boost_mhz : {1000, 1400, 1980}) {
    EXPECT_NEAR(volts(boost_mhz, 1000), 0.7 + volts_per_mhz * (1000 - floor_mhz), 1e-9);
    EXPECT_NEAR(volts(boost_mhz, boost_mhz), std::min(0.95, 0.7 + volts_per_mhz * (boost_mhz - floor_mhz)), 1e-9);
  }
}

TEST_F(EnergyProgram, RefusesPowerOptionsThatDoNothing) {
  const std::string gemm = "gemm 64 64 64 --quiet ";
  expect_refused(gemm + "--clock boost --power-limit 300", "no effect without --clock limited");
  expect_refused(gemm + "--clock limited --power-limit x", "--power-limit must be");
  expect_refused(gemm + "--clock limited --power-limit -5", "--power-limit must be");
  expect_refused(gemm + "--clock boost --limit-over group", "no effect without --clock limited");
  expect_refused(gemm + "--clock limited --limit-over groups", "nearest valid: 'group'");
  expect_refused(gemm + "--board-idle 0", "--board-idle must be");
  expect_refused(gemm + "--board-idle 5", "cannot take 5 W at rest: 32.3 W flow outside its SMs");
  expect_refused(gemm + "--energy nothing", "unknown energy file 'nothing'");
  expect_refused(gemm + "--arch " + board_without_energies() + " --clock limited",
                 "needs an energy file, and 'mine' has none");
  expect_refused(gemm + "--clock limit", "limited");
}

TEST_F(EnergyProgram, RefusesBadInputWithOneSentence) {
  expect_refused("energy", "a command is missing");
  expect_refused("energy show a100-sxm4-8", "nearest valid: 'a100-sxm4-80gb'");
  expect_refused("energy area " + board_without_energies(), "unknown energy file 'mine'");
}

}  // namespace
