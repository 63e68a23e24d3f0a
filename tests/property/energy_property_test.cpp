// SPDX-License-Identifier: Apache-2.0
//
// What must hold for every energy file that is shipped, whatever its numbers are: energy is
// conserved, every number enters and none enters twice, more work never costs less.
#include "models/base/error.h"
#include "models/base/random.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/run/energy.h"
#include "sim/run/kernel_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace sptc::property {
namespace {

using energy::Event;
using energy::PowerSpec;
using numerics::DataType;

constexpr DataType kTypes[] = {DataType::kF16,  DataType::kBf16, DataType::kTf32,
                               DataType::kE4m3, DataType::kE5m2, DataType::kS8};

/// A launch with its energies in reach.
struct Launch {
  workload::Operation op;
  bool sparse = false;
  run::VariantResult figures;
};

run::SimulationOptions analytic() {
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  return options;
}

/// Launches of random shapes, dense and 2:4, of every type that the GPU multiplies.
std::vector<Launch> launches_of(run::KernelRunner& kernels, std::uint64_t seed) {
  const base::RandomStream stream(seed);
  std::vector<Launch> launches;
  std::uint64_t index = 0;
  for (const DataType type : kTypes) {
    for (const bool sparse : {false, true}) {
      Launch launch;
      launch.op.name = "layer";
      launch.op.dtype = type;
      launch.op.prunable = true;
      launch.op.batch = 1 + static_cast<std::int64_t>(stream.below(index++, 3));
      for (std::int64_t* extent : {&launch.op.shape.m, &launch.op.shape.n, &launch.op.shape.k}) {
        *extent = 64 * (1 + static_cast<std::int64_t>(stream.below(index++, 64)));
      }
      launch.sparse = sparse;
      try {
        launch.figures = kernels.time(launch.op, sparse);
      } catch (const base::InputError&) {
        continue;  // a type that this GPU does not multiply
      }
      launches.push_back(launch);
    }
  }
  return launches;
}

run::VariantResult with_energy(const Launch& launch, const PowerSpec& power, const run::SimulationOptions& options = {},
                               const run::LaunchAtClock& at_clock = {}) {
  run::VariantResult figures = launch.figures;
  run::add_energy(launch.op, launch.sparse, power, {}, options, at_clock, figures);
  return figures;
}

double total_uj(const Launch& launch, const PowerSpec& power) {
  return with_energy(launch, power).energy->total_uj;
}

class EnergyFile : public testing::TestWithParam<std::string> {
 protected:
  const config::Architecture architecture_ = config::load_architecture(GetParam());
  const config::LoadedEnergy loaded_ = config::load_energy(GetParam());
  const PowerSpec power_ = config::power_spec(loaded_.config, architecture_.gpu);
  const run::SimulationOptions options_ = analytic();
  gpu::ClosedFormTimer timer_{architecture_.gpu, options_.clock_policy};
  run::KernelRunner kernels_{architecture_.gpu, options_, timer_};
  const std::vector<Launch> launches_ = launches_of(kernels_, 11);

