// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report.h"

#include "models/base/error.h"
#include "sim/report/energy_explanation.h"
#include "sim/report/power_trace.h"
#include "sim/report/progress.h"
#include "sim/report/version.h"
#include "sim/run/run.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>

namespace sptc::report {
namespace {

std::set<std::string> keys(const nlohmann::json& object) {
  std::set<std::string> result;
  for (const auto& [key, value] : object.items()) {
    result.insert(key);
  }
  return result;
}

TEST(TextReport, LooksLikeThis) {
  const std::string expected =
      "sptcsim " + std::string(program_version()) + R"(: synthetic on test-gpu
options: fidelity datapath, check eigen, seed 42
TFLOP/s are effective: skipped zeros count. util = useful executed MACs, of the peak in these cycles.

operation, m x n x k         batch*cnt type variant       cycles      time us  TFLOP/s util % pad % speed-up check
ffn.intermediate                  1x24 f16  dense         141000      100.000    193.3   61.9   3.1          ok
  4096 x 3072 x 768                         2:4            70500       50.000    386.5   61.9   3.1    2.00x FAIL
    dense 128x128x32, 3 stages, mma.sync.m16n8k16; 2:4 128x128x32, 3 stages, mma.sp.sync.m16n8k32
attention scores, "softmax..    128x24 f16  dense         141000      100.000    193.3   61.9   3.1          -
  384 x 384 x 64                            2:4                -            -        -      -     -
    dense 128x128x32, 3 stages, mma.sync.m16n8k16
total, GEMMs only                           dense                    4800.000    190.5
                                            sparse                   3600.000    254.0                 1.33x FAIL
Operations without a sparse variant enter the sparse total with their dense time.
time = cycles / clock + launches
  dense   4800.000 us of cycles at 1410 MHz + 0.000 of launches
  sparse  3600.000 us of cycles at 1410 MHz + 0.000 of launches

accuracy on 899 samples, layers computed by the simulated tensor cores:
  dense    simulated  94.66 %   float64  94.66 %   classified differently: 0
  sparse   simulated  94.22 %   float64  94.33 %   classified differently: 1

check eigen (Eigen in double precision, proved error bound): 6144 elements compared, 2 mismatches
  worst error 0.5, bound there 0.00025 (ffn.intermediate, sparse); largest error/bound 2e+03
  first violation: ffn.intermediate, sparse, batch 0, D[3, 17]: got 0x3f800000, expected about 0x3f000000
note: a note
assumed, not measured or cited: /sm/barrier_latency_cycles = 4 cycles
)";
  EXPECT_EQ(text_report(synthetic_result()), expected);
}

TEST(TextReport, FitsIn120Columns) {
  run::RunResult result = synthetic_result();
  result.workload = std::string(300, 'w');
  result.options.emplace_back("data", std::string(300, 'd'));
  run::OperationResult& op = result.operations[0];
  op.name = std::string(300, 'n');
  op.shape = {2147483647, 2147483647, 2147483647};
  op.batch = 12345;
  op.pattern = "4096:2:64";
  op.count = 999;
  op.dense->timing.cycles = 999'999'999'999;
  op.dense->timing.time_us = 12'345'678'901.5;
  op.dense->timing.tflops = 12345.6;
  op.dense->kernel.cta_tile = {1024, 1024, 1024};
  op.dense->kernel.stages = 16;
  op.dense->kernel.split_k = 64;
  op.dense->kernel.instruction.family = mma::MmaFamily::kTcgen05;
  op.dense->kernel.instruction.shape = {128, 256, 1024};
  op.dense->kernel.instruction.sparse = true;
  op.sparse = op.dense;
  for (int i = 0; i < 50; ++i) {
    result.assumed.push_back("/a/parameter/with/a/name/" + std::to_string(i) + " = 1 cycles");
  }
  std::istringstream lines(text_report(result));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 120u) << line;
  }
}

