// SPDX-License-Identifier: Apache-2.0
//
// The boards of configs/ against their data sheets.
#include "sim/config/architecture.h"
#include "sim/config/energy.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace sptc::config {
namespace {

TEST(Boards, GeForceBoardsAddInF32AtHalfTheRateAndOthersAtTheWholeOne) {
  for (const std::string& name : architecture_names()) {
    const tensor_core::TensorCoreSpec& core = load_architecture(name).gpu.sm.tensor_core;
    const bool geforce = name.starts_with("rtx") && !name.starts_with("rtx-");
    EXPECT_EQ(core.dot_units, core.f32_dot_units * (geforce ? 2 : 1)) << name;
  }
}

TEST(Boards, BoardsOfOneChipDifferInWhatTheirDataSheetsSay) {
  const gpu::GpuSpec sxm = load_architecture("a100-sxm4-80gb").gpu;
  for (const auto& [name, gb_per_s] :
       {std::pair("a100-pcie-80gb", 1935.0), {"a100-pcie-40gb", 1555.0}, {"a100-sxm4-40gb", 1555.0}}) {
    const gpu::GpuSpec board = load_architecture(name).gpu;
    EXPECT_EQ(board.memory.dram_gb_per_s, gb_per_s) << name;
    EXPECT_EQ(board.sms, sxm.sms);
    EXPECT_EQ(board.fitted_design, nullptr) << name;
  }
  EXPECT_EQ(load_architecture("a30").gpu.memory.l2_capacity, base::Bytes(24 << 20));
  EXPECT_EQ(load_architecture("l4").gpu.memory.l2_capacity, base::Bytes(48 << 20));
  EXPECT_EQ(load_architecture("rtx3090").gpu.memory.l2_capacity, base::Bytes(6 << 20));
  EXPECT_EQ(load_architecture("rtx5080").gpu.memory.l2_capacity, base::Bytes(64 << 20));
}

TEST(Boards, IntegersOfTheB300AreNearlyAbsent) {
  const auto units = [](const char* name, numerics::DataType sums) {
    return load_architecture(name).gpu.sm.tensor_core.units(sums, false);
  };
  for (const char* const name : {"b300", "gb300"}) {
    EXPECT_EQ(units(name, numerics::DataType::kF32), 32 * units(name, numerics::DataType::kS32));
  }
  EXPECT_EQ(units("b200", numerics::DataType::kF32), units("b200", numerics::DataType::kS32));
}

TEST(Boards, HaveEnergiesAndThePowerLimitOfItsDataSheet) {
  const std::map<std::string, double> limits{{"a100-pcie-40gb", 250},
                                             {"a100-pcie-80gb", 300},
                                             {"a100-sxm4-40gb", 400},
                                             {"a100-sxm4-80gb", 400},
                                             {"a10", 150},
                                             {"a30", 165},
                                             {"a40", 300},
                                             {"b200", 1000},
                                             {"b300", 1400},
                                             {"gb200", 1200},
                                             {"gb300", 1400},
                                             {"h100-pcie", 350},
                                             {"h100-sxm5-80gb", 700},
                                             {"h20", 400},
                                             {"h200-sxm", 700},
                                             {"h800-pcie", 350},
                                             {"jetson-agx-orin-64gb", 60},
                                             {"jetson-agx-orin-64gb-30w", 30},
                                             {"jetson-agx-orin-64gb-50w", 50},
                                             {"jetson-agx-thor", 130},
                                             {"l20", 275},
                                             {"l4", 72},
                                             {"l40s", 350},
                                             {"rtx-a6000", 300},
                                             {"rtx-pro-6000-blackwell", 600},
                                             {"rtx-pro-6000-blackwell-maxq", 300},
                                             {"rtx2080ti", 250},
                                             {"rtx3060", 170},
                                             {"rtx3070ti", 290},
                                             {"rtx3090", 350},
                                             {"rtx4090", 450},
                                             {"rtx5070ti", 300},
                                             {"rtx5080", 360},
                                             {"rtx5090", 575},
                                             {"t4", 70},
                                             {"v100-sxm2-16gb", 300}};
  for (const std::string& name : architecture_names()) {
    const energy::PowerSpec power = power_spec(load_energy(name).config, load_architecture(name).gpu);
    const auto mig = name.find("-mig-");
    const double limit = limits.at(name.substr(0, mig));
    const double sevenths = mig == std::string::npos ? 7 : name[mig + 5] - '0';
    EXPECT_NEAR(power.power_limit_w / (limit * sevenths / 7), 1, 1e-4) << name;
    EXPECT_LT(idle_w(power), power.power_limit_w) << name;
  }
}

}  // namespace
}  // namespace sptc::config
