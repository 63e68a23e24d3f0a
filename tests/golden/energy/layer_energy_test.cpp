// SPDX-License-Identifier: Apache-2.0
//
// The energy breakdown of one layer, dense and 2:4, recomputed by hand: f16, 256 x 128 x 128, with
// a table of round numbers. Every expected figure is count x (fixed + (1 - fixed) x switching) x pJ
// x (0.85 V / 0.75 V)^2, HBM without the voltage; the counts:
//
//   dense: 4,194,304 MACs in 2,048 m16n8k16: A 512, B 256, C and D 512 bytes each from and to
//   registers; 2:4: half the MACs in 1,024 m16n8k32: B 512 bytes, 128 of metadata, one selection a
//   MAC. 4 bytes latched a MAC, 8 MACs a rounding; one f32 FMA, 4 bytes and 2/32 instructions an
//   element of D; one instruction for 512 bytes to or from shared memory.
#include "sim/run/energy.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace sptc::golden {
namespace {

struct Row {
  energy::Event event;
  double pj, fixed_share;
};
using enum energy::Event;
constexpr Row kTable[] = {
    {kMultiply, 0.3, 0.1},          {kAlignAdd, 0.2, 0.2},          {kRound, 0.4, 0.2},
    {kOperandSelect, 0.05, 0.25},   {kOperandLatch, 0.06, 0.2},     {kMetadataRead, 0.25, 0.5},
    {kRegisterRead, 0.3, 0.4},      {kRegisterWrite, 0.35, 0.4},    {kSharedMemoryRead, 1.2, 0.5},
    {kSharedMemoryWrite, 1.5, 0.5}, {kL2Access, 2.0, 0.5},          {kInterconnect, 8.0, 0.25},
    {kHbmAccess, 90.0, 0.75},       {kInstructionIssue, 50.0, 1.0}, {kCudaCoreFma, 1.5, 0.2},
};

energy::PowerSpec table_of_round_numbers() {
  energy::PowerSpec spec;
  spec.table.supply_volts = 0.75;
  for (const Row& row : kTable) {
    const std::size_t index = energy::index_of(row.event);
    spec.table.event_pj[index] = row.pj;
    spec.table.typed_pj[numerics::DataType::kF16][index] = row.pj;
    spec.table.fixed_share[index] = row.fixed_share;
  }
  spec.curve = energy::VoltageCurve({{1000, 0.85}});
  spec.static_power = {30, 0.3, 0.2, 0.9, 80};
  spec.sms = 100;
  spec.dot_width_bytes = 16;
  return spec;
}

void expect_breakdown(bool sparse, double time_us, const kernels::MemoryTraffic& traffic,
                      const std::map<std::string, double>& expected_uj, double total_uj) {
  workload::Operation layer;
  layer.shape = {256, 128, 128};
  run::VariantResult figures;
  figures.kernel.instruction = mma::gemm_instruction(numerics::DataType::kF16, sparse);
  figures.kernel.metadata_registers = 1;
  figures.timing.executed_share = sparse ? 0.5 : 1;
  figures.timing.clock_mhz = 1000;
  figures.timing.time_us = time_us;
  figures.traffic.memory = traffic;
  figures.timing.budget.tensor = 2;  // of the busiest SM; the mean of all has half: 50 SMs work
  figures.timing.budget.tensor_mean = 1;
  const energy::Switching switching{0.9, 0.5, 0.4, 0.6, 0.8};
  run::add_energy(layer, sparse, table_of_round_numbers(), switching, run::SimulationOptions{}, {}, figures);
  ASSERT_TRUE(figures.energy);
  for (const auto& [part, uj] : figures.energy->parts_uj) {
    const auto expected = expected_uj.find(std::string(part));
    EXPECT_NEAR(uj, expected == expected_uj.end() ? 0 : expected->second, 1e-8) << part;
  }
  EXPECT_NEAR(figures.energy->total_uj, total_uj, 1e-7);
}

TEST(LayerEnergy, OfTheDenseLayerIsThatComputedByHand) {
  expect_breakdown(false, 4, {{131072, 65536, 90000, 65536}, 1048576, 131072},
                   {{"multiply", 0.743454365},
                    {"align_add", 0.732679664},
                    {"round", 0.22626872},
                    {"operand_latch", 0.982652726},
                    {"register_read", 0.921236931},
                    {"register_write", 0.801368383},
                    {"shared_memory_read", 1.37377437},
                    {"shared_memory_write", 0.214652245},
                    {"l2", 0.768925988},
                    {"interconnect", 1.565698731},
                    {"hbm", 12.948372},
                    {"instruction_issue", 0.411022222},
                    {"cuda_core_fma", 0.053031731},
                    {"leakage", 53.518518519},
                    {"idle_sms", 35.679012346},
                    {"constant", 120},
                    {"board", 80}},
                   310.940668939);
}

TEST(LayerEnergy, OfTheTwoToFourLayerIsThatComputedByHand) {
  expect_breakdown(true, 2.5, {{81920, 65536, 60000, 65536}, 655360, 81920},
                   {{"multiply", 0.371727183},
                    {"align_add", 0.366339832},
                    {"round", 0.11313436},
                    {"operand_select", 0.084177351},
                    {"operand_latch", 0.491326363},
                    {"metadata_read", 0.042088676},
                    {"register_read", 0.553550261},
                    {"register_write", 0.449001991},
                    {"shared_memory_read", 0.858608981},
                    {"shared_memory_write", 0.134157653},
                    {"l2", 0.596093198},
                    {"interconnect", 1.174274048},
                    {"hbm", 10.450872},
                    {"instruction_issue", 0.289770667},
                    {"cuda_core_fma", 0.053031731},
                    {"leakage", 33.449074074},
                    {"idle_sms", 22.299382716},
                    {"constant", 75},
                    {"board", 50}},
                   196.776611085);
}

}  // namespace
}  // namespace sptc::golden
