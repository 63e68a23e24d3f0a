// SPDX-License-Identifier: Apache-2.0
// A DRAM that a shared object brings, behind the L2 of the simulated GPU.
#include "sim/config/architecture.h"
#include "sim/run/option_table.h"
#include "sim/run/simulate.h"
#include "sim/run/systemc_timer.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::run {
namespace {

const std::string kPlugins = SPTC_PLUGINS;

class MemoryPlugin : public testing::Test {
 protected:
  const config::Architecture a100 = config::load_architecture("a100-sxm4-80gb");
  workload::Workload workload;
  SimulationOptions options;

  MemoryPlugin() {
    workload.operations.emplace_back();
    workload.operations[0].name = "gemm";
    options.variants = Variants::kDense;
    options.check = CheckMode::kNone;
    options.extrapolate = false;
    options.clock.kind = ClockChoice::Kind::kBoost;
  }

  VariantResult simulated(const base::GemmShape& shape) {
    workload.operations[0].shape = shape;
    return *simulate(workload, a100, options).operations[0].dense;
  }
  /// With `share` of the bandwidth of the modelled DRAM.
  VariantResult outside(const base::GemmShape& shape, double share = 1) {
    const memory::MemorySpec& memory = a100.gpu.memory;
    const double mhz = a100.gpu.boost_clock_mhz;
    options.memory = kPlugins + "/fixed_dram.so";
    options.memory_config = std::to_string(memory.dram_access_latency_cycles * 1e3 / mhz) + " ns, " +
                            std::to_string(share * memory.dram_bytes_per_cycle(mhz) * mhz * 1e-3) + " GB/s";
    VariantResult result = simulated(shape);
    options.memory.clear();
    options.memory_config.clear();
    return result;
  }
};

constexpr base::GemmShape kDramBound{3456, 16, 4096}, kComputeBound{1152, 768, 1024};

// A DRAM of one latency and one bandwidth is what the simulator has itself.
TEST_F(MemoryPlugin, WithTheFiguresOfTheModelledDramTakesItsTimeAndMovesItsBytes) {
  for (const base::GemmShape& shape : {kDramBound, kComputeBound}) {
    const VariantResult own = simulated(shape), plugged = outside(shape);
    EXPECT_NEAR(static_cast<double>(plugged.timing.cycles) / static_cast<double>(own.timing.cycles), 1, 0.02);
    EXPECT_EQ(plugged.traffic.memory.l2_and_dram.dram_read, own.traffic.memory.l2_and_dram.dram_read);
    EXPECT_EQ(plugged.kernel.cta_tile, own.kernel.cta_tile);
    EXPECT_EQ(plugged.kernel.ctas, own.kernel.ctas);
  }
}

TEST_F(MemoryPlugin, OfHalfTheBandwidthTakesTwiceAsLongForWhatDramBounds) {
  const auto cycles = [](const VariantResult& result) { return static_cast<double>(result.timing.cycles); };
  const double bound = cycles(outside(kDramBound, 0.25)) / cycles(outside(kDramBound, 0.5));
  EXPECT_GT(bound, 1.8);
  EXPECT_LT(bound, 2.01);
  EXPECT_LT(cycles(outside(kComputeBound, 0.5)) / cycles(outside(kComputeBound)), 1.2);
}

// Its time is that of SystemC, whatever the clock of the SMs.
TEST_F(MemoryPlugin, KeepsItsTimeAtAnotherClock) {
  const double boost_us = outside(kDramBound, 0.25).timing.time_us;
  options.clock = {ClockChoice::Kind::kFixed, a100.gpu.boost_clock_mhz / 2};
  const VariantResult slow = outside(kDramBound, 0.25);
  EXPECT_NEAR(slow.timing.time_us / boost_us, 1, 0.1);
  EXPECT_EQ(slow.timing.clock_mhz, a100.gpu.boost_clock_mhz / 2);
}

TEST_F(MemoryPlugin, LeavesValuesAsTheyAre) {
  options.fidelity = Fidelity::kDatapath;
  options.extrapolate = true;
  options.check = CheckMode::kExact;
  const VariantResult result = outside({256, 128, 256});
  ASSERT_TRUE(result.check);
  EXPECT_GT(result.check->elements, 0);
  EXPECT_EQ(result.check->mismatches, 0);
}

TEST_F(MemoryPlugin, IsNamedInANoteOfTheResult) {
  options.memory = kPlugins + "/fixed_dram.so";
  workload.operations[0].shape = {128, 128, 128};
  const RunResult result = simulate(workload, a100, options);
  ASSERT_FALSE(result.notes.empty());
  EXPECT_NE(result.notes.back().find("fixed_dram 1"), std::string::npos) << result.notes.back();
}

TEST_F(MemoryPlugin, IsRefusedInOneSentenceWhereItDoesNotFit) {
  workload.operations[0].shape = {128, 128, 128};
  const auto expect_refused = [&](const std::string& file, const std::string& why) {
    options.memory = file;
    support::expect_input_error([&] { simulate(workload, a100, options); }, {why});
  };
  expect_refused("absent.so", "--memory absent.so: there is no such file");
  expect_refused(std::string(SPTC_SOURCE_DIR) + "/README.md", "it cannot be loaded");
  expect_refused(kPlugins + "/nameless.so", "it does not define sptcsim_memory_plugin");
  expect_refused(kPlugins + "/other_abi.so",
                 "built for version 99 of the plugin interface, and this program has version 1");
  expect_refused(kPlugins + "/other_systemc.so", "built with SystemC 1.0");
  expect_refused(kPlugins + "/other_library.so", "it runs with another SystemC library");
  options.memory_config = "fast";
  expect_refused(kPlugins + "/fixed_dram.so", "must be like '300 ns, 1500 GB/s', not 'fast'");
}

TEST_F(MemoryPlugin, IsRefusedWithOptionsThatItCannotSimulate) {
  workload.operations[0].shape = {128, 128, 128};
  const auto refused = [&] { simulate(workload, a100, options); };
  options.memory_config = "300 ns, 900 GB/s";
  support::expect_input_error(refused, {"--memory-config has no effect without --memory"});
  options.memory = kPlugins + "/fixed_dram.so";
  options.extrapolate = true;
  options.fidelity = Fidelity::kAnalytic;
  support::expect_input_error(refused, {"--memory has no effect with --fidelity analytic"});
}

}  // namespace
}  // namespace sptc::run