TEST(TextReport, AddsCyclesAndLaunchesUpToTheTime) {
  run::RunResult result = synthetic_result();
  result.operations.resize(1);
  run::OperationResult& op = result.operations[0];
  op.count = 2;
  op.dense->timing.time_us = 82;
  op.dense->timing.launch_us = 1.3;
  op.dense->timing.clock_mhz = 1410;
  op.sparse->timing.launch_us = 1.25;
  op.sparse->timing.clock_mhz = 1300;
  const std::string text = text_report(result);
  EXPECT_NE(text.find("\n  dense   161.400 us of cycles at 1410 MHz + 2.600 of launches\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n  sparse  97.500 us of cycles at 1300 MHz + 2.500 of launches\n"),
            std::string::npos)
      << text;
}

TEST(TextReport, DoesNotPassControlCharactersOfNamesOn) {
  run::RunResult result = synthetic_result();
  result.operations[0].name = "red\033[31m";
  EXPECT_EQ(text_report(result).find('\033'), std::string::npos);
}

TEST(TextReport, SaysThatNothingWasChecked) {
  run::RunResult result = synthetic_result();
  result.operations[0].dense->check.reset();
  result.operations[0].sparse->check.reset();
  EXPECT_NE(text_report(result).find("values were not checked"), std::string::npos);
}

TEST(TextReport, NamesUndecidedElements) {
  run::RunResult result = synthetic_result();
  result.operations[0].dense->check->undecided = 5;
  EXPECT_NE(text_report(result).find("5 elements are undecided"), std::string::npos);
}

TEST(JsonReport, HasTheKeysOfTheSchema) {
  const auto json = nlohmann::json::parse(json_report(synthetic_result()));
  EXPECT_EQ(keys(json),
            (std::set<std::string>{"schema", "version", "workload", "arch", "options", "seed",
                                   "operations", "totals", "accuracy", "notes", "assumed"}));
  const auto& op = json["operations"][0];
  EXPECT_EQ(keys(op), (std::set<std::string>{"name", "m", "n", "k", "batch", "count", "dtype",
                                             "prunable", "dense", "sparse", "speedup"}));
  EXPECT_EQ(keys(op["dense"]),
            (std::set<std::string>{"kernel", "cycles", "time_us", "launch_us", "clock_mhz",
                                   "tflops", "utilization", "padding", "bound_by", "bytes",
                                   "busy_cycles", "sampling", "check"}));
  EXPECT_EQ(keys(op["dense"]["kernel"]),
            (std::set<std::string>{"tile", "warp_tile", "instruction", "stages", "split_k",
                                   "decomposition", "persistent", "cluster_ctas", "output_tiles",
                                   "ctas", "ctas_per_sm", "occupancy_limit",
                                   "shared_memory_carve_out_bytes", "waves"}));
  EXPECT_EQ(keys(op["dense"]["check"]),
            (std::set<std::string>{"mode", "elements", "worst_error", "bound", "worst_ratio",
                                   "mismatches", "undecided"}));
  EXPECT_EQ(keys(json["totals"]), (std::set<std::string>{"scope", "dense", "sparse", "speedup"}));
}

/// `uj` of multiplying and of HBM, 10 uJ of metadata where `sparse`; 2 W of it constant.
run::EnergyResult energy_of(double uj, bool sparse) {
  run::EnergyResult energy;
  for (const energy::EventInfo& row : energy::kEvents) {
    const bool large =
        row.event == energy::Event::kMultiply || row.event == energy::Event::kHbmAccess;
    const bool metadata = sparse && row.event == energy::Event::kMetadataRead;
    energy.parts_uj.emplace_back(row.name, large ? uj : metadata ? 10 : 0);
  }
  for (const char* part : {"leakage", "idle_sms", "constant", "board"}) {
    energy.parts_uj.emplace_back(part, 0);
  }
  energy.total_uj = 2 * uj + (sparse ? 10 : 0);
  energy.power_w = energy.total_uj / 50;
  energy.pj_per_flop = 1;
  energy.core_volts = 0.8;
  energy.counts = energy::EventCounts(numerics::DataType::kF16);
  energy.counts->add(energy::Event::kMultiply, 100, 0.5);
  return energy;
}

run::RunResult result_with_energy() {
  run::RunResult result = synthetic_result();
  result.operations[0].dense->energy = energy_of(100, false);
  result.operations[0].sparse->energy = energy_of(60, true);
  result.operations[1].dense->energy = energy_of(40, false);
  return result;
}

