// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/shipped_design.h"

#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/config/derivation.h"
#include "sim/gemm/kernel_choice.h"
#include "sim/gemm/kernel_estimate.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace sptc::sim {
namespace {

constexpr GemmProblem kProblem{{4096, 1024, 4096}, 1, numerics::DataType::kF16, false};

GpuSpec derived(const std::string& change) {
  return parse_architecture(R"({"base": "a100-sxm4-80gb", "name": "changed", )" + change + "}",
                            "changed.json")
      .gpu;
}

double stretch(const GpuSpec& spec, const GemmProblem& problem = kProblem,
               const KernelOverrides& overrides = {}) {
  return ShippedDesign(spec).kernel(problem, overrides, false).sm_stretch.value();
}

/// kProblem on an A100, and its two closed forms.
struct Calibrated {
  CalibratedKernel kernel;
  KernelEstimate on_gpu, simulated;
};
Calibrated on_a100() {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  const KernelTarget target = gpu.kernel_target();
  const CalibratedKernel calibrated = ShippedDesign(gpu).kernel(kProblem, {}, false);
  return {calibrated, estimate(calibrated.kernel, target),
          simulated_estimate(calibrated.kernel, target)};
}

TEST(Calibration, HasAFormWithTheSmsOfTheModelBesideTheDramOfTheGpu) {
  const auto [calibrated, on_gpu, simulated] = on_a100();
  const KernelEstimate form = calibrated.stretched_form(on_gpu, simulated);
  EXPECT_NEAR(form.time_us(1), on_gpu.time_us(1), 1e-9 * on_gpu.time_us(1));
  EXPECT_DOUBLE_EQ(form.shared_memory_us / form.tensor_us,
                   simulated.shared_memory_us / simulated.tensor_us);
  EXPECT_NE(form.shared_memory_us / form.tensor_us, on_gpu.shared_memory_us / on_gpu.tensor_us);
  EXPECT_EQ(form.dram_us, on_gpu.dram_us);
  EXPECT_NE(form.dram_us, simulated.dram_us);
}

TEST(Calibration, TakesTheFormOfTheModelToThatOfTheGpuAtEveryClock) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  const KernelTarget target = gpu.kernel_target();
  for (const GemmShape& shape :
       {kProblem.shape, GemmShape{8192, 16, 8192}, {256, 25088, 1024}, {64, 64, 64}}) {
    const GemmProblem problem{shape, 1, numerics::DataType::kF16, false};
    const CalibratedKernel calibrated = ShippedDesign(gpu).kernel(problem, {}, false);
    const KernelEstimate on_gpu = estimate(calibrated.kernel, target);
    const KernelEstimate simulated = simulated_estimate(calibrated.kernel, target);
    for (const double ratio : {1.0, 0.5}) {
      const double expected = on_gpu.time_us(ratio) - on_gpu.outside_us();
      EXPECT_NEAR(calibrated.in_sms_us(simulated.time_us(ratio) - simulated.outside_us(),
                                       simulated.dram_beside_us(), on_gpu, simulated, ratio),
                  expected, 1e-9 * expected)
          << shape.m << "x" << shape.n << "x" << shape.k << " at " << ratio;
    }
  }
}

TEST(Calibration, OfAPatternOfItsOwnIsThatOfTheKernelWhetherItWasChosenOrNamed) {
  const ShippedDesign design(load_architecture("a100-sxm4-80gb").gpu);
  GemmProblem problem{{4096, 4096, 4096}, 1, numerics::DataType::kF16, true};
  problem.pattern = sparsity::Pattern{3, 4};
  const CalibratedKernel chosen = design.kernel(problem, {}, false);
  const CalibratedKernel named = design.kernel(problem, {chosen.kernel.cta_tile, {}, {}}, false);
  EXPECT_EQ(named.kernel.stages, chosen.kernel.stages);
  EXPECT_EQ(named.sm_stretch, chosen.sm_stretch);
  EXPECT_EQ(named.main_loop_stretch, chosen.main_loop_stretch);
}

TEST(Calibration, GrowsWithTheSimulatedTimeAndIsThatOfDramWhereDramIsAllThereIs) {
  auto [calibrated, on_gpu, simulated] = on_a100();
  double before = 0;
  double us = 1;
  for (int step = 0; step < 73; ++step, us *= 1.1) {  // up to a millisecond
    const double now = calibrated.in_sms_us(us, 0, on_gpu, simulated, 1);
    EXPECT_GT(now, before) << us;
    before = now;
  }
  // A thousandth of the DRAM: no main loop stretches what waits for it.
  on_gpu.dram_us *= 1000;
  simulated.dram_us *= 1000;
  const double dram_us = simulated.dram_us + simulated.around_us(1);
  EXPECT_NEAR(calibrated.in_sms_us(dram_us, dram_us, on_gpu, simulated, 1),
              on_gpu.dram_us + on_gpu.around_us(1), 0.001 * dram_us);
}

