// SPDX-License-Identifier: Apache-2.0
#include "sim/run/design_cost.h"

#include "sim/config/architecture.h"
#include "sim/config/architecture_fields.h"
#include "sim/config/energy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace sptc::run {
namespace {

using numerics::DataType;

const config::Architecture& a100() {
  static const config::Architecture architecture = config::load_architecture("a100-sxm4-80gb");
  return architecture;
}

gpu::GpuSpec with(std::string_view key, double value) {
  gpu::GpuSpec gpu = a100().gpu;
  for (const config::ArchitectureField& field : config::architecture_fields()) {
    if (field.key == key) {
      field.store(gpu, value);
    }
  }
  return gpu;
}

double value_of(std::string_view key) {
  const auto found =
      std::ranges::find_if(a100().parameters, [&](const config::Parameter& parameter) {
        return parameter.pointer.ends_with("/" + std::string(key));
      });
  return found->value;
}

double area(const gpu::GpuSpec& gpu) {
  static const energy::AreaTable table = config::load_energy("a100-sxm4-80gb").config.area;
  return gpu_area(gpu, table).total_mm2();
}

TEST(DesignCost, OfTheHardwareIsOne) {
  for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
    const DesignCost cost = design_cost(a100().gpu, type);
    EXPECT_EQ(cost.align_add, 1);
    EXPECT_EQ(cost.round, 1);
    EXPECT_EQ(cost.rounds, 1);
    EXPECT_EQ(cost.operand_select, 1);
  }
}

TEST(DesignCost, FollowsTheWidthOfAddersAndTheNumberOfRoundings) {
  // 24 fraction bits, sign, two integer bits, and 4 for the carries of 8 + 1 addends.
  const DesignCost narrow = design_cost(with("accumulator_fraction_bits", 12), DataType::kF16);
  EXPECT_DOUBLE_EQ(narrow.align_add, (12 + 3 + 4) / double{24 + 3 + 4});
  EXPECT_DOUBLE_EQ(narrow.rounds, 1);
  const DesignCost wide = design_cost(with("accumulator_step_bytes", 32), DataType::kF16);
  EXPECT_DOUBLE_EQ(wide.rounds, 0.5);
  EXPECT_DOUBLE_EQ(wide.align_add, (24 + 3 + 5) / double{24 + 3 + 4});
  EXPECT_DOUBLE_EQ(design_cost(with("accumulator_fraction_bits", 12), DataType::kS8).align_add, 1)
      << "sums of integers are exact";
  EXPECT_DOUBLE_EQ(design_cost(with("selector_inputs", 8), DataType::kF16).operand_select, 2);
}

// Every number of an architecture: whether more of it takes more silicon.
TEST(GpuArea, GrowsWithWhatIsSiliconAndWithNothingElse) {
  const std::map<std::string, std::pair<double, char>, std::less<>> expected{
      {"sms", {120, '>'}},
      {"sub_partitions", {8, '>'}},
      {"registers", {131072, '>'}},
      {"shared_memory_bytes", {262144, '>'}},
      {"dot_units", {64, '>'}},
      {"dot_width_bytes", {32, '>'}},
      {"selector_inputs", {8, '>'}},
      {"selector_kept", {1, '>'}},  // more candidates for each multiplier
      {"mma_m", {32, '>'}},         // its metadata is held
      {"mma_k_bytes", {64, '>'}},
      {"accumulator_fraction_bits", {28, '>'}},
      {"accumulator_step_bytes", {8, '>'}},  // narrower adders, but twice the rounders
      {"instruction_window", {8, '>'}},
      {"l2_capacity_bytes", {83886080, '>'}}};
  const double usual = area(a100().gpu);
  EXPECT_GT(usual, 0);
  for (const config::ArchitectureField& field : config::architecture_fields()) {
    const auto found = expected.find(field.key);
    if (found == expected.end()) {
      EXPECT_EQ(area(with(field.key, 2 * std::max(1.0, value_of(field.key)))), usual) << field.key;
    } else {
      const auto& [value, direction] = found->second;
      const double changed = area(with(field.key, value));
      EXPECT_GT(direction == '>' ? changed - usual : usual - changed, 0) << field.key;
    }
  }
}

TEST(WeightsExecution, IsTheHardwaresWhereNothingIsAskedFor) {
  const sparsity::PatternExecution tf32 = weights_execution({}, DataType::kTf32, a100().gpu);
  EXPECT_EQ(tf32.instruction, (sparsity::Pattern{1, 2, 1}));
  EXPECT_EQ(tf32.executed_k(7), 8);
}

TEST(GpuArea, OfASelectorByHand) {
  const energy::AreaTable table = config::load_energy("a100-sxm4-80gb").config.area;
  const energy::TensorCoreArea core = gpu_area(a100().gpu, table).tensor_core;
  const double mux = 16 * table.mux_um2_per_input_bit, bit = table.flip_flop_um2;
  // Four instructions of 16 x 16 kept elements with indices of two bits are in the core.
  EXPECT_DOUBLE_EQ(core.selector_um2 + core.metadata_um2,
                   256 * 4 * mux + 256 * 16 * bit + 4 * 512 * bit);
}

}  // namespace
}  // namespace sptc::run
