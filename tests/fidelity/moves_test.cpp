// SPDX-License-Identifier: Apache-2.0
// Do both fidelities say the same of a design? A random launch on a random GPU, with one rate or
// size halved or doubled and the fastest kernel found anew for each design: how far the change that
// the closed form predicts is from the one that SystemC simulates.
// SPTC_MOVES=2000 draws as many.
#include "models/base/random.h"
#include "sim/config/architecture.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/systemc_timer.h"
#include "tests/support/ratchet.h"
#include "tests/support/scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sptc::fidelity {
namespace {

constexpr std::array kGpus{"a100-sxm4-80gb", "h100-sxm5-80gb", "v100-sxm2-16gb", "b200", "a40", "l40s",
                           "rtx3090",        "rtx4090",        "rtx5080",        "t4",   "a30", "h200-sxm"};

using support::scale;

struct Move {
  const char* name;
  void (*apply)(gpu::GpuSpec& gpu, double factor);
};
constexpr std::array kMoves{
    Move{"SMs", [](gpu::GpuSpec& gpu, double factor) { scale(gpu.sms, factor); }},
    Move{"clock", [](gpu::GpuSpec& gpu, double factor) { scale(gpu.boost_clock_mhz, factor); }},
    Move{"dot units",
         [](gpu::GpuSpec& gpu, double factor) {
           scale(gpu.sm.tensor_core.dot_units, factor);
           scale(gpu.sm.tensor_core.f32_dot_units, factor);
           scale(gpu.sm.tensor_core.selector_bytes_per_cycle, factor);
         }},
    Move{"A port",
         [](gpu::GpuSpec& gpu, double factor) { scale(gpu.sm.tensor_core.operand_a_port_bytes_per_cycle, factor); }},
    Move{"B port",
         [](gpu::GpuSpec& gpu, double factor) { scale(gpu.sm.tensor_core.operand_b_port_bytes_per_cycle, factor); }},
    Move{"accumulator port",
         [](gpu::GpuSpec& gpu, double factor) { scale(gpu.sm.tensor_core.accumulator_port_bytes_per_cycle, factor); }},
    Move{"metadata port",
         [](gpu::GpuSpec& gpu, double factor) { scale(gpu.sm.tensor_core.metadata_port_bytes_per_cycle, factor); }},
    Move{"register banks",
         [](gpu::GpuSpec& gpu, double factor) { scale(gpu.sm.tensor_core.register_bank_bytes_per_cycle, factor); }},
    Move{"shared memory rate",
         [](gpu::GpuSpec& gpu, double factor) { scale(gpu.sm.shared_memory_bank_bytes_per_cycle, factor); }},
    Move{"shared memory size",
         [](gpu::GpuSpec& gpu, double factor) {
           scale(gpu.sm.shared_memory, factor);
           scale(gpu.sm.max_shared_memory_per_cta, factor);
           scale(gpu.sm.l1_and_shared_memory, factor);
         }},
    Move{"registers", [](gpu::GpuSpec& gpu, double factor) { scale(gpu.sm.registers, factor); }},
    Move{"resident warps",
         [](gpu::GpuSpec& gpu, double factor) {
           scale(gpu.sm.max_warps, factor);
           scale(gpu.sm.max_ctas, factor);
         }},
    Move{"SM ports", [](gpu::GpuSpec& gpu, double factor) { scale(gpu.memory.sm_port_bytes_per_cycle, factor); }},
    Move{"L2 rate", [](gpu::GpuSpec& gpu, double factor) { scale(gpu.memory.l2_bytes_per_cycle, factor); }},
    Move{"L2 size", [](gpu::GpuSpec& gpu, double factor) { scale(gpu.memory.l2_capacity, factor); }},
    Move{"DRAM rate", [](gpu::GpuSpec& gpu, double factor) { scale(gpu.memory.dram_gb_per_s, factor); }},
    Move{"memory latency",
         [](gpu::GpuSpec& gpu, double factor) {
           scale(gpu.memory.l2_near_latency_cycles, factor);
           scale(gpu.memory.l2_far_latency_cycles, factor);
           scale(gpu.memory.dram_access_latency_cycles, factor);
         }},
};

/// How much longer the launch takes on the design that was moved, as a share.
struct Change {
  std::string gpu, move, launch, kernels;
  double form = 0, simulated = 0;

