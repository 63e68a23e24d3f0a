// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/warp_program.h"

#include "sim/kernels/gemm_traffic.h"
#include "sim/kernels/register_allocation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

namespace sptc::kernels {
namespace {

// ld.global and st.global move 16 bytes per lane.
constexpr std::int64_t kBytesPerInstruction = 16 * 32;

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const GemmKernel& kernel) : kernel_(kernel), registers_(kernel) {}

  isa::WarpProgram build(std::int64_t k_tiles) {
    if (kernel_.executed.is_asynchronous()) {
      return build_warpgroup_program(k_tiles);
    }
    isa::WarpProgram program;
    program.iterations = k_tiles;
    program.registers_per_thread = registers_.count();
    add_first_tiles(program.prologue);
    add_loads(program.prologue, 0, 0, false);
    for (int row = 0; quantised() && row < kernel_.fragments_m(); ++row) {
      add_quantised_load(program.prologue, 0, 0, row, false);
    }
    const int steps = kernel_.k_steps_per_tile();
    for (int step = 0; step < steps; ++step) {
      const bool crosses_tile = step + 1 == steps;
      if (step == 0) {
        add_requests(program.loop);
      }
      if (crosses_tile) {
        add_stage_change(program.loop);
      }
      add_loads(program.loop, step + 1, (step + 1) % 2, crosses_tile);
      for (int row = 0; row < kernel_.fragments_m(); ++row) {
        if (quantised()) {
          add_quantised_load(program.loop, step + 1, (step + 1) % 2, row, crosses_tile);
        }
        add_mmas(program.loop, step % 2, row);
      }
    }
    add_stores(program.epilogue);
    add_shared_tiles(program);
    return program;
  }

 private:
  // Warp-specialised, as CUTLASS's sm90 kernels are (sm90_mma_tma_gmma_ss_warpspecialized.hpp): a
  // producer warp copies with TMA for its CTA, also into the next output tile; the warpgroups
  // multiply straight from shared memory. A stage is free for the next copy when the wgmma group
  // that reads it is done: one group stays under way while the next k-tile is waited for.
  isa::WarpProgram build_warpgroup_program(std::int64_t k_tiles) const {
    isa::WarpProgram program;
    program.iterations = k_tiles;
    program.registers_per_thread = registers_.accumulator_count();
    program.producer = std::make_shared<const isa::WarpProgram>(producer_program(k_tiles));
    const bool sparse = kernel_.instruction.sparse && !kernel_.tensor_memory();
    const int steps = kernel_.k_steps_per_tile();
    program.registers_per_thread += sparse ? steps : 0;
    isa::add(program.loop, isa::Opcode::kWaitTile);
    for (int step = 0; sparse && step < steps; ++step) {
      add_load(program.loop, isa::Operand::kMetadata, {0, 0, step}, metadata_of_step(step), false);
    }
    for (int step = 0; step < steps; ++step) {
      isa::WarpInstruction& wgmma = isa::add(program.loop, isa::Opcode::kWgmma);
      wgmma.d = registers_.accumulators();
      wgmma.metadata = sparse ? metadata_of_step(step) : isa::RegisterRange{};
    }
    isa::add(program.loop, isa::Opcode::kWgmmaCommit);
    // A single stage has to be empty before it is filled again, and what is added complete; so have
    // the registers of metadata, which wgmma.sp reads until it ends.
    add_drain(program.loop, kernel_.stages > 1 && !kernel_.promotes && !sparse ? 1 : 0);
    if (kernel_.promotes) {
      isa::add(program.loop, isa::Opcode::kWgmmaWait).issue_slots = registers_.accumulator_count();
    }
    add_drain(program.epilogue, 0);
    add_stores(program.epilogue);
    program.persistent = kernel_.persistent();
    add_shared_tiles(program);
    return program;
  }

  /// Metadata of wgmma.sp are in a register (PTX ISA): those of a k-tile are filled from shared
  /// memory together (CUTLASS, sm90_sparse_mma_tma_gmma_ss_warpspecialized.hpp).
  isa::RegisterRange metadata_of_step(int step) const { return {registers_.accumulator_count() + step, 1}; }

  /// Waits until at most `groups` groups are under way and frees the k-tiles of those before.
  static void add_drain(std::vector<isa::WarpInstruction>& code, std::uint8_t groups) {
    isa::add(code, isa::Opcode::kWgmmaWait).pending_groups = groups;
    isa::add(code, isa::Opcode::kFreeTiles).pending_groups = groups;
  }

  isa::WarpProgram producer_program(std::int64_t k_tiles) const {
    isa::WarpProgram program;
    program.iterations = k_tiles;
    program.persistent = true;
    isa::add(program.loop, isa::Opcode::kWaitStage).stages = kernel_.stages;
    add_bulk_copies(program.loop);
    return program;
  }

