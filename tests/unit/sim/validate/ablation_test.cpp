// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/ablation.h"

#include "sim/config/architecture.h"
#include "sim/gpu/analytic_gemm.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sptc::sim {
namespace {

double cycles(const GpuSpec& gpu, const RunOptions& options, const GemmShape& shape) {
  const GemmRun run = analytic_gemm({shape, 1, numerics::DataType::kF16, false}, options.kernel,
                                    gpu, options.clock);
  return static_cast<double>(run.cycles);
}

double without(const std::string& effect, const GemmShape& shape) {
  GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  RunOptions options;
  for (const Ablation& ablation : ablations()) {
    if (ablation.without == effect) {
      ablation.take_away(gpu, options);
      return cycles(gpu, options, shape);
    }
  }
  ADD_FAILURE() << effect;
  return 0;
}

TEST(Ablation, NamesEachEffectOnce) {
  std::set<std::string_view> names;
  for (const Ablation& ablation : ablations()) {
    EXPECT_TRUE(names.insert(ablation.without).second) << ablation.without;
  }
}

TEST(Ablation, WithoutQuantisationOneColumnMoreThanAWaveCostsNoWave) {
  const std::string effect = "tile and wave quantisation";
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  const GemmShape full{4096, 3456, 4096}, one_more{4096, 3457, 4096};  // 8 waves of 128 x 128
  EXPECT_GT(cycles(gpu, {}, one_more), 1.02 * cycles(gpu, {}, full));
  EXPECT_LT(without(effect, one_more), 1.001 * without(effect, full));
  // Where tiles and waves are whole, there is nothing to take away.
  EXPECT_NEAR(without(effect, full) / cycles(gpu, {}, full), 1, 0.03);
}

TEST(Ablation, WithoutALimitALaunchIsNoSlower) {
  const GemmShape shape{4096, 1024, 4096};
  const double all = cycles(load_architecture("a100-sxm4-80gb").gpu, {}, shape);
  EXPECT_LE(without("limits of the L2", shape), all);
  EXPECT_LT(without("imperfect overlap with DRAM", shape), all);
}

TEST(FittedNumbers, AreThoseThatTheFilesCallDerived) {
  const auto counted = [](const std::string& name) {
    return fitted_numbers(load_architecture(name));
  };
  EXPECT_EQ(counted("a100-sxm4-80gb"), (FittedNumbers{7, 4, 13, 6}));
  EXPECT_EQ(counted("a40"), (FittedNumbers{5, 6, 19, 0}));
  EXPECT_EQ(counted("h100-sxm5-80gb"), (FittedNumbers{7, 4, 10, 0}));
  // All of its constants are those of the H100 SXM5.
  EXPECT_EQ(counted("h100-pcie"), (FittedNumbers{0, 11, 10, 0}));
}

TEST(FittedNumbers, AreSaidBesideThoseOfTheForm) {
  EXPECT_EQ(fitted_numbers_note(load_architecture("a40")),
            "fitted numbers: 5 constants of the GPU (6 more are set, or those of another GPU), the "
            "main loops of 19 tiles, that of sparse kernels, 0 numbers in rules of the library's "
            "choice, and 13 of the closed form, the same for all GPUs");
}

}  // namespace
}  // namespace sptc::sim
