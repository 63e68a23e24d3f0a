// SPDX-License-Identifier: Apache-2.0
// Against the rules of NVIDIA's occupancy calculator, worked out by hand.
#include "sim/hardware/sm/occupancy.h"

#include "sim/config/architecture.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::sm {
namespace {

constexpr std::int64_t kKib = 1024;

SmSpec sm_of(const char* name) {
  return config::load_architecture(name).gpu.sm;
}

struct Row {
  const char* gpu;
  CtaResources cta;
  int ctas;
  const char* limited_by;
};

TEST(Occupancy, FollowsTheRulesOfTheCalculator) {
  const std::vector<Row> rows{// 64 warps, of which 8 are a CTA.
                              {"a100-sxm4-80gb", {256, 32, base::Bytes(0)}, 8, "registers"},
                              {"a100-sxm4-80gb", {256, 16, base::Bytes(0)}, 8, "warps"},
                              // Warp w runs on sub-partition w mod 4: 16 CTAs of one warp fill the first one.
                              {"a100-sxm4-80gb", {32, 8, base::Bytes(0)}, 16, "warps"},
                              {"a100-sxm4-80gb", {160, 16, base::Bytes(0)}, 8, "warps"},
                              {"t4", {160, 16, base::Bytes(0)}, 4, "warps"},
                              // 168 registers are 5376 per warp: three warps of the 16384 of a sub-partition.
                              {"a100-sxm4-80gb", {256, 168, base::Bytes(0)}, 1, "registers"},
                              {"a100-sxm4-80gb", {128, 168, base::Bytes(0)}, 3, "registers"},
                              // Three warps take the registers of four.
                              {"a100-sxm4-80gb", {96, 64, base::Bytes(0)}, 8, "registers"},
                              // 33 registers are given as 40.
                              {"a100-sxm4-80gb", {512, 33, base::Bytes(0)}, 3, "registers"},
                              // 164 KB, of which 1 KB goes to the system for each CTA.
                              {"a100-sxm4-80gb", {128, 32, base::Bytes(40 * kKib)}, 4, "shared memory"},
                              {"a100-sxm4-80gb", {128, 32, base::Bytes(41 * kKib)}, 3, "shared memory"},
                              {"a100-sxm4-80gb", {128, 32, base::Bytes(163 * kKib)}, 1, "shared memory"},
                              {"v100-sxm2-16gb", {128, 32, base::Bytes(48 * kKib)}, 2, "shared memory"},
                              {"t4", {128, 32, base::Bytes(32 * kKib)}, 2, "shared memory"},
                              {"h100-sxm5-80gb", {384, 168, base::Bytes(227 * kKib)}, 1, "registers"},
                              {"a40", {1024, 32, base::Bytes(0)}, 1, "warps"}};
  for (const Row& row : rows) {
    const Occupancy held = occupancy(row.cta, sm_of(row.gpu));
    const std::string name = std::string(row.gpu) + " " + std::to_string(row.cta.threads) + " threads, " +
                             std::to_string(row.cta.registers_per_thread) + " registers, " +
                             std::to_string(row.cta.shared_memory.count());
    EXPECT_EQ(held.ctas, row.ctas) << name;
    EXPECT_EQ(held.limited_by, row.limited_by) << name;
  }
}

TEST(Occupancy, ACtaThatDoesNotFitIsNotHeld) {
  EXPECT_EQ(occupancy({128, 32, base::Bytes(164 * kKib)}, sm_of("a100-sxm4-80gb")).ctas, 0);
  EXPECT_EQ(occupancy({1024, 128, base::Bytes(0)}, sm_of("a100-sxm4-80gb")).ctas, 0);
}

TEST(CarveOuts, AreThoseOfTheProgrammingGuide) {
  const auto kib = [](const char* gpu) {
    std::vector<std::int64_t> sizes;
    for (const base::Bytes& size : carve_outs(sm_of(gpu))) {
      sizes.push_back(size.count() / kKib);
    }
    return sizes;
  };
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(kib("v100-sxm2-16gb"), (Sizes{0, 8, 16, 32, 64, 96}));
  EXPECT_EQ(kib("a40"), (Sizes{0, 8, 16, 32, 64, 100}));
  EXPECT_EQ(kib("a100-sxm4-80gb"), (Sizes{0, 8, 16, 32, 64, 100, 132, 164}));
  EXPECT_EQ(kib("h100-sxm5-80gb"), (Sizes{0, 8, 16, 32, 64, 100, 132, 164, 196, 228}));
}

TEST(CarveOuts, TheLeastThatHoldsTheCtasIsTaken) {
  const SmSpec sm = sm_of("a100-sxm4-80gb");
  // Limited to one CTA by registers: 31 KB and 1 KB fill 32 KB, 32 KB and 1 KB do not fit.
  EXPECT_EQ(occupancy({256, 168, base::Bytes(30 * kKib)}, sm).carve_out.count(), 32 * kKib);
  EXPECT_EQ(occupancy({256, 168, base::Bytes(31 * kKib)}, sm).carve_out.count(), 32 * kKib);
  EXPECT_EQ(occupancy({256, 168, base::Bytes(32 * kKib)}, sm).carve_out.count(), 64 * kKib);
  EXPECT_EQ(occupancy({128, 32, base::Bytes(48 * kKib)}, sm).carve_out.count(), 164 * kKib);
}

}  // namespace
}  // namespace sptc::sm