TEST(EnergyExplanation, SaysWhatTwoToFourSavesAndAdds) {
  const run::RunResult result = result_with_energy();
  const run::OperationResult& op = result.operations[0];
  EXPECT_EQ(
      energy_sentence("2:4", *op.dense->energy, *op.sparse->energy),
      "2:4 saves 35.0 % of the energy; less, in uJ: multiplying and adding 40.00 and DRAM 40.00; "
      "more: reading metadata 10.00.");
  const std::string text = explain_energy(op);
  EXPECT_NE(text.find("metadata"), std::string::npos);
  EXPECT_NE(text.find("  dense       200.0 uJ     4.0     50.0      0.0      0.0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  sparse      130.0 uJ     2.6     46.2      0.0      7.7"),
            std::string::npos)
      << text;
  EXPECT_EQ(explain_energy(synthetic_result().operations[0]), "");
}

TEST(EnergyExplanation, SaysWhereTwoToFourCosts) {
  EXPECT_EQ(
      energy_sentence("2:4", energy_of(100, false), energy_of(110, true)),
      "2:4 costs 15.0 % of the energy; more: reading metadata 10.00, multiplying and adding 10.00 "
      "and DRAM 10.00.");
}

TEST(EnergyExplanation, CountsEveryPartOnce) {
  // Each part alone is all of the energy, in one column.
  const run::EnergyResult base = energy_of(0, false);
  for (std::size_t i = 0; i < base.parts_uj.size(); ++i) {
    run::OperationResult op = synthetic_result().operations[1];
    op.dense->energy = base;
    op.dense->energy->parts_uj[i].second = 8;
    op.dense->energy->total_uj = 8;
    const std::string text = explain_energy(op);
    EXPECT_EQ(text.find("100.0"), text.rfind("100.0")) << base.parts_uj[i].first;
    EXPECT_NE(text.find("100.0"), std::string::npos) << base.parts_uj[i].first;
  }
}

TEST(TextReport, EnergiesAddUpToTheirTotal) {
  for (const double scale : {1e-4, 1e-2, 1.0, 1e6}) {
    run::RunResult result = synthetic_result();
    run::EnergyResult dense = energy_of(100 * scale, false);
    run::EnergyResult sparse = energy_of(60 * scale, true);
    for (auto& [part, uj] : sparse.parts_uj) {
      uj = part == "metadata_read" ? 0.05 * scale : part == "round" ? 0.03 * scale : uj;
    }
    dense.total_uj = 200 * scale;
    sparse.total_uj = 120.08 * scale;
    result.totals.dense->energy = dense;
    result.totals.sparse->energy = sparse;
    std::istringstream text(text_report(result));
    std::string row;
    while (row.find("energy, GEMMs only") == std::string::npos) {
      ASSERT_TRUE(std::getline(text, row));
    }
    std::getline(text, row);
    double sum = 0;
    double of_dense = 0;
    double of_sparse = 0;
    std::string name;
    while (text >> name >> of_dense >> of_sparse && name != "total") {
      sum += of_sparse;
    }
    EXPECT_EQ(name, "total");
    EXPECT_NEAR(of_sparse, sparse.total_uj, 5e-5 * sparse.total_uj) << scale;
    EXPECT_NEAR(sum, of_sparse, 1e-4 * sparse.total_uj) << scale;
  }
}

TEST(PowerOverTime, PutsTheLaunchesOneAfterTheOther) {
  const run::RunResult result = result_with_energy();
  const auto dense = power_over_time(result.operations, false);
  ASSERT_EQ(dense.size(), 2u);
  EXPECT_DOUBLE_EQ(dense[0].to_us, 24 * 100);
  EXPECT_DOUBLE_EQ(dense[1].from_us, 24 * 100);
  EXPECT_DOUBLE_EQ(dense[0].power_w, 4);
  // The operation that stays dense runs in the sparse network too.
  const auto sparse = power_over_time(result.operations, true);
  ASSERT_EQ(sparse.size(), 2u);
  EXPECT_DOUBLE_EQ(sparse[0].to_us, 24 * 50);
  EXPECT_DOUBLE_EQ(sparse[1].power_w, dense[1].power_w);
  EXPECT_TRUE(power_over_time(synthetic_result().operations, false).empty());
}

