// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/random.h"
#include "models/mma/step_rules.h"
#include "sim/gpu/gpu.h"
#include "tests/support/gemm_grid.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sptc::timing {

/// The A100 with one SM of one sub-partition: every warp of a test shares one scheduler and one
/// tensor core.
inline gpu::GpuSpec one_sub_partition() {
  gpu::GpuSpec spec = support::gpu_with_sms("a100-sxm4-80gb", 1);
  spec.sm.max_warps /= spec.sm.sub_partitions;
  spec.sm.sub_partitions = 1;
  return spec;
}

/// The same with a scheduler that lets one warp alone fill the tensor core.
inline gpu::GpuSpec one_sub_partition_without_gap() {
  gpu::GpuSpec spec = one_sub_partition();
  spec.sm.tensor_core.same_warp_gap_cycles = 0;
  return spec;
}

/// What a kernel needs beside its program.
struct KernelParts {
  explicit KernelParts(const mma::MmaInstruction& instruction)
      : context(instruction, mma::step_rules("ampere", instruction)), map(instruction) {}

  sm::KernelLaunch launch(const isa::WarpProgram& program, sm::CtaMemory* memory = nullptr, int warps = 1,
                          std::int64_t ctas = 1, int ctas_per_sm = 1) const {
    return {&program, &context, &map, warps, ctas_per_sm, ctas, memory};
  }

  mma::StepContext context;
  mma::RegisterMap map;
};

/// One SM with a CTA scheduler in front. Several may be built before the first run.
class SmHarness {
 public:
  struct MmaIssued {
    std::int64_t cycle = 0;  ///< since the start of the run
    int warp_slot = 0;
  };

  SmHarness(const char* name, const gpu::GpuSpec& spec)
      : clock_(spec.boost_clock_mhz), gpu_(name, clock_, support::with_sms(spec, 1)) {
    partition().issue.set_tap([this](tensor_core::MmaIssue& issue) {
      issued_.push_back({clock_.now() - start_, issue.warp_slot});
    });
  }

  gpu::GridRun run(const sm::KernelLaunch& kernel) {
    if (sc_core::sc_get_status() == sc_core::SC_ELABORATION) {
      sc_core::sc_start(sc_core::SC_ZERO_TIME);  // ports are bound from here on
    }
    issued_.clear();
    start_ = clock_.now();
    return gpu_.run(kernel);
  }

  /// Matrix instructions of the latest run, in the order in which they were issued.
  const std::vector<MmaIssued>& issued() const { return issued_; }
  std::int64_t now() const { return clock_.now() - start_; }
  /// Cycles since the start of the simulation.
  std::int64_t absolute_now() const { return clock_.now(); }
  sm::SharedMemory& shared_memory() { return gpu_.sms().front()->shared_memory; }
  sm::SubPartition& partition(std::size_t index = 0) { return *gpu_.sms().front()->sub_partitions[index]; }
  std::int64_t partitions() const { return static_cast<std::int64_t>(gpu_.sms().front()->sub_partitions.size()); }
  tensor_core::TensorCore& core() { return partition().tensor_core; }

 private:
  base::Clock clock_;
  gpu::Gpu gpu_;
  std::int64_t start_ = 0;
  std::vector<MmaIssued> issued_;
};

/// Registers of the operands in the programs of these tests: accumulators first, then A, B and
/// metadata.
struct Registers {
  static constexpr int kAccumulators = 16;  ///< fragments
  explicit Registers(const mma::RegisterMap& map) : map_(map) {}

  isa::RegisterRange accumulator(int index) const {
    return {index * map_.accumulator_registers(), map_.accumulator_registers()};
  }
  isa::RegisterRange a() const { return {kOperands, map_.a_registers()}; }
  isa::RegisterRange b() const { return {kOperands + 8, map_.b_registers()}; }
  isa::RegisterRange metadata() const { return {kOperands + 16, 1}; }

 private:
  static constexpr int kOperands = 4 * kAccumulators;
  const mma::RegisterMap& map_;
};

inline constexpr int kHarnessRegisters = 128;

/// D = A B + C with C = D = accumulator `accumulator`.
inline isa::WarpInstruction mma_into(const KernelParts& parts, int accumulator) {
  const Registers registers(parts.map);
  isa::WarpInstruction mma;
  mma.opcode = isa::Opcode::kMma;
  mma.a = registers.a();
  mma.b = registers.b();
  mma.c = mma.d = registers.accumulator(accumulator);
  if (parts.context.instruction.sparse) {
    mma.metadata = registers.metadata();
  }
  return mma;
}

