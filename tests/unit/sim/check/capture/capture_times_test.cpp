// SPDX-License-Identifier: Apache-2.0
//
// Times and power of captures with one planted fault each.
#include "sim/check/capture/capture_times.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/config/architecture.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/check/capture/synthetic_capture.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace sptc::check::capture {
namespace {

using nlohmann::json;

/// Figures that obey latency * rate = warps * ilp * MACs.
run::microbench::MicrobenchResult made_up(const std::string& instruction, int warps, int ilp) {
  const mma::MmaShape shape = mma::parse_instruction(instruction).shape;
  const double macs = static_cast<double>(warps) * ilp * shape.m * shape.n * shape.k;
  run::microbench::MicrobenchResult result;
  result.latency_cycles = 18 + 0.5 * warps * ilp + 0.1 * shape.k;
  result.fma_per_clk_per_sm = macs / result.latency_cycles;
  return result;
}

double made_up_gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return 2 + 1e-6 * static_cast<double>(m * n * k) / 100;
}

TimeSimulation made_up_simulation() {
  TimeSimulation simulation;
  simulation.architecture = "made-up";
  simulation.microbench = [](const run::microbench::MicrobenchCase& which) {
    return made_up(run::microbench::name_of(which.instruction), which.warps, which.ilp);
  };
  return simulation;
}