// Also where DRAM works half of the time, which leaves open how long the SMs do.
TEST(Calibration, FollowsSmallChangesOfTheSimulatedTime) {
  const GpuSpec gpu = load_architecture("t4").gpu;
  const GemmProblem problem{{1920, 2624, 1280}, 1, numerics::DataType::kF16, false};
  const CalibratedKernel calibrated = ShippedDesign(gpu).kernel(problem, {}, false);
  const KernelEstimate on_gpu = estimate(calibrated.kernel, gpu.kernel_target());
  const KernelEstimate simulated = simulated_estimate(calibrated.kernel, gpu.kernel_target());
  const double us = simulated.time_us(1) - simulated.outside_us();
  ASSERT_GT(simulated.dram_beside_us(), 0.4 * us);
  const auto calibrated_us = [&](double simulated_us) {
    return calibrated.in_sms_us(simulated_us, 0.5 * us, on_gpu, simulated, 1);
  };
  EXPECT_GT(calibrated_us(1.01 * us), 1.005 * calibrated_us(us));
  EXPECT_LT(calibrated_us(0.99 * us), 0.995 * calibrated_us(us));
}

TEST(Calibration, DoesNotTakeForWorkOfTheSmsWhatDramDoesMoreThanInClosedForm) {
  const auto [calibrated, on_gpu, simulated] = on_a100();
  const double in_form = on_gpu.time_us(1) - on_gpu.outside_us();
  const double us = 4 * simulated.time_us(1);
  EXPECT_NEAR(calibrated.in_sms_us(us, us, on_gpu, simulated, 1), in_form, 0.02 * in_form);
  EXPECT_GT(calibrated.in_sms_us(us, 0, on_gpu, simulated, 1), 3 * in_form);
}

TEST(Calibration, OfADerivedDesignIsThatOfTheShippedOne) {
  const double shipped = stretch(load_architecture("a100-sxm4-80gb").gpu);
  for (const std::string_view change :
       {R"("sms": {"value": 27, "evidence": "assumed", "source": "x"})",
        R"("sm": {"max_ctas": {"value": 1, "evidence": "assumed", "source": "x"}})",
        R"("memory": {"dram_gb_per_s": {"value": 500, "evidence": "assumed", "source": "x"}})"}) {
    EXPECT_EQ(stretch(derived(std::string(change))), shipped) << change;
  }
}

TEST(Calibration, FollowsTheKernelAndItsLibrary) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  EXPECT_NE(stretch(gpu, kProblem, {GemmShape{64, 64, 32}, {}, {}}), stretch(gpu));
  EXPECT_NE(stretch(derived(R"("kernels": {"whole_wave_percent":
                           {"value": 10, "evidence": "assumed", "source": "x"}})")),
            stretch(gpu));
}

// Measured kernels have the stages of their library: what others do is what the cycles say.
TEST(Calibration, DoesNotKnowHowManyStagesAreNamed) {
  for (const char* const name : {"a100-sxm4-80gb", "rtx3070ti", "rtx4090"}) {
    const ShippedDesign design(load_architecture(name).gpu);
    for (const bool sparse : {false, true}) {
      const GemmProblem problem{{4096, 4096, 4096}, 1, numerics::DataType::kF16, sparse};
      const auto with_stages = [&](int stages) {
        const KernelOverrides named{GemmShape{128, 128, sparse ? 64 : 32}, stages, {}};
        return design.kernel(problem, named, false);
      };
      const CalibratedKernel two = with_stages(2), three = with_stages(3);
      ASSERT_EQ(two.kernel.stages, 2);
      ASSERT_EQ(two.kernel.ctas_per_sm, three.kernel.ctas_per_sm) << name;
      EXPECT_EQ(two.sm_stretch, three.sm_stretch) << name << (sparse ? " 2:4" : " dense");
    }
  }
}

TEST(Calibration, IsNoneWhereTheShippedDesignCannotRunTheLaunch) {
  const KernelOverrides deep{GemmShape{128, 128, 64}, 6, {}};
  EXPECT_THROW(stretch(load_architecture("a100-sxm4-80gb").gpu, kProblem, deep), InputError);
  const GpuSpec large = derived(R"("sm": {
      "shared_memory_bytes": {"value": 400000, "evidence": "assumed", "source": "x"},
      "l1_and_shared_memory_bytes": {"value": 400000, "evidence": "assumed", "source": "x"},
      "max_shared_memory_per_cta_bytes": {"value": 300000, "evidence": "assumed", "source": "x"}})");
  const CalibratedKernel kernel = ShippedDesign(large).kernel(kProblem, deep, false);
  EXPECT_FALSE(kernel.sm_stretch.has_value());
  EXPECT_EQ(kernel.in_sms_us(12.5, 0, {}, {}, 1), 12.5);
}

