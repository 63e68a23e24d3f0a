// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/fragment_layout.h"
#include "sim/hardware/isa/operand.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sptc::isa {

/// A register of all lanes of a warp.
inline constexpr std::int64_t kRegisterBytes = std::int64_t{mma::kWarpLanes} * 4;

/// `count` consecutive 32-bit registers of every lane of a warp, from `base` on.
struct RegisterRange {
  int base = 0;
  int count = 0;
  // Register parts of the range, in a prepared program.
  int first_part = 0;
  int parts = 0;

  std::int64_t bytes() const { return count * kRegisterBytes; }
};

enum class Opcode : std::uint8_t {
  kMma,               ///< mma.sync / mma.sp.sync
  kWgmma,             ///< one warp's quarter of wgmma.mma_async; A from registers where `a` names some
  kWgmmaCommit,       ///< wgmma.commit_group: what was issued since the last one is a group
  kWgmmaWait,         ///< wgmma.wait_group: until at most `pending_groups` groups are under way
  kLoadMatrix,        ///< ldmatrix: one fragment from shared memory
  kBarrier,           ///< bar.sync over the CTA
  kStoreAccumulator,  ///< epilogue: one accumulator fragment leaves the SM
  kCopy,              ///< global memory to a stage of shared memory: cp.async, or a TMA bulk copy
  kCommitCopies,      ///< cp.async.commit_group: the copies since the last one form a group
  kWaitCopies,        ///< cp.async.wait_group: until at most `copy_groups` groups are under way
  kLoadGlobal,        ///< ld.global: a warp's part of a tile to registers `d`
  kStoreShared,       ///< st.shared: registers `a` to a stage of shared memory
  // Barriers in shared memory (mbarrier) of kernels with a producer warp, two for each stage.
  kWaitTile,     ///< until the k-tile of this iteration has arrived
  kFreeTiles,    ///< the warp has read the k-tiles before those of its `pending_groups` last groups
  kWaitStage,    ///< until all other warps have freed the k-tile `stages` iterations before
  kStoreGlobal,  ///< epilogue: rows of D, or of partial sums, leave the SM
};

/// Where a fragment lies: tile coordinates inside the CTA tile, in units of fragments.
struct FragmentPosition {
  int row = 0;     ///< A, metadata, D: fragment row of the CTA tile (16 rows each)
  int col = 0;     ///< B, D: fragment column of the CTA tile (8 columns each)
  int k_step = 0;  ///< A, B, metadata: instruction depth within the CTA tile; may reach into the next tile
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
  int stages = 0;                ///< kWaitStage
  bool first_warp_only = false;  ///< kCopy: the producer, or warp 0, copies for its CTA
  bool bulk = false;             ///< kCopy: of TMA, kilobytes by one lane

  RegisterRange d;                  ///< written
  RegisterRange a, b, c, metadata;  ///< read
  std::uint8_t selector = 0;        ///< mma.sp: which lanes of a quad supply the metadata
  std::uint8_t conflict_ways = 1;   ///< shared memory: accesses to the most used bank per 128 bytes
  std::uint8_t pending_groups = 0;  ///< kWgmmaWait, kFreeTiles
  /// kMma, of a prepared program: matrix instructions alike that follow each other in the code from
  /// this one on.
  int run = 0;
  /// kMma, of a prepared program: each operand is one register part; without metadata, theirs is
  /// that of A.
  bool in_single_parts = false;

  bool is_like(const WarpInstruction& other) const {
    return opcode == other.opcode && a.count == other.a.count && b.count == other.b.count && c.count == other.c.count &&
           metadata.count == other.metadata.count;
  }
};

/// Appends an instruction to `code`, for the caller to fill in.
inline WarpInstruction& add(std::vector<WarpInstruction>& code, Opcode opcode) {
  code.emplace_back();
  code.back().opcode = opcode;
  return code.back();
}

/// A stretch of k-tiles of one output tile that a CTA works on.
struct WorkSegment {
  std::int64_t output_tile = 0;
  std::int64_t first_k_tile = 0;
  std::int64_t k_tiles = 0;
  bool finishes = true;  ///< writes D; else its partial sums, for the CTA that does
  int peers = 0;         ///< CTAs whose partial sums it adds first
};

/// The instruction stream of one warp of a kernel: prologue, main loop over k-tiles, epilogue. The
/// stream is stored once and shared by the same warp of all CTAs; a warp walks it with a
/// WarpCursor, once for each segment of its CTA's work.
struct WarpProgram {
  std::vector<WarpInstruction> prologue;
  std::vector<WarpInstruction> loop;
  std::vector<WarpInstruction> epilogue;
  std::int64_t iterations = 0;  ///< where a CTA has one output tile
  int registers_per_thread = 0;
  int register_parts = 0;  ///< of a prepared program, at least 1
  // Where CTAs share output tiles.
  std::vector<WarpInstruction> partial_epilogue;  ///< instead of the epilogue: partial sums leave
  std::vector<WarpInstruction> fix_up;            ///< before the epilogue, once for each peer
  /// Copies run ahead into the next segment; the prologue comes once.
  bool persistent = false;
  /// Program of a further warp of the CTA that copies for the others.
  std::shared_ptr<const WarpProgram> producer;
};