/// Rows of three instructions, times multiplied by `factor(instruction, warps)`.
json microbench_json(const std::function<double(const std::string&, int)>& factor) {
  json rows = json::array();
  for (const std::string name :
       {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"}) {
    for (const int warps : {1, 4, 8}) {
      const run::microbench::MicrobenchResult figures = made_up(name, warps, 2);
      const double times = factor(name, warps);
      rows.push_back({{"instruction", name},
                      {"sparse", name.find(".sp.") != std::string::npos},
                      {"warps", warps},
                      {"ilp", 2},
                      {"data", "random"},
                      {"latency_cycles", figures.latency_cycles * times},
                      {"fma_per_clk_per_sm", *figures.fma_per_clk_per_sm / times},
                      {"status", "ok"},
                      {"reason", nullptr}});
    }
  }
  return {{"schema", "sptcsim-capture/0.1"}, {"rows", rows}};
}

TEST(CrosscheckCapture, TimesThatFitDeviateByNothing) {
  const SyntheticCapture capture;
  capture.write("microbench.json", microbench_json([](const auto&, int) { return 1.0; }));
  const CaptureCrosscheck result = capture.check(made_up_simulation());
  EXPECT_EQ(result.times.rows.size(), 18U);
  for (const TimedRow& row : result.times.rows) {
    ASSERT_TRUE(row.simulated) << row.reason;
    EXPECT_NEAR(*row.deviation(), 0, 1e-12);
  }
}

TEST(CrosscheckCapture, NamesTheOneTimeThatIsFivePercentOff) {
  const SyntheticCapture capture;
  json file = microbench_json([](const auto&, int) { return 1.0; });
  json& row = file["rows"][4];  // m16n8k8, 4 warps
  row["latency_cycles"] = row["latency_cycles"].get<double>() * 1.05;
  capture.write("microbench.json", file);
  const CaptureCrosscheck result = capture.check(made_up_simulation());
  const std::string text = capture_text(result);
  EXPECT_NE(text.find("\nlatency: 9 rows, median error 0.0 %, largest 4.8 % "
                      "(mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32; warps 4, ilp 2, random)\n"
                      "throughput: 9 rows, median error 0.0 %, largest 0.0 % ("),
            std::string::npos)
      << text;
  EXPECT_EQ(result.mismatches(), 0U);
}

TEST(CrosscheckCapture, NamesTheGemmWhoseTimeIsOffAndCountsItsWrongWords) {
  const SyntheticCapture capture;
  json rows = json::array();
  TimeSimulation simulation = made_up_simulation();
  for (const int m : {512, 1024, 2048, 4096}) {
    simulation.gemms.times.push_back({made_up_gemm(m, 1024, 2048), {}, {}, ""});
    rows.push_back({{"m", m},
                    {"n", 1024},
                    {"k", 2048},
                    {"dtype", "f16"},
                    {"variant", "dense"},
                    {"library", "own"},
                    {"time_us_median", made_up_gemm(m, 1024, 2048) * (m == 2048 ? 1.05 : 1.0)},
                    {"check", {{"mode", "bits"}, {"elements", 100}, {"mismatches", m == 512 ? 3 : 0}}},
                    {"status", "ok"},
                    {"reason", nullptr}});
  }
  capture.write("gemm.json", {{"schema", "sptcsim-capture/0.1"}, {"rows", rows}});
  const CaptureCrosscheck result = capture.check(simulation);
  EXPECT_NE(capture_text(result).find("gemm: 4 rows, median error 0.0 %, largest 4.8 % "
                                      "(f16 dense, own; 2048 x 1024 x 2048)\n"),
            std::string::npos);
  EXPECT_EQ(result.mismatches(), 3U);
}

TEST(CrosscheckCapture, SaysWhyATimeIsNotSimulated) {
  const SyntheticCapture capture;
  capture.write("microbench.json", microbench_json([](const auto&, int) { return 1.0; }));
  TimeSimulation simulation;
  simulation.reason = "no architecture";
  for (const TimedRow& row : capture.check(simulation).times.rows) {
    EXPECT_FALSE(row.simulated);
    EXPECT_EQ(row.reason, "no architecture");
  }
  simulation = made_up_simulation();
  simulation.microbench = [](const run::microbench::MicrobenchCase&) -> run::microbench::MicrobenchResult {
    throw base::InputError("too many warps");
  };
  const CaptureCrosscheck result = capture.check(simulation);
  EXPECT_EQ(result.times.rows.front().reason, "too many warps");
  EXPECT_NE(capture_text(result).find("not simulated, 18 figures: too many warps"), std::string::npos);
}

// Memory ------------------------------------------------------------------------------------------

json memory_row(json keys, const char* figure, double measured) {
  keys.update({{figure, measured}, {"status", "ok"}, {"reason", nullptr}});
  return keys;
}

TEST(CrosscheckMemory, SendsEveryKindOfRowToItsSimulation) {
  const SyntheticCapture capture;
  TimeSimulation simulation;
  std::vector<std::string> asked;
  simulation.microbench = [&](const run::microbench::MicrobenchCase& which) {
    asked.push_back(run::microbench::name_of(which.instruction) + ", " + std::to_string(which.warps) + " warps, " +
                    std::to_string(which.ilp));
    run::microbench::MicrobenchResult result;
    result.latency_cycles = 100;
    result.bytes_per_clk_per_sm = 10;
    return result;
  };
  simulation.chase_cycles = [&](std::int64_t footprint, std::int64_t stride) {
    asked.push_back("chase " + std::to_string(footprint) + " by " + std::to_string(stride));
    return 200.0;
  };
  simulation.line_cycles = [] { return 210.0; };
  simulation.bandwidth_gb_per_s = [&](run::microbench::BandwidthOperation operation, std::int64_t footprint) {
    asked.push_back("bandwidth " + std::to_string(static_cast<int>(operation)) + " of " + std::to_string(footprint));
    return 1000.0;
  };
  simulation.l1_reach_bytes = 65536;
  json rows{memory_row({{"kind", "cp_async"}, {"bytes_per_thread", 16}, {"threads", 128}, {"in_flight", 4}},
                       "latency_cycles", 100),
            memory_row({{"kind", "tma"}, {"bytes", 4096}, {"in_flight", 2}}, "bytes_per_clk_per_sm", 10),
            memory_row({{"kind", "pointer_chase"}, {"footprint_bytes", 16384}, {"stride_bytes", 128}, {"cache", "ca"}},
                       "latency_cycles", 33),
            memory_row({{"kind", "pointer_chase"}, {"footprint_bytes", 16384}, {"stride_bytes", 256}, {"cache", "cg"}},
                       "latency_cycles", 190),
            memory_row({{"kind", "bandwidth"}, {"operation", "copy"}, {"footprint_bytes", 1048576}}, "gb_per_s", 900),
            memory_row({{"kind", "texture"}}, "latency_cycles", 400)};
  for (int line = 0; line < 100; ++line) {
    rows.push_back(
        memory_row({{"kind", "l2_line"}, {"sm", 0}, {"line", line}}, "latency_cycles", line < 50 ? 200 : 400));
  }
  rows.push_back({{"kind", "tma"}, {"status", "absent"}, {"reason", "bulk copies need sm_90"}});
  capture.write("memory.json", {{"schema", "sptcsim-capture/0.1"}, {"rows", rows}});
  const CaptureTimes times = capture.check(simulation).times;
  EXPECT_EQ(asked, (std::vector<std::string>{"cp.async 16, 4 warps, 4", "cp.async.bulk 4096, 1 warps, 2",
                                             "chase 16384 by 256", "bandwidth 2 of 1048576"}));
  // Nothing is dropped: six figures, and the two ends of the lines.
  ASSERT_EQ(times.rows.size(), 8U);
  EXPECT_NEAR(*times.rows[3].deviation(), 200.0 / 190 - 1, 1e-12);
  EXPECT_NE(times.rows[2].reason.find("not modelled: the L1"), std::string::npos);
  EXPECT_EQ(times.rows[5].reason, "not modelled: texture");
  EXPECT_EQ(times.rows[6].measured, 200);
  EXPECT_EQ(times.rows[7].measured, 400);
  EXPECT_EQ(times.unmeasured, std::vector<std::string>{"1 rows of memory.json absent: bulk copies need sm_90"});
}

// Power -------------------------------------------------------------------------------------------

/// A capture of an A100 that does what the simulator says, at a power limit.
class PowerCapture {
 public:
  explicit PowerCapture(double limit_w, double idle_w) {
    capture.write("capture.json",
                  {{"schema", "sptcsim-capture/0.1"},
                   {"origin", "simulated"},
                   {"source", "a test"},
                   {"gpu", {{"name", "NVIDIA A100-SXM4-80GB"}, {"target", "sm_80"}, {"power_limit_w", limit_w}}},
                   {"items", json::array()}});
    json rows;
    for (const std::int64_t n : {2048, 3072, 4096, 8192}) {
      rows.push_back({{"name", "square"},
                      {"m", 4096},
                      {"n", n},
                      {"k", 4096},
                      {"dtype", "f16"},
                      {"variant", "dense"},
                      {"library", "cublaslt"},
                      {"data", n == 8192 ? "zeros" : "random"},
                      {"time_us_mean", 100},
                      {"power_w_mean", 300},
                      {"clock_mhz_mean", nullptr},
                      {"status", "ok"},
                      {"reason", nullptr}});
    }
    file = {{"schema", "sptcsim-capture/0.1"}, {"idle_w", idle_w}, {"rows", rows}};
    const GemmSimulation simulated = simulate().gemms;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i]["time_us_mean"] = *simulated.powers[i].time_us;
      rows[i]["power_w_mean"] = *simulated.powers[i].power_w;
      rows[i]["clock_mhz_mean"] = *simulated.powers[i].clock_mhz;
    }
    file["rows"] = rows;
  }

  TimeSimulation simulate() {
    capture.write("power.json", file);
    TimeSimulation simulation;
    simulation.gemms = simulate_gemms(config::load_architecture("a100-sxm4-80gb"), read_capture(capture.path()),
                                      run::Fidelity::kAnalytic);
    return simulation;
  }
  CaptureCrosscheck check() {
    const TimeSimulation simulation = simulate();
    return capture.check(simulation);
  }

  SyntheticCapture capture;
  json file;
};

