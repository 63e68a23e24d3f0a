// SPDX-License-Identifier: Apache-2.0
// Without values the tensor core says at once when an instruction is done, loads are answered
// early, and the scheduler sleeps through what nobody sees. None of that may move a cycle: the same
// programs run on an SM whose wires are tapped, where every token travels.
#include "tests/timing/sm_harness.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sptc::timing {
namespace {

using numerics::DataType;

/// The A100, and SMs on which another limit binds.
std::vector<std::pair<std::string, gpu::GpuSpec>> designs() {
  std::vector<std::pair<std::string, gpu::GpuSpec>> all;
  const auto with = [&](const std::string& name, auto change) {
    gpu::GpuSpec spec = support::gpu_with_sms("a100-sxm4-80gb", 1);
    change(spec.sm);
    all.emplace_back(name, spec);
  };
  with("a100", [](sm::SmSpec&) {});
  with("narrow B port", [](sm::SmSpec& sm) { sm.tensor_core.operand_b_port_bytes_per_cycle = 20.6; });
  with("narrow metadata port", [](sm::SmSpec& sm) { sm.tensor_core.metadata_port_bytes_per_cycle = 5.3; });
  with("window of one", [](sm::SmSpec& sm) { sm.tensor_core.instruction_window = 1; });
  with("narrow selector", [](sm::SmSpec& sm) { sm.tensor_core.selector_bytes_per_cycle /= 3; });
  with("slow rounding", [](sm::SmSpec& sm) { sm.tensor_core.round_latency_cycles += 9; });
  with("slow shared memory", [](sm::SmSpec& sm) {
    sm.shared_memory_latency_cycles = 2;
    sm.shared_memory_wavefront_cycles = 7;
  });
  with("two issues per cycle", [](sm::SmSpec& sm) { sm.issue_per_cycle = 2; });
  with("slow change of selectors", [](sm::SmSpec& sm) { sm.tensor_core.selector_change_cycles = 11; });
  with("no gap", [](sm::SmSpec& sm) { sm.tensor_core.same_warp_gap_cycles = 0; });
  return all;
}

/// A loop of matrix instructions, loads and barriers in random order, on few registers, so that
/// they wait for each other in every way.
isa::WarpProgram random_program(const KernelParts& parts, std::uint64_t seed) {
  const base::RandomStream random(seed);
  std::uint64_t index = 0;
  const auto below = [&](std::uint64_t bound) { return static_cast<int>(random.bits(index++) % bound); };
  const Registers registers(parts.map);
  isa::WarpProgram program;
  program.registers_per_thread = kHarnessRegisters;
  program.iterations = 3 + below(5);
  const auto add = [&](std::vector<isa::WarpInstruction>& code, int count) {
    for (int i = 0; i < count; ++i) {
      const int kind = below(16);
      if (kind == 0) {
        code.push_back(barrier());
      } else if (kind < 4) {
        code.push_back(load_into(kind == 1 ? registers.a() : registers.b()));
        code.back().conflict_ways = static_cast<std::uint8_t>(1 + below(3));
      } else if (kind == 4) {
        code.push_back(load_into(registers.accumulator(below(4))));
      } else {
        // Runs, as kernels have them.
        const int run = kind > 10 ? 1 + below(20) : 1;
        for (int j = 0; j < run; ++j) {
          code.push_back(mma_into(parts, below(kind > 7 ? 12 : 3)));
          code.back().selector = static_cast<std::uint8_t>(kind % 2 == 0 ? 0 : below(2));
        }
      }
    }
  };
  add(program.prologue, below(6));
  add(program.loop, 4 + below(20));
  add(program.epilogue, below(6));
  program.epilogue.push_back(store_of(registers.accumulator(0)));
  return program;
}

class Pair {
 public:
  Pair(const std::string& name, const gpu::GpuSpec& spec)
      : clock_(spec.boost_clock_mhz),
        elided_((name + "_elided").c_str(), clock_, spec),
        tapped_((name + "_tapped").c_str(), clock_, spec) {
    for (const auto& partition : tapped_.sms().front()->sub_partitions) {
      partition->tensor_core.products.set_tap([this](tensor_core::ProductsToken&) { ++tokens_; });
    }
  }

  void expect_equal(const sm::KernelLaunch& launch, const std::string& name) {
    const std::int64_t before = tokens_;
    const gpu::GridRun elided = elided_.run(launch);
    EXPECT_EQ(tokens_, before) << name;
    const gpu::GridRun tapped = tapped_.run(launch);
    EXPECT_GT(tokens_, before) << name;
    EXPECT_EQ(elided.cycles, tapped.cycles) << name;
    EXPECT_EQ(elided.stalls.of, tapped.stalls.of) << name;
    ASSERT_EQ(elided.ctas.front().size(), tapped.ctas.front().size()) << name;
    for (std::size_t i = 0; i < elided.ctas.front().size(); ++i) {
      EXPECT_EQ(elided.ctas.front()[i].cta, tapped.ctas.front()[i].cta) << name;
      EXPECT_EQ(elided.ctas.front()[i].end_cycle, tapped.ctas.front()[i].end_cycle) << name;
    }
    const tensor_core::Activity one = elided_.activity(), other = tapped_.activity();
    EXPECT_EQ(one.instructions, other.instructions) << name;
    EXPECT_EQ(one.executed_macs, other.executed_macs) << name;
    EXPECT_EQ(one.selected_by_metadata, other.selected_by_metadata) << name;
    EXPECT_EQ(one.operand_b_bytes, other.operand_b_bytes) << name;
    EXPECT_EQ(one.metadata_bytes, other.metadata_bytes) << name;
    EXPECT_EQ(one.shared_memory_bytes, other.shared_memory_bytes) << name;
    EXPECT_DOUBLE_EQ(one.selector_busy_cycles, other.selector_busy_cycles) << name;
    EXPECT_DOUBLE_EQ(one.multiplier_busy_cycles, other.multiplier_busy_cycles) << name;
  }

 private:
  base::Clock clock_;
  gpu::Gpu elided_, tapped_;
  std::int64_t tokens_ = 0;
};

TEST(Elided, RandomProgramsTakeTheSameCyclesAsWithAllTokens) {
  const auto all = designs();
  std::vector<std::unique_ptr<Pair>> pairs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    pairs.push_back(std::make_unique<Pair>("design" + std::to_string(i), all[i].second));
  }
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  std::uint64_t seed = 0;
  for (const mma::MmaInstruction& which : {instruction(DataType::kF16, 16), instruction(DataType::kF16, 32, true),
                                           instruction(DataType::kTf32, 8), instruction(DataType::kS8, 32)}) {
    const KernelParts parts(which);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      for (const int warps : {1, 4, 9}) {
        const isa::WarpProgram program = random_program(parts, ++seed);
        pairs[i]->expect_equal(parts.launch(program, nullptr, warps, 5, 2),
                               all[i].first + ", " + which.ptx_name() + ", seed " + std::to_string(seed));
      }
    }
  }
}

}  // namespace
}  // namespace sptc::timing