inline isa::WarpInstruction load_into(isa::RegisterRange destination, isa::Operand operand = isa::Operand::kA) {
  isa::WarpInstruction load;
  load.opcode = isa::Opcode::kLoadMatrix;
  load.operand = operand;
  load.d = destination;
  return load;
}

inline isa::WarpInstruction barrier() {
  isa::WarpInstruction instruction;
  instruction.opcode = isa::Opcode::kBarrier;
  return instruction;
}

inline isa::WarpInstruction store_of(isa::RegisterRange accumulator) {
  isa::WarpInstruction store;
  store.opcode = isa::Opcode::kStoreAccumulator;
  store.c = accumulator;
  return store;
}

/// A straight-line program.
inline isa::WarpProgram program_of(std::vector<isa::WarpInstruction> instructions) {
  isa::WarpProgram program;
  program.prologue = std::move(instructions);
  program.registers_per_thread = kHarnessRegisters;
  return program;
}

/// `count` matrix instructions into the first `accumulators` in turn.
inline isa::WarpProgram mmas_in_turn(const KernelParts& parts, int count, int accumulators) {
  std::vector<isa::WarpInstruction> code;
  code.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    code.push_back(mma_into(parts, i % accumulators));
  }
  return program_of(std::move(code));
}

/// The same into all accumulators: no dependence is near enough to be seen.
inline isa::WarpProgram independent_mmas(const KernelParts& parts, int count) {
  return mmas_in_turn(parts, count, Registers::kAccumulators);
}

/// `count` loads of four registers each, one behind the other from the first register on.
inline std::vector<isa::WarpInstruction> independent_loads(int count) {
  std::vector<isa::WarpInstruction> code;
  code.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    code.push_back(load_into({4 * i, 4}));
  }
  return code;
}

/// `count` matrix instructions, each on the result of the one before.
inline isa::WarpProgram dependent_mmas(const KernelParts& parts, int count) {
  return program_of(std::vector<isa::WarpInstruction>(static_cast<std::size_t>(count), mma_into(parts, 0)));
}

/// Cycles between issues of independent instructions in the steady state, over 100 of them.
inline double issue_interval(SmHarness& harness, const mma::MmaInstruction& instruction) {
  const KernelParts parts(instruction);
  const isa::WarpProgram program = independent_mmas(parts, 200);
  harness.run(parts.launch(program));
  const auto& issued = harness.issued();
  return static_cast<double>(issued[180].cycle - issued[80].cycle) / 100.0;
}

inline mma::MmaInstruction instruction(numerics::DataType type, int k, bool sparse = false) {
  return {{16, 8, k}, type, type, numerics::accumulator_type(type), sparse};
}

/// Registers filled by a hash of where they belong; loads and stores are noted with their cycle.
class RecordingMemory : public sm::CtaMemory {
 public:
  struct Access {
    std::int64_t cycle = 0;
    int warp = 0;
    std::vector<mma::LaneRegister> registers;  ///< stores only
  };

  explicit RecordingMemory(const SmHarness& harness) : harness_(harness) {}

  /// What the load at register `base` of warp `warp` and CTA `cta` delivers in register `reg` of
  /// `lane`.
  static std::uint32_t word(std::int64_t cta, int warp, int base, int reg, int lane) {
    const auto index = static_cast<std::uint64_t>(((cta * 64 + warp) * 1024 + base) * 256 + reg * 32 + lane);
    const auto bits = static_cast<std::uint32_t>(base::RandomStream(5).bits(index));
    return (bits & 0x83FF83FFU) | 0x38003800U;  // two f16 in [0.5, 1) or their negatives
  }

  void load(std::int64_t cta, int warp, const isa::WarpInstruction& instruction, std::int64_t,
            mma::LaneRegister* registers) const override {
    loads_.push_back({harness_.now(), warp, {}});
    for (int reg = 0; reg < instruction.d.count; ++reg) {
      for (int lane = 0; lane < mma::kWarpLanes; ++lane) {
        registers[reg][static_cast<std::size_t>(lane)] = word(cta, warp, instruction.where.row, reg, lane);
      }
    }
  }
  void store(std::int64_t, int warp, const isa::WarpInstruction& instruction,
             const mma::LaneRegister* registers) override {
    stores_.push_back({harness_.now(), warp, {registers, registers + instruction.c.count}});
  }

  const std::vector<Access>& loads() const { return loads_; }
  const std::vector<Access>& stores() const { return stores_; }

 private:
  const SmHarness& harness_;
  mutable std::vector<Access> loads_;
  std::vector<Access> stores_;
};

}  // namespace sptc::timing