  /// Operands of which a k-tile has a tile.
  std::span<const isa::Operand> operands() const {
    static constexpr std::array kSparse{isa::Operand::kA, isa::Operand::kMetadata, isa::Operand::kB};
    static constexpr std::array kDense{isa::Operand::kA, isa::Operand::kB};
    return kernel_.instruction.sparse ? std::span<const isa::Operand>(kSparse) : kDense;
  }

  void add_bulk_copies(std::vector<isa::WarpInstruction>& code) const {
    for (const isa::Operand operand : operands()) {
      isa::WarpInstruction& copy = isa::add(code, isa::Opcode::kCopy);
      copy.operand = operand;
      copy.first_warp_only = copy.bulk = true;
    }
    isa::add(code, isa::Opcode::kCommitCopies);
  }

  /// k-tiles that are under way or waiting while one is multiplied.
  int tiles_ahead() const { return std::max(1, kernel_.stages - 1); }

  void add_first_tiles(std::vector<isa::WarpInstruction>& code) const {
    if (kernel_.staged_in_registers()) {
      add_staging(code, isa::Opcode::kLoadGlobal, 0);
      add_staging(code, isa::Opcode::kStoreShared, 0);
      isa::add(code, isa::Opcode::kBarrier);
      return;
    }
    for (int tile = 0; tile < tiles_ahead(); ++tile) {
      add_copies(code, tile);
      isa::add(code, isa::Opcode::kCommitCopies);
    }
    add_wait(code);
    isa::add(code, isa::Opcode::kBarrier);
  }

  /// Asks for a k-tile while the current one is multiplied: to the registers that the last one
  /// left, or to the stage that was left at the last barrier.
  void add_requests(std::vector<isa::WarpInstruction>& code) const {
    if (kernel_.staged_in_registers()) {
      add_staging(code, isa::Opcode::kLoadGlobal, 1);
    } else if (kernel_.stages > 1) {
      add_copies(code, tiles_ahead());
      isa::add(code, isa::Opcode::kCommitCopies);
    }
  }

  // The stage of the next tile must have arrived, for all warps, and the fragments of this one are
  // read, so that its stage may be overwritten: one barrier per k-tile.
  void add_stage_change(std::vector<isa::WarpInstruction>& code) const {
    if (kernel_.stages == 1) {
      isa::add(code, isa::Opcode::kBarrier);  // there is no other stage to write
    }
    if (kernel_.staged_in_registers()) {
      add_staging(code, isa::Opcode::kStoreShared, 1);
    } else {
      if (kernel_.stages == 1) {
        add_copies(code, tiles_ahead());
        isa::add(code, isa::Opcode::kCommitCopies);
      }
      add_wait(code);
    }
    isa::add(code, isa::Opcode::kBarrier);
  }

  void add_wait(std::vector<isa::WarpInstruction>& code) const {
    isa::add(code, isa::Opcode::kWaitCopies).copy_groups = tiles_ahead() - 1;
  }

  /// The warp's part of the operand tiles of the k-tile `ahead` of the current one.
  void add_copies(std::vector<isa::WarpInstruction>& code, int ahead) const {
    const std::int64_t bytes_per_instruction = std::int64_t{kernel_.async_copy_bytes} * 32;
    for (const isa::Operand operand : operands()) {
      isa::WarpInstruction& copy = isa::add(code, isa::Opcode::kCopy);
      copy.operand = operand;
      copy.tiles_ahead = ahead;
      copy.issue_slots = static_cast<int>(std::max<std::int64_t>(
          1, base::ceil_div(kernel_.stage_bytes(operand), kernel_.warps() * bytes_per_instruction)));
    }
  }

  /// The same on its way through registers: kLoadGlobal fills them, kStoreShared empties them, into
  /// rows that are permuted so that no bank is met twice.
  void add_staging(std::vector<isa::WarpInstruction>& code, isa::Opcode opcode, int ahead) const {
    for (const isa::Operand operand : operands()) {
      const isa::RegisterRange registers = registers_.staged(operand);
      isa::WarpInstruction& move = isa::add(code, opcode);
      (opcode == isa::Opcode::kLoadGlobal ? move.d : move.a) = registers;
      move.operand = operand;
      move.tiles_ahead = ahead;
      move.issue_slots = registers.count / RegisterAllocation::kStagedPerInstruction;
    }
  }

  static void add_load(std::vector<isa::WarpInstruction>& code, isa::Operand operand, isa::FragmentPosition where,
                       isa::RegisterRange destination, bool skip_in_last) {
    isa::WarpInstruction& load = isa::add(code, isa::Opcode::kLoadMatrix);
    load.operand = operand;
    load.where = where;
    load.d = destination;
    load.tiles_ahead = skip_in_last ? 1 : 0;
  }