TEST(Calibration, OfASweptDesignIsThatOfTheDesignThatTheSweepStartsFrom) {
  nlohmann::json document = load_architecture_document("a100-sxm4-80gb");
  set_parameter(document, "/sms", 27, "a sweep");
  const GpuSpec swept = to_architecture(document, "x").gpu;
  EXPECT_EQ(swept.sms, 27);
  EXPECT_EQ(stretch(swept), stretch(load_architecture("a100-sxm4-80gb").gpu));
}

GemmKernel kernel(const GpuSpec& spec, const GemmProblem& problem,
                  const KernelOverrides& overrides = {}) {
  return ShippedDesign(spec).kernel(problem, overrides, false).kernel;
}

double gain_of_best(const GpuSpec& spec, const GemmProblem& problem) {
  const GemmKernel shipped = kernel(load_architecture("a100-sxm4-80gb").gpu, problem);
  const KernelTarget target = spec.kernel_target();
  const GemmKernel kept =
      choose_kernel(problem, {shipped.cta_tile, shipped.stages, shipped.split_k}, target, false);
  return estimate(kept, target).time_us(1) /
         estimate(choose_kernel(problem, {}, target, false), target).time_us(1);
}

TEST(ShippedKernel, StaysOnADerivedDesignThatLittleWouldBeGainedOn) {
  const GpuSpec narrow_port = derived(
      R"("memory": {"sm_port_bytes_per_cycle": {"value": 36, "evidence": "assumed", "source": "x"}})");
  const GemmProblem problem{{2048, 2048, 512}, 1, numerics::DataType::kF16, false};
  EXPECT_GT(gain_of_best(narrow_port, problem), 1);
  EXPECT_LT(gain_of_best(narrow_port, problem), 1.1);
  const GemmKernel shipped = kernel(load_architecture("a100-sxm4-80gb").gpu, problem);
  EXPECT_EQ(kernel(narrow_port, problem).cta_tile, shipped.cta_tile);
}

TEST(ShippedKernel, GivesWayToOneThatGainsMoreOrFits) {
  const GpuSpec quarter_l2 = derived(
      R"("memory": {"l2_bytes_per_cycle": {"value": 900, "evidence": "assumed", "source": "x"}})");
  const GemmProblem problem{{2048, 2048, 512}, 1, numerics::DataType::kF16, false};
  EXPECT_GT(gain_of_best(quarter_l2, problem), 1.1);
  const GemmKernel shipped = kernel(load_architecture("a100-sxm4-80gb").gpu, problem);
  EXPECT_NE(kernel(quarter_l2, problem).cta_tile, shipped.cta_tile);
}

// A kernel takes as long whether the library picked it for a derived design or the user named it.
TEST(Calibration, IsThatOfTheKernelThatRunsChosenOrNamed) {
  const GpuSpec quarter_l2 = derived(
      R"("memory": {"l2_bytes_per_cycle": {"value": 900, "evidence": "assumed", "source": "x"}})");
  const GemmProblem problem{{2048, 2048, 512}, 1, numerics::DataType::kF16, false};
  const GemmKernel chosen = kernel(quarter_l2, problem);
  const KernelOverrides named{chosen.cta_tile, chosen.stages, {}};
  const GpuSpec shipped = load_architecture("a100-sxm4-80gb").gpu;
  EXPECT_NE(stretch(shipped, problem), stretch(shipped, problem, named));
  EXPECT_EQ(stretch(quarter_l2, problem), stretch(quarter_l2, problem, named));
}

// Tiles of one SM and of a pair of them have the same size.
TEST(ShippedKernel, OfAB200StaysOnOneSmOrOnAPair) {
  const GemmProblem problem{{561, 1647, 512}, 1, numerics::DataType::kF16, true};
  const GpuSpec b200 = load_architecture("b200").gpu;
  GpuSpec faster = parse_architecture(
                       R"({"base": "b200", "name": "changed", "memory": {"dram_gb_per_s":
                       {"value": 16000, "evidence": "assumed", "source": "x"}}})",
                       "changed.json")
                       .gpu;
  EXPECT_EQ(kernel(faster, problem).cta_group, kernel(b200, problem).cta_group);
  EXPECT_EQ(kernel(faster, problem).ctas(), kernel(b200, problem).ctas());
  const KernelOverrides named{kernel(b200, problem).cta_tile, {}, {}};
  EXPECT_EQ(kernel(b200, problem, named).cta_group, kernel(b200, problem).cta_group);
}

