// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/launch_simulation.h"

#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/run/kernel_runner.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::check::times {
namespace {

class LaunchSimulations : public testing::Test {
 protected:
  LaunchSimulations() {
    options.fidelity = run::Fidelity::kAnalytic;
    options.power = config::power_spec(config::load_energy("a100-sxm4-80gb").config, a100.gpu);
    options.clock_limited = true;
    launch.shape = {8192, 8192, 8192};
  }

  Prediction simulated() const { return LaunchSimulation(a100, options)(launch); }

  /// What `run` makes of the same launch.
  run::VariantResult of_run(bool sparse, workload::DataKind kind) {
    workload::Operation op;
    op.shape = launch.shape;
    op.dtype = launch.dtype;
    gpu::ClosedFormTimer timer(a100.gpu, options.clock_policy);
    run::KernelRunner kernels(a100.gpu, options, timer);
    run::VariantResult figures = kernels.time(op, sparse);
    const run::GeneratedData data(kind, 0);
    run::SwitchingSource switching(data);
    run::add_energy(
        op, sparse, *options.power, switching.of(op, sparse), options,
        [&](double mhz) { return kernels.time(op, sparse, mhz); }, figures);
    return figures;
  }

  const config::Architecture a100 = config::load_architecture("a100-sxm4-80gb");
  run::SimulationOptions options;
  MeasuredLaunch launch;
};

TEST_F(LaunchSimulations, HaveTimeClockAndWattsOfARunUnderThePowerLimit) {
  const Prediction prediction = simulated();
  const run::VariantResult figures = of_run(false, workload::DataKind::kRandom);
  EXPECT_TRUE(figures.energy->limited);
  EXPECT_EQ(prediction.time_us, figures.timing.time_us);
  EXPECT_EQ(prediction.launch_us, figures.timing.launch_us);
  EXPECT_EQ(prediction.clock_mhz, figures.timing.clock_mhz);
  EXPECT_EQ(prediction.power_w, figures.energy->power_w);
  EXPECT_EQ(prediction.cta_tile, figures.kernel.cta_tile);
}

TEST_F(LaunchSimulations, TakeTypeSparsityAndOperandsFromTheirRow) {
  launch.dtype = numerics::DataType::kS8;
  launch.pattern = sparsity::parse_weight_pattern("2:4");
  launch.operands = workload::DataKind::kRelu;
  const Prediction prediction = simulated();
  const run::VariantResult figures = of_run(true, workload::DataKind::kRelu);
  EXPECT_EQ(prediction.time_us, figures.timing.time_us);
  EXPECT_EQ(prediction.power_w, figures.energy->power_w);
}

TEST_F(LaunchSimulations, OfOneObjectDoNotDependOnThoseBefore) {
  const Prediction alone = simulated();
  LaunchSimulation simulation(a100, options);
  MeasuredLaunch other = launch;
  other.pattern = sparsity::parse_weight_pattern("1:4");
  other.power_limit_w = 200;
  other.operands = workload::DataKind::kZeros;
  simulation(other);
  other.clock_mhz = 900;
  EXPECT_EQ(simulation(other).clock_mhz, 900);
  const Prediction after = simulation(launch);
  EXPECT_EQ(after.time_us, alone.time_us);
  EXPECT_EQ(after.power_w, alone.power_w);
}

TEST_F(LaunchSimulations, AreSlowerUnderALowerLimitOfTheirRow) {
  const Prediction usual = simulated();
  launch.power_limit_w = 250;
  const Prediction limited = simulated();
  EXPECT_GT(limited.time_us, 1.1 * usual.time_us);
  // A step of 15 MHz is some 2.5 % of the power.
  EXPECT_LE(limited.power_w.value(), 250);
  EXPECT_GT(limited.power_w.value(), 243);
}

TEST_F(LaunchSimulations, RunAtTheClockOfTheirRowWhateverTheLimit) {
  launch.clock_mhz = 1410;
  launch.power_limit_w = 250;
  const Prediction prediction = simulated();
  EXPECT_EQ(prediction.clock_mhz, 1410);
  EXPECT_GT(prediction.power_w.value(), 300);
}

TEST_F(LaunchSimulations, WithoutEnergiesHaveNoWatts) {
  options.power.reset();
  options.clock_limited = false;
  launch.power_limit_w = 100;
  const Prediction prediction = simulated();
  EXPECT_FALSE(prediction.power_w.has_value());
  EXPECT_EQ(prediction.clock_mhz, a100.gpu.boost_clock_mhz);
}

TEST_F(LaunchSimulations, OfEventsAreRefusedByTheirLineBeforeAnyIsSimulated) {
  options.fidelity = run::Fidelity::kTiming;
  std::vector<Measurement> rows(2);
  rows[0].launch = rows[1].launch = launch;
  rows[0].line = 2;
  rows[1].line = 3;
  rows[1].launch.dtype = numerics::DataType::kE4m3;
  int heard = 0;
  support::expect_input_error(
      [&] { simulate_launches(rows, "f.csv", a100, options, 1, [&](std::size_t, std::size_t) { ++heard; }); },
      {"f.csv:3: "});
  EXPECT_EQ(heard, 0);
}

/// Time of `launch` on `board`, or why it has none.
std::pair<double, std::string> timed(const config::Architecture& board, const MeasuredLaunch& launch,
                                     run::Fidelity fidelity) {
  run::SimulationOptions options;
  options.fidelity = fidelity;
  try {
    return {LaunchSimulation(board, options)(launch).time_us, ""};
  } catch (const base::InputError& error) {
    return {0, error.what()};
  }
}

/// Boards of one instruction set, arithmetic and half rate refuse the same: one of them is asked.
TEST(LaunchSimulationsOfBoards, TakeTheSameTypesInBothFidelities) {
  std::set<std::tuple<std::string, std::string, bool>> asked;
  for (const std::string& name : config::architecture_names()) {
    const config::Architecture board = config::load_architecture(name);
    const tensor_core::TensorCoreSpec& core = board.gpu.sm.tensor_core;
    const bool half_rate = core.f32_dot_units < core.dot_units;
    if (!asked.emplace(board.gpu.instruction_set, board.gpu.numerics, half_rate).second) {
      continue;
    }
    int taken = 0;
    for (const std::string_view type : workload::kernel_operand_types()) {
      for (const bool sparse : {false, true}) {
        MeasuredLaunch launch;
        launch.shape = {256, 256, 512};
        launch.dtype = *numerics::parse_data_type(type);
        if (sparse) {
          launch.pattern = sparsity::WeightPattern{sparsity::hardware_pattern(launch.dtype)};
        }
        const auto [form, refused] = timed(board, launch, run::Fidelity::kAnalytic);
        const auto [simulated, also_refused] = timed(board, launch, run::Fidelity::kTiming);
        EXPECT_EQ(also_refused, refused) << name << " " << type << (sparse ? " 2:4" : "");
        EXPECT_EQ(simulated > 0, form > 0) << name << " " << type;
        taken += form > 0 ? 1 : 0;
      }
    }
    EXPECT_GT(taken, 0) << name;
  }
}

TEST_F(LaunchSimulations, OfOneShapeAreRefusedByTheirLineInAnyProcess) {
  std::vector<Measurement> rows(2);
  rows[0].launch = launch;
  rows[1].line = 7;
  rows[1].launch.shape = {2147483647, 2147483647, 2147483647};
  for (const int jobs : {1, 2}) {
    support::expect_input_error([&] { simulate_launches(rows, "f.csv", a100, options, jobs); },
                                {"f.csv:7: ", "do not fit 64 bits"});
  }
}

TEST_F(LaunchSimulations, AreTheSameInTheSameOrderForAnyNumberOfProcessesAndEqualOnesOne) {
  std::vector<Measurement> rows;
  for (std::int64_t n = 1; n <= 37; ++n) {
    launch.shape = {64, 64 * (n % 11 + 1), 32};
    Measurement row;
    row.launch = launch;
    row.time_us = static_cast<double>(n);
    row.source = std::to_string(n);
    rows.push_back(row);
  }
  for (const int jobs : {1, 2, 3, 50}) {
    std::size_t distinct = 0, heard = 0;
    const std::vector<Prediction> launches =
        simulate_launches(rows, "f.csv", a100, options, jobs, [&](std::size_t done, std::size_t total) {
          distinct = total;
          heard = done;
        });
    EXPECT_EQ(distinct, 11U);
    EXPECT_EQ(heard, 11U);
    ASSERT_EQ(launches.size(), rows.size());
    LaunchSimulation simulation(a100, options);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Prediction expected = simulation(rows[i].launch);
      EXPECT_EQ(launches[i].time_us, expected.time_us) << jobs;
      EXPECT_EQ(launches[i].power_w, expected.power_w) << jobs;
    }
  }
}