  bool quantised() const { return kernel_.problem.storage.weight.has_value(); }

  void add_quantised_load(std::vector<isa::WarpInstruction>& code, int k_step, int buffer, int row,
                          bool skip_in_last) const {
    isa::RegisterRange stored = registers_.a(buffer, row);
    stored.count = static_cast<int>(kernel_.loaded_a_registers());
    add_load(code, isa::Operand::kA, {row, 0, k_step}, stored, skip_in_last);
    code.back().issue_slots += static_cast<int>(std::lround(kernel_.dequantise_slots()));
  }

  void add_loads(std::vector<isa::WarpInstruction>& code, int k_step, int buffer, bool skip_in_last) const {
    if (!quantised()) {
      add_fragment_loads(code, isa::Operand::kA, k_step, buffer, skip_in_last);
    }
    const int rows = kernel_.instruction.sparse ? kernel_.fragments_m() : 0;
    for (int row = 0; row < rows; row += registers_.rows_per_metadata_register()) {
      add_load(code, isa::Operand::kMetadata, {row, 0, k_step}, registers_.metadata(buffer, row), skip_in_last);
    }
    add_fragment_loads(code, isa::Operand::kB, k_step, buffer, skip_in_last);
  }

  /// Loads a fragment of A or B. ldmatrix.x4 loads four registers: of a fragment, and of as many
  /// after it as they hold.
  void add_fragment_loads(std::vector<isa::WarpInstruction>& code, isa::Operand operand, int k_step, int buffer,
                          bool skip_in_last) const {
    const bool is_b = operand == isa::Operand::kB;
    const int fragments = is_b ? kernel_.fragments_n() : kernel_.fragments_m();
    const auto registers_of = [&](int fragment) {
      return is_b ? registers_.b(buffer, fragment) : registers_.a(buffer, fragment);
    };
    const int each = registers_of(0).count;
    for (int next = 0; next < fragments;) {
      const isa::FragmentPosition where{is_b ? 0 : next, is_b ? next : 0, k_step};
      isa::RegisterRange destination = registers_of(next++);
      for (int loaded = 2 * each; next < fragments && loaded <= RegisterAllocation::kLoadedPerInstruction;
           loaded += each) {
        destination.count += registers_of(next++).count;
      }
      add_load(code, operand, where, destination, skip_in_last);
    }
  }

  // Serpentine over the columns, so that neighbours share a fragment of A or of B.
  void add_mmas(std::vector<isa::WarpInstruction>& code, int buffer, int row) const {
    for (int i = 0; i < kernel_.fragments_n(); ++i) {
      const int col = row % 2 == 0 ? i : kernel_.fragments_n() - 1 - i;
      isa::WarpInstruction& mma = isa::add(code, isa::Opcode::kMma);
      mma.where = {row, col, 0};
      mma.a = registers_.a(buffer, row);
      mma.b = registers_.b(buffer, col);
      mma.c = registers_.accumulator(row, col);
      mma.d = mma.c;
      mma.metadata = registers_.metadata(buffer, row);
      mma.selector = static_cast<std::uint8_t>(row % registers_.rows_per_metadata_register());
    }
  }

  void add_accumulator_reads(std::vector<isa::WarpInstruction>& code, int row) const {
    for (int col = 0; col < kernel_.fragments_n(); ++col) {
      isa::WarpInstruction& store = isa::add(code, isa::Opcode::kStoreAccumulator);
      store.where = {row, col, 0};
      store.c = registers_.accumulator(row, col);
    }
  }

  /// Sends registers that hold `bytes` of each warp through shared memory and back.
  static void add_round_trip(std::vector<isa::WarpInstruction>& code, isa::RegisterRange registers,
                             bool with_barriers) {
    const auto add_move = [&](isa::Opcode opcode) -> isa::WarpInstruction& {
      if (with_barriers) {
        isa::add(code, isa::Opcode::kBarrier);
      }
      isa::WarpInstruction& move = isa::add(code, opcode);
      move.operand = isa::Operand::kPartialSum;
      move.issue_slots = static_cast<int>(base::ceil_div(registers.bytes(), kBytesPerInstruction));
      return move;
    };
    add_move(isa::Opcode::kStoreShared).a = registers;
    add_move(isa::Opcode::kLoadMatrix).d = registers;
  }

  /// Registers with a fragment row of the warp's accumulators, `bits` of each.
  isa::RegisterRange row_of_accumulators(int row, int bits) const {
    isa::RegisterRange registers = registers_.accumulator(row, 0);
    registers.count = std::max(1, registers.count * kernel_.fragments_n() * bits / 32);
    return registers;
  }

