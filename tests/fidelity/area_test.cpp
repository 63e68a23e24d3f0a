// SPDX-License-Identifier: Apache-2.0
//
// The area model against what photographs of dies show.
#include "sim/config/architecture.h"
#include "sim/config/energy.h"

#include <gtest/gtest.h>

namespace sptc::fidelity {
namespace {

TEST(TensorCoreArea, LiesBelowTheTensorCoresOfTuringOnPhotographsAndWithinAnOrderOfIt) {
  // TU106 against TU116, which has no tensor cores: 1.25 of the 10.89 mm2 of a TPC (two SMs), from
  // photographs of both dies (Hardwareluxx, 2019), for 2 x 512 f16 multiply-adds per cycle.
  constexpr double kTuringUm2 = 1.25e6 / (2 * 512);
  // TSMC: N7 has 3.3 times the density of 16FF+, of which 12FFN is a variant.
  constexpr double kAt7nm = kTuringUm2 / 3.3;
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  const energy::TensorCoreShape shape = config::tensor_core_shape(gpu.sm.tensor_core);
  const energy::TensorCoreArea area = tensor_core_area(shape, config::load_energy("a100-sxm4-80gb").config.area);
  const double per_multiplier = area.total_um2() / (shape.dot_units * shape.products_per_unit);
  RecordProperty("um2_per_multiplier", std::to_string(per_multiplier));
  // Elements without wiring, control and the integer formats: below what the die shows, with every
  // number at the high end of its range too.
  const config::LoadedEnergy loaded = config::load_energy("a100-sxm4-80gb");
  const auto at = [&](double config::EnergyParameter::*end) {
    return tensor_core_area(shape, loaded.area_at(end)).total_um2() / (shape.dot_units * shape.products_per_unit);
  };
  const double low = at(&config::EnergyParameter::low);
  const double high = at(&config::EnergyParameter::high);
  RecordProperty("um2_low", std::to_string(low));
  RecordProperty("um2_high", std::to_string(high));
  EXPECT_LT(low, per_multiplier);
  EXPECT_LT(per_multiplier, high);
  EXPECT_LT(high, kAt7nm);
  EXPECT_GT(high, 0.5 * kAt7nm);
  EXPECT_GT(per_multiplier, 0.25 * kAt7nm);
  // 826 mm2 (NVIDIA): tensor cores are a small part of GA100, by either figure.
  const double cores = double{1} * gpu.sms * gpu.sm.sub_partitions;
  EXPECT_LT(cores * area.total_um2() * 1e-6, 0.1 * 826);
}

}  // namespace
}  // namespace sptc::fidelity