TEST_F(LaunchSimulations, AreOnesOfTheirOwnForEachConditionOfTheLaunch) {
  const std::vector<void (*)(MeasuredLaunch&)> changes = {
      [](MeasuredLaunch&) {},
      [](MeasuredLaunch& l) { l.shape.m = 65; },
      [](MeasuredLaunch& l) { l.dtype = numerics::DataType::kBf16; },
      [](MeasuredLaunch& l) { l.scale_block = 32; },
      [](MeasuredLaunch& l) { l.pattern = sparsity::parse_weight_pattern("2:4"); },
      [](MeasuredLaunch& l) { l.d_dtype = numerics::DataType::kF32; },
      [](MeasuredLaunch& l) { l.conditions.l2.kind = kernels::L2State::Kind::kWarm; },
      [](MeasuredLaunch& l) { l.conditions.launch = kernels::LaunchMode::kGraph; },
      [](MeasuredLaunch& l) { l.conditions.algorithm = kernels::Algorithm::kBest; },
      [](MeasuredLaunch& l) {
        l.repetition = kernels::Repetition{0, 1};
      },
      [](MeasuredLaunch& l) {
        l.repetition = kernels::Repetition{1, 1};
      },
      [](MeasuredLaunch& l) { l.operands = workload::DataKind::kZeros; },
      [](MeasuredLaunch& l) { l.clock_mhz = 1000; },
      [](MeasuredLaunch& l) { l.power_limit_w = 300; }};
  std::set<decltype(launch.key())> keys;
  for (const auto change : changes) {
    MeasuredLaunch changed = launch;
    change(changed);
    keys.insert(changed.key());
  }
  EXPECT_EQ(keys.size(), changes.size());
}

}  // namespace
}  // namespace sptc::check::times
