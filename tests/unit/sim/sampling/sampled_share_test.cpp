// SPDX-License-Identifier: Apache-2.0
// What a few SMs ask for, times how many they stand for, is what all SMs ask for: also where tiles
// at an edge of the matrices, of which less is copied, fall to the simulated ones or to others.
#include "sim/sampling/sampled_share.h"

#include "sim/config/architecture.h"
#include "sim/kernels/kernel_choice.h"
#include "sim/memory/owning_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace sptc::sampling {
namespace {

/// A launch of which two SMs are simulated.
class Launch {
 public:
  Launch(const std::string& arch, const kernels::GemmProblem& problem)
      : gpu_(config::load_architecture(arch).gpu),
        kernel_(kernels::choose_kernel(problem, {}, gpu_.kernel_target(), false)),
        traffic_(kernel_),
        reuse_(kernel_, gpu_.memory, gpu_.sms),
        parts_{0, last_of_partition(gpu_.memory.l2_partitions - 1)},
        share_(kernel_, reuse_, gpu_.memory, gpu_.sms, parts_) {}

  std::int64_t waves() const { return base::ceil_div(kernel_.ctas(), wave()); }

  /// The whole grid.
  void expect_all_of_every_wave() {
    for (std::int64_t i = 0; i < waves(); ++i) {
      expect_all(i, i);
    }
  }
  /// A grid of `waves` waves, of which the last one stands for that of the whole.
  void expect_all_of_the_last_wave_of(std::int64_t waves) {
    const std::int64_t ctas = kernel_.ctas() - (this->waves() - waves) * wave();
    share_.shorten(ctas, true);
    expect_all(waves - 1, this->waves() - 1);
  }

 private:
  int last_of_partition(int partition) const {
    int sm = gpu_.sms / 2;
    while (memory::partition_of_sm(sm, gpu_.memory.l2_partitions) != partition) {
      --sm;
    }
    return sm;
  }
  std::int64_t wave() const { return reuse_.ctas_per_wave(); }
  /// Elements of D.
  double stored(std::int64_t cta) const {
    const kernels::CtaTile tile = kernel_.rasterise(cta);
    return static_cast<double>(traffic_.panel_rows(isa::Operand::kA).of(tile.tile_m) *
                               traffic_.panel_rows(isa::Operand::kB).of(tile.tile_n));
  }
  double bytes(isa::Operand operand, std::int64_t cta) const {
    const kernels::CtaTile tile = kernel_.rasterise(cta);
    return static_cast<double>(traffic_.panel_bytes(
        operand, operand == isa::Operand::kB ? tile.tile_n : tile.tile_m, tile.slice));
  }

  /// Of CTAs in wave `simulated` of the simulated SMs, for all of wave `of`, partition by
  /// partition.
  void expect_all(std::int64_t simulated, std::int64_t of) {
    using Move = std::function<double(std::int64_t)>;
    using PerSimulated = std::function<double(const kernels::ShareOfCta&)>;
    for (const auto& [what, moved, per_simulated] :
         {std::tuple<const char*, Move, PerSimulated>{
              "A", [&](std::int64_t cta) { return bytes(isa::Operand::kA, cta); },
              [](const kernels::ShareOfCta& share) {
                return share.operands[0].reads_per_simulated;
              }},
          {"B", [&](std::int64_t cta) { return bytes(isa::Operand::kB, cta); },
           [](const kernels::ShareOfCta& share) { return share.operands[1].reads_per_simulated; }},
          {"D", [&](std::int64_t cta) { return stored(cta); },
           [](const kernels::ShareOfCta& share) { return share.stores_per_simulated; }}}) {
      const int partitions = gpu_.memory.l2_partitions;
      std::vector<double> stood_for(static_cast<std::size_t>(partitions));
      std::vector<double> all(stood_for.size());
      for (std::size_t port = 0; port < parts_.size(); ++port) {
        for (std::int64_t at = parts_[port]; at < wave(); at += gpu_.sms) {
          if (of * wave() + at < kernel_.ctas()) {
            const std::int64_t cta = simulated * wave() + at;
            stood_for[port % stood_for.size()] +=
                per_simulated(share_.share_of(port, cta)) * moved(cta);
          }
        }
      }
      for (std::int64_t cta = of * wave(); cta < std::min(kernel_.ctas(), (of + 1) * wave());
           ++cta) {
        const int sm = static_cast<int>(cta % gpu_.sms);
        all[static_cast<std::size_t>(memory::partition_of_sm(sm, partitions))] += moved(cta);
      }
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_NEAR(stood_for[i], all[i], 1e-9 * all[i]) << what << " of wave " << of;
      }
    }
  }

  gpu::GpuSpec gpu_;
  kernels::GemmKernel kernel_;
  kernels::GemmTraffic traffic_;
  kernels::GridReuse reuse_;
  std::vector<int> parts_;
  SampledShare share_;
};

kernels::GemmProblem problem(const base::GemmShape& shape, bool sparse) {
  return {shape, 1, numerics::DataType::kF16, sparse};
}

TEST(SampledShare, AsksForAllThatTheSmsAskFor) {
  // A row of tiles, a column of tiles, of which one row or column is left.
  Launch("l40s", problem({257, 6144, 4096}, true)).expect_all_of_every_wave();
  Launch("h100-pcie", problem({4096, 4097, 4096}, false)).expect_all_of_every_wave();
  Launch("a40", problem({8192, 1025, 4096}, true)).expect_all_of_every_wave();
  Launch("a100-sxm4-80gb", problem({129, 76800, 64}, false)).expect_all_of_every_wave();
}

TEST(SampledShare, OfAShorterGridAsksForAllOfTheLastWaveWhicheverTilesItHas) {
  Launch pcie("h100-pcie", problem({4096, 4097, 4096}, false));
  ASSERT_GE(pcie.waves(), 5);
  for (const std::int64_t waves : {2, 3, 4}) {
    pcie.expect_all_of_the_last_wave_of(waves);
  }
}

}  // namespace
}  // namespace sptc::sampling
