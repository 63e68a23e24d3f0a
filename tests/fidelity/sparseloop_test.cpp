// SPDX-License-Identifier: Apache-2.0
//
// Against the published outputs of Sparseloop's sparse tensor core: Wu et al., MICRO 2022,
// micro22-sparseloop-artifact, evaluation_setups/fig15_stc_related_setup/ref_outputs. They are
// outputs of a simulator, not of silicon.
#include "sim/config/stc_design.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>

namespace sptc::fidelity {
namespace {

using energy::StcResult;

constexpr sparsity::Pattern kDense{4, 4};
constexpr sparsity::Pattern k24{2, 4};

struct Reference {
  base::GemmShape shape;
  std::int64_t dense_cycles, sparse_cycles;
  double tc_uj, dense_uj, sparse_uj;  ///< dense design; sparse design with dense and 2:4 weights
  std::int64_t cycles_2to6, cycles_2to8;
};

// m, n, k as in BLAS; the artifact lists m, k, n.
constexpr Reference kLayers[] = {
    {{128, 1024, 1152}, 147456, 73728, 276.58, 248.15, 173.42, 70218, 66707},
    {{512, 256, 1024}, 131072, 65536, 247.59, 225.79, 132.61, 64366, 59295},
    {{512, 1024, 128}, 65536, 32768, 119.51, 110.63, 79.80, 35109, 29648},
    {{512, 1024, 256}, 131072, 65536, 205.45, 187.70, 126.03, 70218, 59295},
};

TEST(SparseloopStc, CyclesEqualThePublishedOutputs) {
  const energy::StcDesign stc = config::load_stc_design("sparseloop-stc");
  const energy::StcDesign tc = config::load_stc_design("sparseloop-tc");
  EXPECT_EQ(stc.macs_per_cycle(), 1024);
  for (const Reference& layer : kLayers) {
    EXPECT_EQ(evaluate(tc, layer.shape, kDense).cycles, layer.dense_cycles);
    EXPECT_EQ(evaluate(stc, layer.shape, kDense).cycles, layer.dense_cycles);
    EXPECT_EQ(evaluate(stc, layer.shape, k24).cycles, layer.sparse_cycles);
  }
}

TEST(SparseloopStc, WiderPatternsAreBoundBySharedMemoryAsPublished) {
  const energy::StcDesign stc = config::load_stc_design("sparseloop-stc");
  for (const Reference& layer : kLayers) {
    const StcResult six = evaluate(stc, layer.shape, {2, 6});
    const StcResult eight = evaluate(stc, layer.shape, {2, 8});
    EXPECT_EQ(six.cycles, layer.cycles_2to6);
    EXPECT_EQ(eight.cycles, layer.cycles_2to8);
    EXPECT_EQ(six.cycles, six.shared_memory_cycles);
    EXPECT_NEAR(six.utilization, 0.70, 0.005);
    EXPECT_NEAR(eight.utilization, 0.55, 0.005);
  }
}

TEST(SparseloopStc, EnergyOfTwoToFourOverDenseWeightsIsWithinFivePercent) {
  const energy::StcDesign stc = config::load_stc_design("sparseloop-stc");
  for (const Reference& layer : kLayers) {
    const double dense = evaluate(stc, layer.shape, kDense).energy.total_pj() * 1e-6;
    const double sparse = evaluate(stc, layer.shape, k24).energy.total_pj() * 1e-6;
    EXPECT_NEAR(sparse / dense / (layer.sparse_uj / layer.dense_uj), 1, 0.05);
    // Absolute: 2:4 to the printed digits. Dense weights of the first layer read A twice from
    // shared memory in the published mapping (2.1 %), the others agree.
    EXPECT_NEAR(sparse / layer.sparse_uj, 1, 0.001);
    EXPECT_NEAR(dense / layer.dense_uj, 1, layer.shape.k == 1152 ? 0.025 : 0.001);
  }
}

TEST(SparseloopStc, EnergyOfTheDenseDesignIsWithinFivePercent) {
  const energy::StcDesign tc = config::load_stc_design("sparseloop-tc");
  for (const Reference& layer : kLayers) {
    const double energy = evaluate(tc, layer.shape, kDense).energy.total_pj() * 1e-6;
    EXPECT_NEAR(energy / layer.tc_uj, 1, 0.05);
  }
}

TEST(SparseloopStc, AccessCountsOfTheListedLayerAreEqual) {
  const base::GemmShape shape{512, 1024, 256};
  const auto tc = evaluate(config::load_stc_design("sparseloop-tc"), shape, kDense).accesses;
  EXPECT_EQ(tc.weight_registers, 135266304);
  EXPECT_EQ(tc.registers, 16777216);
  EXPECT_EQ(tc.shared_memory, 3538944);
  EXPECT_EQ(tc.dram, 917504);
  const auto stc = evaluate(config::load_stc_design("sparseloop-stc"), shape, k24).accesses;
  EXPECT_EQ(stc.weight_registers, 67633152);
  EXPECT_EQ(stc.registers, 8388608);
  EXPECT_EQ(stc.shared_memory, 2949120);
  EXPECT_EQ(stc.dram, 851968);
  EXPECT_EQ(stc.shared_memory_metadata_reads, 524288);
  EXPECT_EQ(stc.dram_metadata, 65536);
}

/// DSTC-RF2x-24-bandwidth; k as the artifact padded it. The row without zeros is listed there with
/// 0.82 of B, but computed every product.
struct DualSideReference {
  base::GemmShape shape;
  sparsity::Densities densities;
  std::int64_t cycles;
  double uj;
};
constexpr DualSideReference kDualSide[] = {
    {{128, 1024, 1152}, {0.25, 0.44}, 37083, 120.88},
    {{512, 256, 1024}, {0.25, 0.27}, 28699, 64.85},
    {{512, 1024, 128}, {0.25, 0.56}, 17980, 81.52},
    {{512, 1024, 256}, {0.25, 0.82}, 44257, 168.97},
    {{128, 1024, 1152}, {1.0 / 3, 0.44}, 41823, 144.51},
    {{512, 256, 1056}, {1.0 / 3, 0.27}, 32294, 82.50},
    {{512, 1024, 144}, {1.0 / 3, 0.56}, 25852, 102.80},
    {{512, 1024, 288}, {1.0 / 3, 0.82}, 69102, 228.18},
    {{128, 1024, 1152}, {0.5, 0.44}, 51197, 191.65},
    {{512, 256, 1024}, {0.5, 0.27}, 35482, 110.93},
    {{512, 1024, 128}, {0.5, 0.56}, 30226, 120.93},
    {{512, 1024, 256}, {0.5, 0.82}, 78640, 281.79},
    {{128, 1024, 1152}, {1, 0.44}, 78059, 364.68},
    {{512, 256, 1024}, {1, 0.27}, 48875, 201.64},
    {{512, 1024, 128}, {1, 0.56}, 45340, 197.50},
    {{512, 1024, 256}, {1, 1}, 131072, 603.25},
};

TEST(SparseloopDstc, CyclesAreThoseOfMeanPassesAndMemoryBoundRowsAreEqual) {
  const energy::StcDesign dstc = config::load_stc_design("sparseloop-dstc");
  double sum = 0;
  for (const DualSideReference& row : kDualSide) {
    const StcResult result = evaluate_dual_side(dstc, row.shape, row.densities);
    const double error = static_cast<double>(result.cycles) / static_cast<double>(row.cycles) - 1;
    // The published bitmap has a level above that leaves out blocks of 16 zeros: half a percent.
    // The published passes are those of the mean use of multipliers, which is fewer than the mean
    // of the passes.
    EXPECT_GT(error, -0.006) << row.cycles;
    if (result.cycles == result.shared_memory_cycles) {
      EXPECT_LT(error, 0.006) << row.cycles;
    }
    EXPECT_LT(error, 0.11) << row.cycles;
    sum += std::abs(error);
  }
  EXPECT_LT(sum / std::size(kDualSide), 0.035);
}

TEST(SparseloopDstc, EnergiesAreWithinTwoPercentButForOneMapping) {
  const energy::StcDesign dstc = config::load_stc_design("sparseloop-dstc");
  for (const DualSideReference& row : kDualSide) {
    const double uj = evaluate_dual_side(dstc, row.shape, row.densities).energy.total_pj() * 1e-6;
    // With dense weights the published mapping of 128 x 1024 x 1152 fetches B twice from DRAM.
    const bool twice = row.shape.k == 1152 && row.densities.a == 1;
    EXPECT_NEAR(uj / row.uj, 1, twice ? 0.1 : 0.02) << row.uj;
  }
}

}  // namespace
}  // namespace sptc::fidelity