/// Position of a warp in its program.
class WarpCursor {
 public:
  WarpCursor() = default;
  /// Walks a CTA with one output tile.
  explicit WarpCursor(const WarpProgram& program) : program_(&program) {
    segment_end_ = last_end_ = program.iterations;
    settle();
  }
  /// `segments`: at least one, none of them empty.
  WarpCursor(const WarpProgram& program, std::span<const WorkSegment> segments)
      : program_(&program), segments_(segments) {
    segment_end_ = segments.front().k_tiles;
    for (const WorkSegment& segment : segments) {
      last_end_ += segment.k_tiles;
    }
    settle();
  }

  bool done() const { return section_ == Section::kDone; }
  const WarpInstruction& instruction() const { return (*code_)[index_]; }
  /// Main loop iteration, counted over all segments; the first one of a segment in its prologue,
  /// the last one in its epilogue.
  std::int64_t iteration() const { return iteration_; }
  bool in_main_loop() const { return section_ == Section::kLoop; }

  /// The k-tile that is there when the instruction, which waits for copies or ends the filling of a
  /// stage, has issued; -1: none.
  std::int64_t tile_waited_for() const {
    const WarpInstruction& wait = instruction();
    if (wait.opcode != Opcode::kWaitCopies) {
      return iteration_ + wait.tiles_ahead;
    }
    const std::int64_t tile = iteration_ + (section_ == Section::kLoop ? 1 : 0);
    const bool fills = section_ == Section::kLoop || section_ == Section::kPrologue;
    return fills && tile < segment_end_ ? tile : -1;
  }

  void advance() { advance_by(1); }
  /// Moves past `count` instructions of the section, none of which may be skipped.
  void advance_by(int count) {
    index_ += static_cast<std::size_t>(count);
    settle();
  }

 private:
  enum class Section { kPrologue, kLoop, kPartialEpilogue, kFixUp, kEpilogue, kDone };

  // Moves on until the cursor stands on an instruction to execute, or at the end.
  void settle() {
    while (section_ != Section::kDone) {
      code_ = &code_of(section_);
      if (index_ < code_->size()) {
        const int ahead = (*code_)[index_].tiles_ahead;
        const std::int64_t end = program_->persistent ? last_end_ : segment_end_;
        if (ahead == 0 || iteration_ + ahead < end) {
          return;
        }
        ++index_;
        continue;
      }
      next_section();
    }
  }

  const std::vector<WarpInstruction>& code_of(Section section) const {
    switch (section) {
      case Section::kPrologue:
        return program_->prologue;
      case Section::kLoop:
        return program_->loop;
      case Section::kPartialEpilogue:
        return program_->partial_epilogue;
      case Section::kFixUp:
        return program_->fix_up;
      default:
        return program_->epilogue;
    }
  }

  void next_section() {
    index_ = 0;
    switch (section_) {
      case Section::kPrologue:
        section_ = iteration_ < segment_end_ ? Section::kLoop : Section::kEpilogue;
        break;
      case Section::kLoop:
        if (iteration_ + 1 < segment_end_) {
          ++iteration_;
        } else {
          end_segment();
        }
        break;
      case Section::kFixUp:
        if (--peers_left_ == 0) {
          section_ = Section::kEpilogue;
        }
        break;
      default:
        next_segment();
        break;
    }
  }

  void end_segment() {
    section_ = Section::kEpilogue;
    if (!segments_.empty()) {
      const WorkSegment& segment = segments_[segment_];
      peers_left_ = segment.peers;
      section_ = !segment.finishes   ? Section::kPartialEpilogue
                 : segment.peers > 0 ? Section::kFixUp
                                     : Section::kEpilogue;
    }
  }

  void next_segment() {
    if (segment_ + 1 >= segments_.size()) {
      section_ = Section::kDone;
      return;
    }
    ++segment_;
    iteration_ = segment_end_;
    segment_end_ += segments_[segment_].k_tiles;
    section_ = program_->persistent ? Section::kLoop : Section::kPrologue;
  }

  const WarpProgram* program_ = nullptr;
  std::span<const WorkSegment> segments_;  ///< none: one output tile
  const std::vector<WarpInstruction>* code_ = nullptr;
  Section section_ = Section::kPrologue;
  std::size_t index_ = 0;
  std::int64_t iteration_ = 0;
  std::size_t segment_ = 0;
  std::int64_t segment_end_ = 0;  ///< iteration behind the segment
  std::int64_t last_end_ = 0;     ///< and behind all of them
  int peers_left_ = 0;
};

}  // namespace sptc::isa