TEST(PowerOverTime, EndsWithTheTotalWhereAGroupHasTheClockOfTheSparseNetwork) {
  run::RunResult result = result_with_energy();
  run::OperationResult& attention = result.operations[1];
  attention.dense_among_sparse = attention.dense;
  attention.dense_among_sparse->timing.time_us = 110;
  attention.dense_among_sparse->timing.clock_mhz = 1280;
  const auto sparse = power_over_time(result.operations, true);
  EXPECT_DOUBLE_EQ(sparse.back().clock_mhz, 1280);
  EXPECT_DOUBLE_EQ(sparse.back().to_us, run::sum_up(result.operations).sparse->time_us);
  const auto dense = power_over_time(result.operations, false);
  EXPECT_DOUBLE_EQ(dense.back().to_us, run::sum_up(result.operations).dense->time_us);
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
  EXPECT_EQ(dense["energy_events"],
            (nlohmann::json{{"multiply", {{"count", 100}, {"switching", 0.5}}}}));
  EXPECT_EQ(dense["core_v"], 0.8);
  EXPECT_EQ(dense["explanation"]["bound_by"], "tensor");
  EXPECT_EQ(dense["explanation"]["what_if"][0],
            (nlohmann::json{{"resource", "tensor"}, {"times", 2}, {"speedup", 1.5}}));
  EXPECT_FALSE(dense["explanation"].contains("stalls")) << "nothing was simulated";
  EXPECT_NE(json["operations"][0]["energy_explanation"].get<std::string>().find("saves 35.0 %"),
            std::string::npos);
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

TEST(JsonReport, KeepsTheFigures) {
  const auto json = nlohmann::json::parse(json_report(synthetic_result()));
  EXPECT_EQ(json["seed"], 42);
  const auto& op = json["operations"][0];
  EXPECT_EQ(op["dense"]["kernel"]["tile"], "128x128x32");
  EXPECT_EQ(op["dense"]["cycles"], 141000);
  EXPECT_EQ(op["dense"]["bound_by"], "tensor");
  EXPECT_EQ(op["sparse"]["check"]["first_violation"]["got"], "0x3f800000");
  EXPECT_EQ(op["sparse"]["check"]["first_violation"]["col"], 17);
  EXPECT_EQ(json["totals"]["scope"], "GEMMs only");
  EXPECT_EQ(json["accuracy"]["sparse"]["disagreements"], 1);
}

TEST(JsonReport, ShowsActivityWhereItWasCounted) {
  run::RunResult result = synthetic_result();
  sm::Activity activity;
  activity.metadata_bytes = 128;
  result.operations[0].sparse->traffic.activity = activity;
  const auto json = nlohmann::json::parse(json_report(result));
  EXPECT_EQ(json["operations"][0]["sparse"]["activity"]["metadata_bytes"], 128);
  EXPECT_FALSE(json["operations"][0]["dense"].contains("activity"));
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
  EXPECT_TRUE(line.starts_with("ffn.intermediate,4096,3072,768,1,24,f16,dense,141000,100,"))
      << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), ','), columns);
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("ffn.intermediate,4096,3072,768,1,24,f16,sparse,70500,50,")) << line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with(
      "\"attention scores, \"\"softmax\"\" input of every head\",384,384,64,128,24,f16,dense,"))
      << line;
  EXPECT_FALSE(std::getline(lines, line));
}

/// The synthetic result with energies: 2 mJ dense, 1 mJ sparse.
run::RunResult with_energy() {
  run::RunResult result = synthetic_result();
  run::EnergyResult energy{
      {{"multiply", 1500}, {"hbm", 500}, {"idle_sms", 0}}, 2000, 200, 250, 0.8, false, false};
  result.totals.dense->energy = energy;
  result.operations[0].dense->energy = energy;
  for (auto& [unused, uj] : energy.parts_uj) {
    uj /= 2;
  }
  energy.total_uj = 1000;
  energy.limited = true;
  result.totals.sparse->energy = energy;
  result.operations[0].sparse->energy = energy;
  result.totals.performance_per_watt_ratio = 2;
  return result;
}