TEST(ShippedKernel, OfADerivedDesignWithTheSameNumbersIsTheSameWithTheSameCalibration) {
  const GpuSpec shipped = load_architecture("a100-sxm4-80gb").gpu;
  ASSERT_EQ(shipped.fitted_design, nullptr);
  GpuSpec same = shipped;
  same.fitted_design = std::make_shared<const GpuSpec>(shipped);
  for (const bool sparse : {false, true}) {
    for (const GemmShape& shape : {kProblem.shape, GemmShape{8192, 16, 8192}, {97, 101, 103}}) {
      const GemmProblem problem{shape, 1, numerics::DataType::kF16, sparse};
      const CalibratedKernel one = ShippedDesign(shipped).kernel(problem, {}, false);
      const CalibratedKernel other = ShippedDesign(same).kernel(problem, {}, false);
      EXPECT_EQ(one.kernel.cta_tile, other.kernel.cta_tile);
      EXPECT_EQ(one.kernel.stages, other.kernel.stages);
      EXPECT_EQ(one.kernel.split_k, other.kernel.split_k);
      EXPECT_EQ(one.sm_stretch, other.sm_stretch);
      EXPECT_EQ(one.main_loop_stretch, other.main_loop_stretch);
    }
  }
}

TEST(Calibration, OfTheMainLoopIsTheRateOverWhatTheLibraryReachesOfIt) {
  GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  gpu.kernels.whole_wave_percent = 100;
  gpu.kernels.rules.clear();
  for (TileCandidate& tile : gpu.kernels.tiles) {
    tile.main_loop_percent = 80;
  }
  const KernelOverrides tile{GemmShape{128, 128, 32}, {}, {}};
  // One wave, whose CTAs have four warps and are alone on their SMs: 0.933 of the rate in the
  // model, 0.9 on the GPU.
  const GemmProblem problem{{1024, 1024, 4096}, 1, numerics::DataType::kF16, false};
  EXPECT_NEAR(ShippedDesign(gpu).kernel(problem, tile, false).main_loop_stretch,
              0.933 / (0.9 * 0.8), 1e-9);
}

TEST(ShippedKernel, NamedByItsOverridesIsTheSame) {
  const auto expect_same = [](const GpuSpec& gpu, const GemmProblem& problem,
                              const KernelOverrides& overrides) {
    const GemmKernel chosen = kernel(gpu, problem, overrides);
    const GemmKernel named = kernel(gpu, problem, as_overrides(chosen));
    EXPECT_EQ(named.cta_tile, chosen.cta_tile) << gpu.name;
    EXPECT_EQ(named.stages, chosen.stages) << gpu.name;
    EXPECT_EQ(named.split_k, chosen.split_k) << gpu.name;
    EXPECT_EQ(named.decomposition, chosen.decomposition) << gpu.name;
    EXPECT_EQ(named.cta_group, chosen.cta_group) << gpu.name;
  };
  const GemmProblem deep{{256, 256, 16384}, 1, numerics::DataType::kF16, false};
  for (const char* const name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "b200", "t4"}) {
    expect_same(load_architecture(name).gpu, kProblem, {});
    expect_same(load_architecture(name).gpu, deep, {});
  }
  expect_same(load_architecture("a100-sxm4-80gb").gpu, kProblem,
              {GemmShape{128, 128, 32}, {}, {}, Decomposition::kStreamK});
  for (const int sms : {1, 2}) {  // that share an instruction
    expect_same(load_architecture("b200").gpu, kProblem,
                {GemmShape{128, 128, 64}, {}, {}, {}, false, sms});
  }
}

// The kernels that carry values are of mma.sync, where the library may have one of wgmma or
// tcgen05.mma with a tile of that size.
TEST(ShippedKernel, NamedByItsOverridesRunsTheSameInstructions) {
  const KernelOverrides tile{GemmShape{128, 128, 64}, {}, {}};
  for (const char* const name : {"h100-sxm5-80gb", "b200"}) {
    const ShippedDesign design(load_architecture(name).gpu);
    const CalibratedKernel with_values = design.kernel(kProblem, tile, true);
    const CalibratedKernel named = design.kernel(kProblem, as_overrides(with_values.kernel), false);
    EXPECT_FALSE(named.kernel.executed.is_asynchronous()) << name;
    EXPECT_EQ(named.kernel.warp_tile, with_values.kernel.warp_tile) << name;
    EXPECT_EQ(named.sm_stretch, with_values.sm_stretch) << name;
    EXPECT_TRUE(design.kernel(kProblem, tile, false).kernel.executed.is_asynchronous()) << name;
  }
}

TEST(ShippedKernel, IsWhatTheOverridesSay) {
  const KernelOverrides tile{GemmShape{64, 64, 32}, {}, {}};
  EXPECT_EQ(kernel(derived(R"("sms": {"value": 27, "evidence": "assumed", "source": "x"})"),
                   kProblem, tile)
                .cta_tile,
            *tile.cta_tile);
}

}  // namespace
}  // namespace sptc::sim
