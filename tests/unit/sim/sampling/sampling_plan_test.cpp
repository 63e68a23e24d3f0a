// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/sampling_plan.h"

#include "sim/config/architecture.h"
#include "sim/kernels/kernel_choice.h"
#include "sim/memory/owning_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace sptc::sampling {
namespace {

using Sms = SimulatedSms;

const gpu::GpuSpec& a100() {
  static const gpu::GpuSpec spec = config::load_architecture("a100-sxm4-80gb").gpu;
  return spec;
}

/// 16 CTAs, all resident at once.
constexpr base::GemmShape kAtOnce{512, 512, 4096};
/// 256 CTAs of which an A100 holds 216, and few k-tiles.
constexpr base::GemmShape kShortRounds{2048, 2048, 256};
/// 4096 CTAs with 256 k-tiles.
constexpr base::GemmShape kLongRounds{8192, 8192, 8192};

const kernels::KernelOverrides kTile{base::GemmShape{128, 128, 32}, 3, 1};

struct Options {
  Sms sms = Sms::kSampled;
  bool extrapolate = true;
};

/// A plan, with what it refers to.
class Planned {
 public:
  explicit Planned(const base::GemmShape& shape, const Options& options = {},
                   const kernels::KernelOverrides& overrides = kTile,
                   const gpu::GpuSpec& gpu = a100())
      : kernel_(kernels::choose_kernel({shape, 1, numerics::DataType::kF16, false}, overrides,
                                       gpu.kernel_target(), false)),
        plan_(kernel_, gpu.kernel_target(), options.sms, options.extrapolate) {}
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  const SamplingPlan* operator->() const { return &plan_; }
  std::int64_t ctas() const { return kernel_.ctas(); }

 private:
  kernels::GemmKernel kernel_;
  SamplingPlan plan_;
};

std::string name(const base::GemmShape& shape) {
  return std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " +
         std::to_string(shape.k);
}

const kernels::KernelOverrides kStreamK{
    base::GemmShape{128, 128, 32}, {}, {}, kernels::Decomposition::kStreamK};

TEST(SamplingPlan, GridsAreShortenedButThoseOfAllSmsThatShareTiles) {
  for (const Sms sms : {Sms::kSampled, Sms::kAll}) {
    EXPECT_FALSE(Planned(kLongRounds, {sms})->whole());
    EXPECT_EQ(Planned(kLongRounds, {sms}, kStreamK)->whole(), sms == Sms::kAll);
  }
}

TEST(SamplingPlan, WithoutExtrapolationEveryGridIsSimulatedWhole) {
  for (const base::GemmShape& shape : {kAtOnce, kShortRounds, kLongRounds}) {
    EXPECT_TRUE(Planned(shape, {Sms::kSampled, false})->whole());
  }
}

TEST(SamplingPlan, BuildsAllSmsOrAtMostEight) {
  EXPECT_EQ(SamplingPlan::sms_built(108, Sms::kAll), 108);
  EXPECT_EQ(SamplingPlan::sms_built(108, Sms::kSampled), 8);
  EXPECT_EQ(SamplingPlan::sms_built(4, Sms::kSampled), 3);
}

TEST(SamplingPlan, SimulatedSmsAskBothPartitionsOfTheL2EquallyOften) {
  for (const base::GemmShape& shape :
       {kAtOnce, kShortRounds, kLongRounds, {640, 640, 512}, {4096, 1152, 96}}) {
    for (const kernels::KernelOverrides& overrides : {kernels::KernelOverrides{}, kStreamK}) {
      const Planned plan(shape, {}, overrides);
      const std::vector<int>& sms = plan->sms();
      const auto ask_second = std::count_if(
          sms.begin(), sms.end(), [](int sm) { return memory::partition_of_sm(sm, 2) == 1; });
      EXPECT_GE(ask_second, 1) << name(shape);
      EXPECT_EQ(2 * ask_second, static_cast<std::ptrdiff_t>(sms.size())) << name(shape);
    }
  }
}

TEST(SamplingPlan, SimulatedSmsAreAtMostEightDistinctOnesThatHaveCtas) {
  for (const base::GemmShape& shape : {kAtOnce, kShortRounds, kLongRounds, {640, 128, 4096}}) {
    const Planned plan(shape);
    const std::set<int> distinct(plan->sms().begin(), plan->sms().end());
    EXPECT_EQ(distinct.size(), plan->sms().size()) << name(shape);
    EXPECT_LE(distinct.size(), 8U) << name(shape);
    EXPECT_GE(*distinct.begin(), 0) << name(shape);
    // CTA i of a wave runs on SM i.
    EXPECT_LT(*distinct.rbegin(), std::min<std::int64_t>(108, plan.ctas())) << name(shape);
  }
}

TEST(SamplingPlan, TheFirstSmWhichHasAsManyCtasAsAnyIsSimulated) {
  for (const base::GemmShape& shape : {kAtOnce, kShortRounds, kLongRounds}) {
    EXPECT_EQ(Planned(shape)->sms().front(), 0);
  }
}

TEST(SamplingPlan, AGridWithOneCtaHasOneSm) {
  EXPECT_EQ(Planned({128, 128, 4096})->sms(), std::vector<int>{0});
}

TEST(SamplingPlan, WithOnePartitionOfTheL2AnOddNumberOfSmsMayStandForAll) {
  gpu::GpuSpec gpu = a100();
  gpu.memory.l2_partitions = 1;
  EXPECT_EQ(Planned({640, 128, 4096}, {}, kTile, gpu)->sms(), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(Planned({640, 128, 4096})->sms().size(), 4U);
}

TEST(SamplingPlan, WithOnePartitionOfTheL2AnEvenNumberOfSmsStandsForManyMore) {
  gpu::GpuSpec gpu = a100();
  gpu.memory.l2_partitions = 1;
  // A CTA on each of 108 SMs: 2560 instructions, of which 8192 are three times as many.
  EXPECT_EQ(Planned({1536, 1152, 320}, {}, kTile, gpu)->sms().size(), 2U);
}

TEST(SamplingPlan, MoreSmsAreSimulatedWhereEachHasLessWork) {
  EXPECT_EQ(Planned(kLongRounds)->sms().size(), 2U);
  EXPECT_EQ(Planned({1664, 1024, 64})->sms().size(), 8U);
}

TEST(SamplingPlan, OfStreamKCtasSharePartsOfTilesThatDoNotFillWholeRounds) {
  // 64 output tiles on 108 SMs; 432, which are two rounds of two CTAs on each.
  EXPECT_TRUE(Planned({1024, 1024, 4096}, {}, kStreamK)->shares_tiles());
  EXPECT_FALSE(Planned({1024, 1024, 4096})->shares_tiles());
  const Planned whole({3456, 2048, 256}, {}, kStreamK);
  EXPECT_EQ(432 % whole->resident(), 0);
  EXPECT_FALSE(whole->shares_tiles());
}

TEST(SamplingPlan, TheFirstSmOfSharedTilesOnlyHandsOnPartialSumsAndIsNotSimulatedAlone) {
  const Planned plan({8192, 8192, 8192}, {}, kStreamK);
  ASSERT_TRUE(plan->shares_tiles());
  const std::vector<int>& sms = plan->sms();
  EXPECT_EQ(std::count(sms.begin(), sms.end(), 0), 0);
}

}  // namespace
}  // namespace sptc::sampling
