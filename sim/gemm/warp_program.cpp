// SPDX-License-Identifier: Apache-2.0
#include "sim/gemm/warp_program.h"

#include "sim/gemm/register_allocation.h"

#include <utility>
#include <vector>

namespace sptc::sim {
namespace {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const GemmKernel& kernel)
      : kernel_(kernel),
        registers_(kernel.instruction, kernel.fragments_m(), kernel.fragments_n()) {}

  WarpProgram build(std::int64_t k_tiles) {
    WarpProgram program;
    program.iterations = k_tiles;
    program.registers_per_thread = registers_.count();
    add_loads(program.prologue, 0, 0, false);
    const int steps = kernel_.k_steps_per_tile();
    for (int step = 0; step < steps; ++step) {
      const bool crosses_tile = step + 1 == steps;
      if (crosses_tile) {
        // The next tile's stage must have arrived, and this one's may be overwritten: one barrier
        // per k-tile.
        WarpInstruction barrier;
        barrier.opcode = Opcode::kBarrier;
        program.loop.push_back(barrier);
      }
      add_loads(program.loop, step + 1, (step + 1) % 2, crosses_tile);
      add_mmas(program.loop, step % 2);
    }
    add_stores(program.epilogue);
    return program;
  }

 private:
  void add_load(std::vector<WarpInstruction>& code, Operand operand, FragmentPosition where,
                RegisterRange destination, bool skip_in_last) const {
    WarpInstruction load;
    load.opcode = Opcode::kLoadMatrix;
    load.operand = operand;
    load.where = where;
    load.d = destination;
    load.skip_in_last_iteration = skip_in_last;
    code.push_back(load);
  }

  void add_loads(std::vector<WarpInstruction>& code, int k_step, int buffer,
                 bool skip_in_last) const {
    for (int row = 0; row < kernel_.fragments_m(); ++row) {
      add_load(code, Operand::kA, {row, 0, k_step}, registers_.a(buffer, row), skip_in_last);
    }
    if (kernel_.instruction.sparse) {
      for (int row = 0; row < kernel_.fragments_m();
           row += registers_.rows_per_metadata_register()) {
        add_load(code, Operand::kMetadata, {row, 0, k_step}, registers_.metadata(buffer, row),
                 skip_in_last);
      }
    }
    // ldmatrix.x4 fills four registers: as many fragments of B as they hold.
    constexpr int kRegistersPerLoad = 4;
    const int fragments = kernel_.fragments_n();
    for (int col = 0; col < fragments;) {
      RegisterRange destination = registers_.b(buffer, col);
      const int first = col++;
      while (col < fragments &&
             destination.count + registers_.b(buffer, col).count <= kRegistersPerLoad) {
        destination.count += registers_.b(buffer, col++).count;
      }
      add_load(code, Operand::kB, {0, first, k_step}, destination, skip_in_last);
    }
  }

  // Serpentine over the columns, so that neighbours share a fragment of A or of B.
  void add_mmas(std::vector<WarpInstruction>& code, int buffer) const {
    for (int row = 0; row < kernel_.fragments_m(); ++row) {
      for (int i = 0; i < kernel_.fragments_n(); ++i) {
        const int col = row % 2 == 0 ? i : kernel_.fragments_n() - 1 - i;
        WarpInstruction mma;
        mma.opcode = Opcode::kMma;
        mma.where = {row, col, 0};
        mma.a = registers_.a(buffer, row);
        mma.b = registers_.b(buffer, col);
        mma.c = registers_.accumulator(row, col);
        mma.d = mma.c;
        mma.metadata = registers_.metadata(buffer, row);
        mma.selector = static_cast<std::uint8_t>(row % registers_.rows_per_metadata_register());
        code.push_back(mma);
      }
    }
  }

  void add_stores(std::vector<WarpInstruction>& code) const {
    for (int row = 0; row < kernel_.fragments_m(); ++row) {
      for (int col = 0; col < kernel_.fragments_n(); ++col) {
        WarpInstruction store;
        store.opcode = Opcode::kStoreAccumulator;
        store.where = {row, col, 0};
        store.c = registers_.accumulator(row, col);
        code.push_back(store);
      }
    }
  }

  const GemmKernel& kernel_;
  RegisterAllocation registers_;
};

}  // namespace

WarpProgram gemm_warp_program(const GemmKernel& kernel, std::int64_t k_tiles) {
  return ProgramBuilder(kernel).build(k_tiles);
}

}  // namespace sptc::sim