TEST(VisitTotals, TellsTheNumbersThatTheJsonReportHas) {
  const run::RunResult result = with_energy();
  std::map<std::string, double> visited;
  visit_totals(result.totals, [&](std::string_view variant, std::string_view group,
                                  std::string_view key, std::variant<std::int64_t, double> number) {
    std::string path;
    for (const std::string_view part : {variant, group, key}) {
      path += part.empty() ? "" : "/" + std::string(part);
    }
    visited[path] = std::visit([](auto value) { return static_cast<double>(value); }, number);
  });
  std::map<std::string, double> written;
  const auto flat = nlohmann::json::parse(json_report(result))["totals"].flatten();
  for (const auto& [path, value] : flat.items()) {
    if (value.is_number()) {
      written[path] = value;
    }
  }
  EXPECT_EQ(visited, written);
  EXPECT_EQ(visited.at("/sparse/energy_uj/multiply"), 750);
}

TEST(TextReport, ShowsWhereTheEnergyGoesDenseBesideSparse) {
  const std::string text = text_report(with_energy());
  EXPECT_NE(text.find("  multiply                     1500.0          750.0\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  pJ per flop                  0.8000         0.8000\n"), std::string::npos);
  EXPECT_NE(text.find("performance per watt, sparse / dense: 2.00x"), std::string::npos);
  EXPECT_EQ(text.find("idle_sms"), std::string::npos);
  EXPECT_EQ(text_report(synthetic_result()).find("energy"), std::string::npos);
}

TEST(JsonReport, HasEnergyAndPowerWhereTheyAreKnown) {
  const nlohmann::json report = nlohmann::json::parse(json_report(with_energy()));
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
}

TEST(CsvReport, HasEnergyColumnsThatAreEmptyWhereItIsNotKnown) {
  const std::string with = csv_report(with_energy());
  EXPECT_NE(with.find(",energy_uj,power_w,peak_power_w,pj_per_flop,performance_per_watt_ratio\r\n"),
            std::string::npos);
  EXPECT_NE(with.find(",2000,200,250,0.8,2\r\n"), std::string::npos) << with;
  EXPECT_NE(csv_report(synthetic_result()).find(",,,,,\r\n"), std::string::npos);
}

TEST(CsvReport, HasTheFiguresOfTheJsonReport) {
  const run::RunResult result = with_energy();
  const nlohmann::json dense = nlohmann::json::parse(json_report(result))["operations"][0]["dense"];
  std::istringstream lines(csv_report(result));
  std::string names, values;
  std::getline(lines, names);
  std::getline(lines, values);
  std::istringstream name_of(names), value_of(values);
  std::map<std::string, std::string> row;
  for (std::string name, value; std::getline(name_of, name, ',');) {
    std::getline(value_of, value, ',');
    row[name] = value;
  }
  for (const char* name : {"cycles", "time_us", "clock_mhz", "tflops", "utilization", "padding",
                           "power_w", "peak_power_w", "pj_per_flop"}) {
    EXPECT_EQ(std::stod(row.at(name)), dense.at(name).get<double>()) << name;
  }
  for (const char* name : {"elements", "mismatches", "undecided", "worst_error", "bound"}) {
    EXPECT_EQ(std::stod(row.at(name)), dense.at("check").at(name).get<double>()) << name;
  }
  EXPECT_EQ(std::stod(row.at("energy_uj")), dense["energy_uj"]["total"].get<double>());
  EXPECT_EQ(row.at("bound_by"), dense["bound_by"].get<std::string>());
  EXPECT_EQ(row.at("check"), dense["check"]["mode"].get<std::string>());
}

TEST(ReportFormat, IsRefusedWithTheNearestName) {
  EXPECT_EQ(parse_report_format("json"), ReportFormat::kJson);
  try {
    parse_report_format("jsn");
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("nearest valid: 'json'"), std::string::npos);
  }
}

TEST(ProgressBar, EstimatesTheTimeLeft) {
  EXPECT_EQ(ProgressBar::line(6, 24, 10, "fc1"), "[######..................] 6/24, 30 s left: fc1");
  EXPECT_EQ(ProgressBar::line(0, 4, 2, "a"), "[........................] 0/4, ? left: a");
}

}  // namespace
}  // namespace sptc::report