  bool has_2_to_4() const { return architecture_.gpu.sm.tensor_core.selector_inputs > 1; }
};

TEST_P(EnergyFile, ConservesEnergyAtEveryClock) {
  // V100: f16; Turing: f16 and s8; neither has 2:4.
  const std::size_t least = has_2_to_4() ? 8 : architecture_.gpu.numerics == "volta" ? 1 : 2;
  ASSERT_GE(launches_.size(), least);
  for (const Launch& launch : launches_) {
    for (const double share : {0.5, 0.8, 1.0}) {
      Launch slower = launch;
      slower.figures.timing.time_us = 1e6 * run::seconds_at(launch.figures, share * launch.figures.timing.clock_mhz);
      slower.figures.timing.clock_mhz *= share;
      const run::VariantResult result = with_energy(slower, power_);
      const auto& parts = result.energy->parts_uj;
      const double sum = std::accumulate(parts.begin(), parts.end(), 0.0,
                                         [](double before, const auto& part) { return before + part.second; });
      EXPECT_NEAR(sum, result.energy->total_uj, 1e-9 * sum);
      EXPECT_NEAR(result.energy->power_w * result.timing.time_us, sum, 1e-9 * sum);
      EXPECT_GE(result.energy->peak_power_w, result.energy->power_w * (1 - 1e-12));
    }
  }
}

TEST_P(EnergyFile, EveryEnergyOfTheFileIsSpentBySomeLaunchAndByTheShareThatItsEventHas) {
  for (std::size_t i = 0; i < loaded_.parameters.size(); ++i) {
    const config::EnergyParameter& parameter = loaded_.parameters[i];
    if (!parameter.pointer.starts_with("/events/") || !parameter.store) {
      continue;
    }
    config::EnergyConfig twice = loaded_.config;
    parameter.store(twice, 2 * parameter.value * parameter.scale);
    const PowerSpec doubled = config::power_spec(twice, architecture_.gpu);
    double most = 0;
    for (const Launch& launch : launches_) {
      const run::EnergyResult before = *with_energy(launch, power_).energy;
      const run::EnergyResult after = *with_energy(launch, doubled).energy;
      double changed = 0;
      for (std::size_t part = 0; part < before.parts_uj.size(); ++part) {
        const double now = after.parts_uj[part].second;
        const double then = before.parts_uj[part].second;
        if (now != then) {
          EXPECT_NEAR(now, 2 * then, 1e-9 * now) << parameter.pointer;
          EXPECT_NE(parameter.pointer.find("/" + std::string(before.parts_uj[part].first)), std::string::npos)
              << parameter.pointer << " changes " << before.parts_uj[part].first;
          changed += now - then;
        }
      }
      EXPECT_NEAR(after.total_uj - before.total_uj, changed, 1e-9 * after.total_uj);
      most = std::max(most, changed);
    }
    // Types that the GPU does not multiply have energies too, for designs that do.
    const bool typed = parameter.pointer.find('/', sizeof("/events/")) != std::string::npos;
    const bool multiplied = !typed || std::any_of(launches_.begin(), launches_.end(), [&](const Launch& launch) {
      return parameter.pointer.ends_with("/" + std::string(numerics::name(launch.op.dtype)));
    });
    const bool of_2_to_4 = parameter.pointer.find("/operand_select") != std::string::npos ||
                           parameter.pointer.find("/metadata_read") != std::string::npos;
    EXPECT_EQ(most > 0, multiplied && (!of_2_to_4 || has_2_to_4())) << parameter.pointer;
  }
}

TEST_P(EnergyFile, MoreBytesNeverCostLessAndHalfTheProductsNeverMore) {
  for (const Launch& launch : launches_) {
    const double before = total_uj(launch, power_);
    for (const auto bytes :
         {&kernels::MemoryTraffic::shared_memory_read, &kernels::MemoryTraffic::shared_memory_written}) {
      Launch more = launch;
      more.figures.traffic.memory.*bytes += 1 << 20;
      EXPECT_GT(total_uj(more, power_), before);
    }
    for (const auto bytes : {&memory::MemoryBytes::l2_read, &memory::MemoryBytes::l2_written,
                             &memory::MemoryBytes::dram_read, &memory::MemoryBytes::dram_written}) {
      Launch more = launch;
      more.figures.traffic.memory.l2_and_dram.*bytes += 1 << 20;
      EXPECT_GT(total_uj(more, power_), before);
    }
    Launch half = launch;
    half.op.shape.k /= 2;
    EXPECT_LT(total_uj(half, power_), before);
    Launch longer = launch;
    longer.figures.timing.time_us *= 2;
    EXPECT_GT(total_uj(longer, power_), before);
  }
}

TEST_P(EnergyFile, ALowerLimitNeverMakesALaunchFasterAndIsHeldUntilTheLowestClock) {
  run::SimulationOptions options = analytic();
  options.clock_limited = true;
  for (const Launch& launch : launches_) {
    PowerSpec power = power_;
    double time_us = 0;
    for (const double share : {4.0, 1.0, 0.8, 0.6, 0.4, 0.2}) {
      power.power_limit_w = share * power_.power_limit_w;
      const run::VariantResult result = with_energy(
          launch, power, options, [&](double clock_mhz) { return kernels_.time(launch.op, launch.sparse, clock_mhz); });
      // Cycles are whole numbers at each clock.
      EXPECT_GE(result.timing.time_us, time_us * (1 - 1e-5));
      time_us = result.timing.time_us;
      if (!result.energy->limit_exceeded) {
        EXPECT_LE(result.energy->power_w, 1.02 * power.power_limit_w);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, EnergyFile, testing::ValuesIn(config::energy_names()), [](const auto& file) {
  std::string name = file.param;
  for (char& letter : name) {
    letter = letter == '-' || letter == '.' ? '_' : letter;
  }
  return name;
});

}  // namespace
}  // namespace sptc::property
