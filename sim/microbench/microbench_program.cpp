// SPDX-License-Identifier: Apache-2.0
#include "sim/microbench/microbench_program.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "models/mma/fragment_layout.h"
#include "sim/isa/add_instruction.h"

namespace sptc::microbench {
namespace {

int registers_for(std::int64_t elements, numerics::DataType type) {
  return static_cast<int>(
      base::ceil_div(elements * numerics::storage_bits(type), 8 * isa::kRegisterBytes));
}

/// Hands out registers of a thread from 0 on.
class Allocator {
 public:
  explicit Allocator(int max) : max_(max) {}

  isa::RegisterRange take(int count) {
    const isa::RegisterRange range{next_, count};
    next_ += count;
    if (next_ > max_) {
      throw base::InputError("these chains need more than the " + std::to_string(max_) +
                             " registers of a thread: lower the ILP");
    }
    return range;
  }

 private:
  int max_;
  int next_ = 0;
};

/// Per warp: a warp of a warpgroup has a quarter of the rows of wgmma. In m8n8k4 of f16 four
/// quarters of the warp each have a matrix of their own.
struct FragmentSizes {
  int a = 0, b = 0, accumulator = 0;
};

FragmentSizes fragment_sizes(const mma::MmaInstruction& instruction) {
  const mma::MmaShape& shape = instruction.shape;
  const bool quarters = machine_instructions(instruction) > 1;
  const int rows = (quarters ? shape.m * 4 : shape.m) / instruction.warps();
  const int columns = quarters ? shape.n * 4 : shape.n;
  return {registers_for(std::int64_t{rows} * instruction.compressed_k(), instruction.a_type),
          registers_for(std::int64_t{columns} * shape.k, instruction.b_type),
          registers_for(std::int64_t{rows} * shape.n, instruction.accumulator)};
}

void add_mma(const MatrixInstruction& which, int ilp, Allocator& registers,
             std::vector<isa::WarpInstruction>& code) {
  const mma::MmaInstruction& instruction = which.instruction;
  const FragmentSizes sizes = fragment_sizes(instruction);
  const isa::RegisterRange a = registers.take(sizes.a);
  const isa::RegisterRange b = registers.take(sizes.b);
  const isa::RegisterRange metadata = registers.take(instruction.sparse ? 1 : 0);
  const int steps = machine_instructions(instruction);
  const int selectors =
      which.selectors_in_turn ? mma::operand_registers(instruction).metadata_selectors : 1;
  for (int chain = 0; chain < ilp; ++chain) {
    for (int step = 0; step < steps; ++step) {
      isa::WarpInstruction& mma = isa::add(code, isa::Opcode::kMma);
      mma.a = a;
      mma.b = b;
      mma.metadata = metadata;
      mma.selector = static_cast<std::uint8_t>(chain % selectors);
      mma.c = mma.d = registers.take(sizes.accumulator / steps);
    }
  }
}

/// wgmma on the same accumulators need no wait between them; independent chains have their own.
/// Those of tcgen05.mma are not in registers.
void add_wgmma(const MatrixInstruction& which, int ilp, Allocator& registers,
               std::vector<isa::WarpInstruction>& code) {
  const FragmentSizes sizes = fragment_sizes(which.instruction);
  const isa::RegisterRange a = registers.take(which.a_in_registers ? sizes.a : 0);
  for (int chain = 0; chain < ilp; ++chain) {
    isa::WarpInstruction& wgmma = isa::add(code, isa::Opcode::kWgmma);
    wgmma.a = a;
    if (which.instruction.family == mma::MmaFamily::kWgmma) {
      wgmma.d = registers.take(sizes.accumulator);
    }
  }
  isa::add(code, isa::Opcode::kWgmmaCommit);
  // Enough to hide the pipeline of the shortest instruction.
  isa::add(code, isa::Opcode::kWgmmaWait).pending_groups = 3;
}

void add_loads(const SharedLoad& which, int ilp, Allocator& registers,
               std::vector<isa::WarpInstruction>& code) {
  for (int chain = 0; chain < ilp; ++chain) {
    // The next load into the same registers stands for one whose address depends on this one.
    isa::WarpInstruction& load = isa::add(code, isa::Opcode::kLoadMatrix);
    load.d = registers.take(which.registers);
    load.conflict_ways = static_cast<std::uint8_t>(which.conflict_ways);
  }
}

void add_loads(const GlobalLoad& which, int ilp, Allocator& registers,
               std::vector<isa::WarpInstruction>& code) {
  for (int chain = 0; chain < ilp; ++chain) {
    isa::WarpInstruction& load = isa::add(code, isa::Opcode::kLoadGlobal);
    load.d = registers.take(which.registers);
    load.where.row = chain;
  }
}

void add_copies(const AsyncCopy& which, int ilp, std::vector<isa::WarpInstruction>& code) {
  for (int chain = 0; chain < ilp; ++chain) {
    isa::WarpInstruction& copy = isa::add(code, isa::Opcode::kCopy);
    copy.bulk = which.bulk;
    copy.where.row = chain;
  }
  isa::add(code, isa::Opcode::kCommitCopies);
  isa::add(code, isa::Opcode::kWaitCopies);
}

}  // namespace

int machine_instructions(const mma::MmaInstruction& instruction) {
  if (instruction.shape == mma::MmaShape{8, 8, 4} &&
      instruction.a_type == numerics::DataType::kF16) {
    return instruction.accumulator == numerics::DataType::kF32 ? 4 : 2;
  }
  return 1;
}

isa::WarpProgram microbench_program(const BenchInstruction& instruction, int ilp,
                                    std::int64_t iterations, int max_registers) {
  isa::WarpProgram program;
  program.iterations = iterations;
  Allocator registers(max_registers);
  if (const auto* matrix = std::get_if<MatrixInstruction>(&instruction)) {
    if (matrix->instruction.is_asynchronous()) {
      add_wgmma(*matrix, ilp, registers, program.loop);
    } else {
      add_mma(*matrix, ilp, registers, program.loop);
    }
  } else if (const auto* copy = std::get_if<AsyncCopy>(&instruction)) {
    add_copies(*copy, ilp, program.loop);
  } else if (const auto* load = std::get_if<GlobalLoad>(&instruction)) {
    add_loads(*load, ilp, registers, program.loop);
  } else {
    add_loads(std::get<SharedLoad>(instruction), ilp, registers, program.loop);
  }
  return program;
}

}  // namespace sptc::microbench