TEST(CrosscheckPower, ComparesWattsAtTheMeasuredClockAndTheClockAtTheCapturedLimit) {
  PowerCapture power(300, 60);
  const CaptureCrosscheck result = power.check();
  ASSERT_EQ(result.times.rows.size(), 12U);
  for (const TimedRow& row : result.times.rows) {
    ASSERT_TRUE(row.simulated) << row.reason;
    EXPECT_NEAR(*row.deviation(), 0, 1e-3) << row.group << " " << row.point;
  }
  // The limit holds random operands back, and zeros not.
  const double random = power.file["rows"][2]["clock_mhz_mean"];
  EXPECT_LT(random, 1400);
  // A step of 15 MHz is some 2.5 % of the power.
  const double random_w = power.file["rows"][2]["power_w_mean"];
  EXPECT_LE(random_w, 300);
  EXPECT_GT(random_w, 292);
  EXPECT_NEAR(power.file["rows"][3]["clock_mhz_mean"].get<double>(), 1410, 0.5);
  EXPECT_NE(capture_text(result).find("power limit 300 W as captured, board at rest 60 W"), std::string::npos);
  // A higher limit allows a higher clock; the idle power of the board counts.
  EXPECT_GT(*PowerCapture(350, 60).simulate().gemms.powers[2].clock_mhz, random + 20);
  EXPECT_LT(*PowerCapture(300, 100).simulate().gemms.powers[2].clock_mhz, random - 10);
}

