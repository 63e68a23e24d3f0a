// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace sptc::sim {

/// `count` consecutive 32-bit registers of every lane of a warp, from `base` on.
struct RegisterRange {
  int base = 0;
  int count = 0;
};

enum class Opcode : std::uint8_t {
  kMma,          ///< mma.sync / mma.sp.sync
  kWgmma,        ///< one warp's quarter of wgmma.mma_async; A from registers where `a` names some
  kWgmmaCommit,  ///< wgmma.commit_group: what was issued since the last one is a group
  kWgmmaWait,    ///< wgmma.wait_group: until at most `pending_groups` groups are under way
  kLoadMatrix,   ///< ldmatrix: one fragment from shared memory
  kBarrier,      ///< bar.sync over the CTA
  kStoreAccumulator,  ///< epilogue: one accumulator fragment leaves the SM
  kCopy,              ///< global memory to a stage of shared memory: cp.async, or a TMA bulk copy
  kCommitCopies,      ///< cp.async.commit_group: the copies since the last one form a group
  kWaitCopies,        ///< cp.async.wait_group: until at most `copy_groups` groups are under way
  kStoreGlobal,       ///< epilogue: rows of D leave the SM
};

/// Which operand a load or store moves.
enum class Operand : std::uint8_t { kA, kB, kMetadata };

/// Where a fragment lies: tile coordinates inside the CTA tile, in units of fragments.
struct FragmentPosition {
  int row = 0;  ///< A, metadata, D: fragment row of the CTA tile (16 rows each)
  int col = 0;  ///< B, D: fragment column of the CTA tile (8 columns each)
  int k_step =
      0;  ///< A, B, metadata: instruction depth within the CTA tile; may reach into the next tile
};

/// One instruction of a warp, at the level of PTX: registers are those of one thread, the same in
/// all 32 lanes.
struct WarpInstruction {
  Opcode opcode = Opcode::kMma;
  Operand operand = Operand::kA;
  FragmentPosition where;
  /// Works for the k-tile of so many main loop iterations later; skipped where that does not come.
  int tiles_ahead = 0;
  int issue_slots = 1;           ///< machine instructions that this stands for
  int copy_groups = 0;           ///< kWaitCopies
  bool first_warp_only = false;  ///< kCopy: one warp copies for its CTA

  RegisterRange d;                  ///< written
  RegisterRange a, b, c, metadata;  ///< read
  std::uint8_t selector = 0;        ///< mma.sp: which lanes of a quad supply the metadata
  std::uint8_t conflict_ways = 1;   ///< loads: accesses to the most used bank per 128 bytes
  std::uint8_t pending_groups = 0;  ///< kWgmmaWait
};

/// The instruction stream of one warp of a kernel: prologue, main loop over k-tiles, epilogue. The
/// stream is stored once and shared by the same warp of all CTAs; a warp walks it with a
/// WarpCursor.
struct WarpProgram {
  std::vector<WarpInstruction> prologue;
  std::vector<WarpInstruction> loop;
  std::vector<WarpInstruction> epilogue;
  std::int64_t iterations = 0;
  int registers_per_thread = 0;
};

/// Position of a warp in its program.
class WarpCursor {
 public:
  WarpCursor() = default;
  explicit WarpCursor(const WarpProgram& program) : program_(&program) { settle(); }

  bool done() const { return section_ == Section::kDone; }
  const WarpInstruction& instruction() const { return (*code_)[index_]; }
  /// Main loop iteration; 0 in the prologue, the last one in the epilogue.
  std::int64_t iteration() const { return iteration_; }

  void advance() {
    ++index_;
    settle();
  }

 private:
  enum class Section { kPrologue, kLoop, kEpilogue, kDone };

  // Moves on until the cursor stands on an instruction to execute, or at the end.
  void settle() {
    while (section_ != Section::kDone) {
      code_ = section_ == Section::kPrologue ? &program_->prologue
              : section_ == Section::kLoop   ? &program_->loop
                                             : &program_->epilogue;
      if (index_ < code_->size()) {
        if (iteration_ + (*code_)[index_].tiles_ahead < program_->iterations ||
            (*code_)[index_].tiles_ahead == 0) {
          return;
        }
        ++index_;
        continue;
      }
      next_section();
    }
  }

  void next_section() {
    index_ = 0;
    switch (section_) {
      case Section::kPrologue:
        section_ = program_->iterations > 0 ? Section::kLoop : Section::kEpilogue;
        break;
      case Section::kLoop:
        if (iteration_ + 1 < program_->iterations) {
          ++iteration_;
        } else {
          section_ = Section::kEpilogue;
        }
        break;
      default:
        section_ = Section::kDone;
        break;
    }
  }

  const WarpProgram* program_ = nullptr;
  const std::vector<WarpInstruction>* code_ = nullptr;
  Section section_ = Section::kPrologue;
  std::size_t index_ = 0;
  std::int64_t iteration_ = 0;
};

}  // namespace sptc::sim
