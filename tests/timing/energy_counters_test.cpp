// SPDX-License-Identifier: Apache-2.0
//
// The events that the energy model counts in closed form are those that the simulated blocks count.
#include "sim/config/architecture.h"
#include "sim/run/energy.h"
#include "sim/run/kernel_runner.h"
#include "sim/run/systemc_timer.h"

#include <gtest/gtest.h>

namespace sptc::timing {
namespace {

using energy::Event;

void expect_equal_counters(bool sparse) {
  const config::Architecture a100 = config::load_architecture("a100-sxm4-80gb");
  run::SimulationOptions options;
  options.extrapolate = false;
  run::SystemCTimer timer(a100.gpu, options);
  run::KernelRunner kernels(a100.gpu, options, timer);
  workload::Operation op;
  op.name = "layer";
  op.shape = {200, 136, 192};  // with padding
  op.prunable = true;
  const run::VariantResult figures = kernels.time(op, sparse);
  ASSERT_TRUE(figures.traffic.activity);
  ASSERT_GT(figures.timing.padding, 0);
  const tensor_core::Activity& seen = *figures.traffic.activity;
  const energy::EventCounts counts = run::launch_events(op, sparse, figures, {}, 16);
  const auto near = [](double value) { return 1e-9 * value; };
  const auto macs = static_cast<double>(seen.executed_macs);
  EXPECT_NEAR(counts.count(Event::kMultiply), macs, near(macs));
  const double outputs = 4.0 * 200 * 136;
  const auto read = static_cast<double>(seen.operand_a_bytes + seen.operand_b_bytes + seen.accumulator_bytes);
  EXPECT_NEAR(counts.count(Event::kRegisterRead), read + outputs, near(read));
  const auto metadata = static_cast<double>(seen.metadata_bytes);
  EXPECT_NEAR(counts.count(Event::kMetadataRead), metadata, near(metadata));
  const auto selected = static_cast<double>(seen.selected_by_metadata);
  EXPECT_NEAR(counts.count(Event::kOperandSelect), selected, near(selected));
  const auto fragments = static_cast<double>(seen.shared_memory_bytes);
  EXPECT_NEAR(counts.count(Event::kSharedMemoryRead), fragments, near(fragments));
  EXPECT_EQ(selected > 0, sparse);
}

TEST(EnergyCounters, OfADenseLaunchAreThoseOfTheSimulatedBlocks) {
  expect_equal_counters(false);
}

TEST(EnergyCounters, OfASparseLaunchAreThoseOfTheSimulatedBlocks) {
  expect_equal_counters(true);
}

}  // namespace
}  // namespace sptc::timing