  // Accumulators become rows of D on their way through shared memory: as mma.sync leaves them,
  // eight rows of each warp at a time between barriers (CUTLASS, epilogue/threadblock/epilogue.h),
  // from where the warps store them; of warpgroups in the type of D, from where TMA stores them
  // (epilogue/collective/sm90_epilogue_tma_warpspecialized.hpp).
  void add_stores(std::vector<isa::WarpInstruction>& code) const {
    const bool asynchronous = kernel_.executed.is_asynchronous();
    const int times = asynchronous ? 1 : std::max(1, kernel_.instruction.shape.m / 8);
    const int bits = asynchronous ? stored_bits(kernel_) : 32 / times;
    for (int row = 0; row < kernel_.fragments_m(); ++row) {
      add_accumulator_reads(code, row);
      const isa::RegisterRange registers = row_of_accumulators(row, bits);
      for (int i = 0; i < times; ++i) {
        add_round_trip(code, registers, !asynchronous);
      }
      isa::WarpInstruction& rows = isa::add(code, isa::Opcode::kStoreGlobal);
      rows.c = registers;
      rows.where.row = row;
      const std::int64_t bytes = kernel_.instruction.shape.m * kernel_.warp_tile.n * stored_bits(kernel_) / 8;
      rows.issue_slots = static_cast<int>(base::ceil_div(bytes, kBytesPerInstruction)) + row_operations();
    }
  }

  /// What the epilogue does with a fragment row of a warp; of slices of K a second kernel does it.
  int row_operations() const {
    const auto elements = static_cast<double>(kernel_.instruction.shape.m * kernel_.warp_tile.n) / mma::kWarpLanes;
    return kernel_.split_k > 1 ? 0 : static_cast<int>(std::lround(elements * kernel_.problem.epilogue_operations));
  }

  /// Stream-K: partial sums go to a workspace; who finishes the tile sees a flag, reads and adds
  /// them. They pass the L1, whose banks are those of the shared memory.
  void add_shared_tiles(isa::WarpProgram& program) const {
    if (!kernel_.stream_k()) {
      return;
    }
    std::vector<isa::WarpInstruction>& partial = program.partial_epilogue;
    std::vector<isa::WarpInstruction>& fix_up = program.fix_up;
    if (kernel_.executed.is_asynchronous()) {
      add_drain(partial, 0);
      add_drain(fix_up, 0);
    }
    for (int row = 0; row < kernel_.fragments_m(); ++row) {
      add_accumulator_reads(partial, row);
      add_partial_sums(partial, isa::Opcode::kStoreGlobal, row);
    }
    add_partial_sums(partial, isa::Opcode::kStoreGlobal, GemmTraffic::kFlag);
    add_partial_sums(fix_up, isa::Opcode::kCopy, GemmTraffic::kFlag);
    isa::add(fix_up, isa::Opcode::kCommitCopies);
    isa::add(fix_up, isa::Opcode::kWaitCopies).copy_groups = 0;
    for (int row = 0; row < kernel_.fragments_m(); ++row) {
      add_partial_sums(fix_up, isa::Opcode::kCopy, row);
    }
    isa::add(fix_up, isa::Opcode::kCommitCopies);
    isa::add(fix_up, isa::Opcode::kWaitCopies).copy_groups = 0;
  }

  void add_partial_sums(std::vector<isa::WarpInstruction>& code, isa::Opcode opcode, int row) const {
    isa::WarpInstruction& move = isa::add(code, opcode);
    move.operand = isa::Operand::kPartialSum;
    move.where.row = row;
    const std::int64_t bytes = kernel_.instruction.shape.m * kernel_.warp_tile.n * kAccumulatorBytes;
    // What is read is added, register by register.
    const std::int64_t additions = opcode == isa::Opcode::kCopy ? bytes / isa::kRegisterBytes : 0;
    std::int64_t slots = base::ceil_div(bytes, kBytesPerInstruction) + additions;
    if (kernel_.sum_bytes_per_cycle > 0) {
      // The rate is that of a CTA, whose warps of a warpgroup work side by side.
      slots = std::max(slots, bytes * mma::kWarpsPerWarpgroup / kernel_.sum_bytes_per_cycle);
    }
    move.issue_slots = row == GemmTraffic::kFlag ? 1 : static_cast<int>(slots);
  }

  const GemmKernel& kernel_;
  RegisterAllocation registers_;
};

}  // namespace

isa::WarpProgram gemm_warp_program(const GemmKernel& kernel, std::int64_t k_tiles) {
  return ProgramBuilder(kernel).build(k_tiles);
}

}  // namespace sptc::kernels