TEST(CrosscheckPower, TakesTheTypeOfDTheAlgorithmAndTheMeasuredTime) {
  PowerCapture power(300, 60);
  const auto figures = [&] { return power.simulate().gemms.powers[0]; };
  const PowerFigures f16 = figures();
  power.file["rows"][0]["d_dtype"] = "f32";
  const PowerFigures f32 = figures();
  EXPECT_GT(*f32.time_us, *f16.time_us);
  power.file["rows"][0]["algorithm"] = "best";
  EXPECT_LE(*figures().time_us, *f32.time_us);
  // Twice the time for the same work: half the watts of the events, and the limit is far.
  const PowerFigures best = figures();
  const auto slowed = [&, measured = power.file["rows"][0]["time_us_mean"].get<double>()](int by) {
    power.file["rows"][0]["time_us_mean"] = by * measured;
    return figures();
  };
  const PowerFigures slow = slowed(2), slower = slowed(4);
  EXPECT_EQ(*slow.time_us, *best.time_us);
  EXPECT_NEAR(*best.power_w - *slow.power_w, 2 * (*slow.power_w - *slower.power_w), 1e-9);
  EXPECT_GT(*slow.power_w, *slower.power_w);
  EXPECT_EQ(*slow.clock_mhz, 1410);
}

TEST(CrosscheckPower, LeavesOutTheKernelsOfWgmmaWhichItDoesNotKnow) {
  PowerCapture power(300, 60);
  power.file["rows"][1]["library"] = "wgmma";
  const PowerFigures figures = power.simulate().gemms.powers[1];
  EXPECT_FALSE(figures.time_us || figures.power_w || figures.clock_mhz);
  EXPECT_NE(figures.reason.find("cp.async"), std::string::npos);
}

TEST(CrosscheckPower, SaysWhatItCannotSimulate) {
  PowerCapture power(300, 60);
  power.file["rows"][0]["dtype"] = "f12";
  const CaptureCrosscheck result = power.check();
  EXPECT_NE(result.times.rows.front().reason.find("f12"), std::string::npos);
  // Architectures without an energy file still have times.
  config::Architecture other = config::load_architecture("a100-sxm4-80gb");
  other.gpu.name = "a100-of-somebody";
  const GemmSimulation without = simulate_gemms(other, read_capture(power.capture.path()), run::Fidelity::kAnalytic);
  EXPECT_EQ(without.powers[1].time_us, power.simulate().gemms.powers[1].time_us);
  EXPECT_FALSE(without.powers[1].power_w);
  EXPECT_NE(without.powers[1].reason.find("has no energy file"), std::string::npos);
}

TEST(CrosscheckGemm, TakesTheOwnKernelsTilesAndTheMeasuredClock) {
  const SyntheticCapture capture;
  const auto row = [](const char* library, double clock) {
    return json{{"m", 1024},          {"n", 16},
                {"k", 4096},          {"dtype", "f16"},
                {"variant", "dense"}, {"library", library},
                {"clock_mhz", clock}, {"time_us_median", 500},
                {"status", "ok"},     {"reason", nullptr}};
  };
  capture.write("gemm.json", {{"schema", "sptcsim-capture/0.1"},
                              {"rows", {row("own", 1410), row("cublaslt", 1410), row("own", 705)}}});
  const GemmSimulation simulated = simulate_gemms(config::load_architecture("a100-sxm4-80gb"),
                                                  read_capture(capture.path()), run::Fidelity::kAnalytic);
  // The library has smaller tiles for this one and splits K; half the clock, twice the time.
  EXPECT_GT(*simulated.times[0].time_us, *simulated.times[1].time_us);
  EXPECT_NEAR(*simulated.times[2].time_us / *simulated.times[0].time_us, 2, 0.1);
}

// Reports -----------------------------------------------------------------------------------------

TEST(CrosscheckCapture, ReportsTheSameInJson) {
  const SyntheticCapture capture;
  const SyntheticSet set("m16n8k16.f32.f16.f16.f32");
  vectors::BitArray d = set.compute("A100");
  d.bits[11] ^= 1U << 30;
  capture.write_set(set, d);
  capture.write("microbench.json", microbench_json([](const auto&, int) { return 1.25; }));
  const auto report = json::parse(capture_json(capture.check(made_up_simulation())));
  EXPECT_EQ(report["schema"], "sptcsim-crosscheck/0.1");
  EXPECT_EQ(report["mismatches"], 1);
  EXPECT_EQ(report["bits"][0]["first"]["case"], 0);
  EXPECT_EQ(report["bits"][0]["first"]["column"], 3);
  EXPECT_EQ(report["bits"][0]["explanations"][0]["cause"], "bit-of-d");
  EXPECT_EQ(report["times"].size(), 18U);
  // Cycles of 1.25 times those that are simulated, and rates of a 1.25th.
  EXPECT_NEAR(report["times"][0]["deviation"].get<double>(), 1 / 1.25 - 1, 1e-12);
  EXPECT_NEAR(report["times"][1]["deviation"].get<double>(), 1.25 - 1, 1e-12);
}

}  // namespace
}  // namespace sptc::check::capture
