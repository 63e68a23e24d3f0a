// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/shipped_design.h"

#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/config/derivation.h"
#include "sim/gemm/kernel_choice.h"
#include "sim/gemm/kernel_estimate.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::sim {
namespace {

constexpr GemmProblem kProblem{{4096, 1024, 4096}, 1, numerics::DataType::kF16, false};

GpuSpec derived(const std::string& change) {
  return parse_architecture(R"({"base": "a100-sxm4-80gb", "name": "changed", )" + change + "}",
                            "changed.json")
      .gpu;
}

double factor(const GpuSpec& spec, const GemmProblem& problem = kProblem,
              const KernelOverrides& overrides = {}) {
  return ShippedDesign(spec)
      .kernel(problem, overrides, false)
      .calibration_factor(spec.boost_clock_mhz);
}

TEST(CalibrationFactor, IsTheRatioOfTheTwoClosedFormsOfTheShippedDesign) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  const KernelTarget target = gpu.kernel_target();
  const GemmKernel kernel = choose_kernel(kProblem, {}, target, false);
  const KernelEstimate on_gpu = estimate(kernel, target);
  const KernelEstimate simulated = simulated_estimate(kernel, target);
  EXPECT_DOUBLE_EQ(factor(gpu), (on_gpu.time_us(1) - on_gpu.outside_us()) /
                                    (simulated.time_us(1) - simulated.outside_us()));
  EXPECT_NE(factor(gpu), 1);
}

TEST(CalibrationFactor, OfADerivedDesignIsThatOfTheShippedOne) {
  const double shipped = factor(load_architecture("a100-sxm4-80gb").gpu);
  for (const std::string_view change :
       {R"("sms": {"value": 27, "evidence": "assumed", "source": "x"})",
        R"("sm": {"max_ctas": {"value": 1, "evidence": "assumed", "source": "x"}})",
        R"("memory": {"dram_gb_per_s": {"value": 500, "evidence": "assumed", "source": "x"}})"}) {
    EXPECT_EQ(factor(derived(std::string(change))), shipped) << change;
  }
}

TEST(CalibrationFactor, FollowsTheKernelAndItsLibrary) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  EXPECT_NE(factor(gpu, kProblem, {GemmShape{64, 64, 32}, {}, {}}), factor(gpu));
  EXPECT_NE(factor(derived(R"("kernels": {"overlap_exponent":
                           {"value": 1.2, "evidence": "assumed", "source": "x"}})")),
            factor(gpu));
}

TEST(CalibrationFactor, IsNoneWhereTheShippedDesignCannotRunTheLaunch) {
  const KernelOverrides deep{GemmShape{128, 128, 64}, 6, {}};
  EXPECT_THROW(factor(load_architecture("a100-sxm4-80gb").gpu, kProblem, deep), InputError);
  EXPECT_EQ(factor(derived(R"("sm": {
      "shared_memory_bytes": {"value": 400000, "evidence": "assumed", "source": "x"},
      "l1_and_shared_memory_bytes": {"value": 400000, "evidence": "assumed", "source": "x"},
      "max_shared_memory_per_cta_bytes": {"value": 300000, "evidence": "assumed", "source": "x"}})"),
                   kProblem, deep),
            1);
}

TEST(CalibrationFactor, OfASweptDesignIsThatOfTheDesignThatTheSweepStartsFrom) {
  nlohmann::json document = load_architecture_document("a100-sxm4-80gb");
  set_parameter(document, "/sms", 27, "a sweep");
  const GpuSpec swept = to_architecture(document, "x").gpu;
  EXPECT_EQ(swept.sms, 27);
  EXPECT_EQ(factor(swept), factor(load_architecture("a100-sxm4-80gb").gpu));
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
  const GpuSpec half_port = derived(
      R"("memory": {"sm_port_bytes_per_cycle": {"value": 32, "evidence": "assumed", "source": "x"}})");
  const GemmProblem problem{{2048, 2048, 512}, 1, numerics::DataType::kF16, false};
  EXPECT_GT(gain_of_best(half_port, problem), 1);
  EXPECT_LT(gain_of_best(half_port, problem), 1.1);
  const GemmKernel shipped = kernel(load_architecture("a100-sxm4-80gb").gpu, problem);
  EXPECT_EQ(kernel(half_port, problem).cta_tile, shipped.cta_tile);
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
TEST(CalibrationFactor, IsThatOfTheKernelThatRunsChosenOrNamed) {
  const GpuSpec quarter_l2 = derived(
      R"("memory": {"l2_bytes_per_cycle": {"value": 900, "evidence": "assumed", "source": "x"}})");
  const GemmProblem problem{{2048, 2048, 512}, 1, numerics::DataType::kF16, false};
  const GemmKernel chosen = kernel(quarter_l2, problem);
  const KernelOverrides named{chosen.cta_tile, chosen.stages, {}};
  const GpuSpec shipped = load_architecture("a100-sxm4-80gb").gpu;
  EXPECT_NE(factor(shipped, problem), factor(shipped, problem, named));
  EXPECT_EQ(factor(quarter_l2, problem), factor(quarter_l2, problem, named));
}

// The same clock, as an option or as the boost clock of a design.
TEST(CalibrationFactor, OfAClockIsThatOfADesignWithThatBoostClock) {
  const GpuSpec shipped = load_architecture("a100-sxm4-80gb").gpu;
  const GpuSpec fast =
      derived(R"("boost_clock_mhz": {"value": 2820, "evidence": "assumed", "source": "x"})");
  const double as_option =
      ShippedDesign(shipped).kernel(kProblem, {}, false).calibration_factor(2820);
  EXPECT_EQ(factor(fast), as_option);
  EXPECT_NE(factor(shipped), as_option);
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

TEST(ShippedKernel, IsWhatTheOverridesSay) {
  const KernelOverrides tile{GemmShape{64, 64, 32}, {}, {}};
  EXPECT_EQ(kernel(derived(R"("sms": {"value": 27, "evidence": "assumed", "source": "x"})"),
                   kProblem, tile)
                .cta_tile,
            *tile.cta_tile);
}

}  // namespace
}  // namespace sptc::sim