  double points() const { return 100 * std::abs(form - simulated); }
  /// Changes of less than a percent have no sign.
  bool agrees() const {
    constexpr double kNone = 0.01, kMostPoints = 5;
    const bool opposite = (form > kNone && simulated < -kNone) || (form < -kNone && simulated > kNone);
    return !opposite && points() <= kMostPoints;
  }
};

run::VariantResult simulated(const gpu::GpuSpec& gpu, const workload::Operation& op, bool sparse,
                             run::Fidelity fidelity) {
  run::SimulationOptions options;
  options.fidelity = fidelity;
  options.kernel.search = true;
  const std::unique_ptr<gpu::Timer> timer = run::make_timer(gpu, options);
  run::KernelRunner kernels(gpu, options, *timer);
  return kernels.time(op, sparse);
}

std::string text(const run::VariantResult& result) {
  const kernels::KernelResult& kernel = result.kernel;
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), "    %.3f us, %dx%dx%d, %d stages, split %d, %d CTAs\n",
                result.timing.time_us, static_cast<int>(kernel.cta_tile.m), static_cast<int>(kernel.cta_tile.n),
                static_cast<int>(kernel.cta_tile.k), kernel.stages, kernel.split_k, static_cast<int>(kernel.ctas));
  return text.data();
}

/// Number `index` of the moves: reproducible one by one.
Change change(std::uint64_t index) {
  const base::RandomStream random(40 + index);
  std::uint64_t drawn = 0;
  const auto below = [&](std::size_t count) { return random.bits(drawn++) % count; };
  const auto extent = [&](double low, double high) {
    const double share = static_cast<double>(random.bits(drawn++) >> 11U) * 0x1p-53;
    return static_cast<std::int64_t>(std::exp2(low + share * (high - low)));
  };
  const gpu::GpuSpec gpu = config::load_architecture(kGpus[index % kGpus.size()]).gpu;
  const Move& move = kMoves[below(kMoves.size())];
  const double factor = below(2) == 0 ? 0.5 : 2;
  const bool sparse = below(2) == 0 && gpu.sm.tensor_core.selector_inputs > 1;
  workload::Operation op;
  op.name = "random";
  op.shape.m = extent(6, 12);
  op.shape.n = extent(6, 12);
  op.shape.k = extent(6, 12) / 16 * 16;
  op.dtype = numerics::DataType::kF16;
  gpu::GpuSpec moved = gpu;
  move.apply(moved, factor);
  Change result{gpu.name,
                move.name,
                gpu.name + ", " + move.name + (factor < 1 ? " x 0.5, " : " x 2, ") + std::to_string(op.shape.m) +
                    " x " + std::to_string(op.shape.n) + " x " + std::to_string(op.shape.k) +
                    (sparse ? " 2:4" : " dense"),
                {}};
  for (const auto& [fidelity, share] :
       {std::pair{run::Fidelity::kAnalytic, &result.form}, std::pair{run::Fidelity::kTiming, &result.simulated}}) {
    const run::VariantResult before = simulated(gpu, op, sparse, fidelity);
    const run::VariantResult after = simulated(moved, op, sparse, fidelity);
    *share = after.timing.time_us / before.timing.time_us - 1;
    result.kernels += text(before) + text(after);
  }
  return result;
}

void print_by(const char* what, const std::vector<Change>& changes, std::string Change::*const key) {
  std::map<std::string, std::vector<const Change*>> groups;
  for (const Change& one : changes) {
    groups[one.*key].push_back(&one);
  }
  std::printf("%-20s  moves  agree  mean points\n", what);
  for (const auto& [name, group] : groups) {
    double points = 0;
    for (const Change* one : group) {
      points += one->points() / static_cast<double>(group.size());
    }
    const auto agree = std::count_if(group.begin(), group.end(), [](const Change* one) { return one->agrees(); });
    std::printf("%-20s %6zu %6d %12.1f\n", name.c_str(), group.size(), static_cast<int>(agree), points);
  }
}

constexpr std::size_t kUsualMoves = 60;

std::size_t moves() {
  const char* const asked = std::getenv("SPTC_MOVES");
  return asked == nullptr ? kUsualMoves : static_cast<std::size_t>(std::strtoul(asked, nullptr, 10));
}

TEST(Moves, BothFidelitiesAgreeOnWhatAChangeOfADesignDoes) {
  std::vector<Change> changes;
  for (std::size_t i = 0; i < moves(); ++i) {
    changes.push_back(change(i));
    if (!changes.back().agrees()) {
      std::printf("%zu: %s: closed form %+.1f %%, SystemC %+.1f %%\n%s", i, changes.back().launch.c_str(),
                  100 * changes.back().form, 100 * changes.back().simulated, changes.back().kernels.c_str());
    }
  }
  print_by("what was moved", changes, &Change::move);
  print_by("GPU", changes, &Change::gpu);
  const auto agree = std::count_if(changes.begin(), changes.end(), [](const Change& one) { return one.agrees(); });
  std::printf("%d of %zu agree\n", static_cast<int>(agree), changes.size());
  ASSERT_FALSE(changes.empty());
  if (changes.size() == kUsualMoves) {
    const auto all = static_cast<double>(changes.size());
    support::expect_no_worse("moves of a design that differ %", 100 * (all - static_cast<double>(agree)) / all);
  }
}

}  // namespace
}  // namespace sptc::fidelity
