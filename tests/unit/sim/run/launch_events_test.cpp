// SPDX-License-Identifier: Apache-2.0
#include "sim/run/energy.h"
#include "tests/unit/sim/run/energy_fixture.h"

namespace sptc::run {
namespace {

using energy::Event;
using energy::Switching;
using numerics::DataType;

TEST(LaunchEvents, OfADenseLayerAreThoseCountedByHand) {
  const energy::EventCounts counts = launch_events(layer(), false, figures(), {}, 16);
  constexpr double kMacs = 128 * 128 * 64;
  constexpr double kInstructions = kMacs / (16 * 8 * 16);
  constexpr double kOutputs = 128 * 128;
  EXPECT_DOUBLE_EQ(counts.count(Event::kMultiply), kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kAlignAdd), kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kRound), kMacs / 8);
  EXPECT_DOUBLE_EQ(counts.count(Event::kOperandLatch), 4 * kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kOperandSelect), 0);
  EXPECT_DOUBLE_EQ(counts.count(Event::kMetadataRead), 0);
  EXPECT_DOUBLE_EQ(counts.count(Event::kRegisterRead),
                   kInstructions * (512 + 256 + 512) + 4 * kOutputs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kRegisterWrite), kInstructions * 512 + 65536);
  EXPECT_DOUBLE_EQ(counts.count(Event::kSharedMemoryRead), 65536);
  EXPECT_DOUBLE_EQ(counts.count(Event::kSharedMemoryWrite), 32768);
  EXPECT_DOUBLE_EQ(counts.count(Event::kInterconnect), 32000);
  EXPECT_DOUBLE_EQ(counts.count(Event::kL2Access), 32000 + 12000);
  EXPECT_DOUBLE_EQ(counts.count(Event::kHbmAccess), 12000);
  EXPECT_DOUBLE_EQ(counts.count(Event::kCudaCoreFma), kOutputs);
}

TEST(LaunchEvents, TwoToFourHalvesTheMultiplicationsAndAddsSelectionAndMetadata) {
  const energy::EventCounts counts = launch_events(layer(), true, figures(true), {}, 16);
  constexpr double kMacs = 128 * 128 * 64 / 2;
  constexpr double kInstructions = kMacs / (16 * 8 * 16);
  EXPECT_DOUBLE_EQ(counts.count(Event::kMultiply), kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kOperandSelect), kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kMetadataRead), kInstructions * 128);
  // B doubles per instruction: 512 + 512 + 512 bytes.
  EXPECT_DOUBLE_EQ(counts.count(Event::kRegisterRead), kInstructions * 1536 + 4 * 128 * 128);
}

TEST(LaunchEvents, OfWgmmaTakeBothOperandsFromSharedMemory) {
  VariantResult hopper = figures(true);
  hopper.kernel.instruction = mma::parse_instruction("wgmma.sp.m64n128k32.f32.f16.f16");
  hopper.traffic.memory.shared_memory_read = 0;
  hopper.traffic.memory.shared_memory_multiplied = 1 << 20;  // counted by instructions
  const energy::EventCounts counts = launch_events(layer(), true, hopper, {}, 32);
  constexpr double kMacs = 128 * 128 * 64 / 2;
  constexpr double kInstructions = kMacs / (64 * 128 * 16);
  constexpr double kAccumulators = 64 * 128 * 4;
  constexpr double kOutputs = 128 * 128;
  // A: 64 rows of 16 kept elements; B: 128 columns of all 32.
  EXPECT_DOUBLE_EQ(counts.count(Event::kSharedMemoryRead),
                   kInstructions * 2 * (64 * 16 + 128 * 32));
  EXPECT_DOUBLE_EQ(counts.count(Event::kRegisterRead),
                   kInstructions * kAccumulators + 4 * kOutputs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kRegisterWrite), kInstructions * kAccumulators);
  EXPECT_DOUBLE_EQ(counts.count(Event::kOperandLatch), 4 * kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kRound), kMacs / 16);  // 32 bytes of f16 per step
  EXPECT_DOUBLE_EQ(counts.count(Event::kMetadataRead), kInstructions * 4 * 128);
  // Four warps issue each instruction; the TMA copies tiles.
  EXPECT_DOUBLE_EQ(counts.count(Event::kInstructionIssue), kInstructions * 4 + 2 * kOutputs / 32);
}

TEST(LaunchEvents, EveryEventOfTheTableHappensInASparseLaunch) {
  const energy::EventCounts counts = launch_events(layer(), true, figures(true), {}, 16);
  for (const energy::EventInfo& row : energy::kEvents) {
    EXPECT_GT(counts.count(row.event), 0) << row.name;
  }
}

TEST(LaunchEvents, PaddingIsExecutedButMovesNoWire) {
  VariantResult padded = figures();
  padded.timing.padding = 0.5;
  const energy::EventCounts counts = launch_events(layer(), false, padded, {}, 16);
  EXPECT_DOUBLE_EQ(counts.count(Event::kMultiply), 2.0 * 128 * 128 * 64);
  EXPECT_DOUBLE_EQ(counts.switched(Event::kMultiply), 1.0 * 128 * 128 * 64);
}

TEST(SwitchingSource, SeesTheDistributionOfTheOperands) {
  const auto of = [](workload::DataKind kind, bool sparse) {
    const GeneratedData data(kind, 3);
    return SwitchingSource(data).of(layer(), sparse);
  };
  const Switching random = of(workload::DataKind::kRandom, false);
  EXPECT_NEAR(random.operand_a, 1, 0.03);
  EXPECT_NEAR(random.products, 1, 0.03);
  const Switching relu = of(workload::DataKind::kRelu, false);
  EXPECT_LT(relu.products, 0.75);
  EXPECT_NEAR(relu.operand_a, 1, 0.03);
  EXPECT_LT(of(workload::DataKind::kIntegers, false).products, 0.2);
  EXPECT_EQ(of(workload::DataKind::kZeros, true).operand_b, 0);
  // Pruning keeps the larger of each four: no zeros among them, mantissas as random as before.
  EXPECT_NEAR(of(workload::DataKind::kRandom, true).products, 1, 0.1);
}

TEST(SwitchingSource, ZeroWeightsOfAFileStillTheProducts) {
  kernels::GemmOperands operands;
  operands.a = base::Matrix<numerics::Word>(2, 64, 0);
  operands.b_columns = base::Matrix<numerics::Word>(2, 64);
  for (std::size_t k = 0; k < 64; ++k) {
    operands.b_columns(0, k) = operands.b_columns(1, k) =
        numerics::from_double(static_cast<double>(k % 7) + 1, DataType::kF16);
  }
  const Switching switching = switching_of(operands, DataType::kF16, false);
  EXPECT_EQ(switching.operand_a, 0);
  EXPECT_EQ(switching.products, 0);
  EXPECT_GT(switching.operand_b, 0);
}

}  // namespace
}  // namespace sptc::run
