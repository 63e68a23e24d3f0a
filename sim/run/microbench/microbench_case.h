// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "sim/gpu/gpu_fwd.h"

#include <string>
#include <variant>

namespace sptc::run::microbench {

/// A matrix instruction; wgmma with A in registers (RS) or in shared memory (SS), tcgen05.mma with
/// A in tensor memory (TS) or in shared memory, mma.sp with the metadata of all chains in the same
/// lanes of a quad or, selectors in turn, in the next ones.
struct MatrixInstruction {
  mma::MmaInstruction instruction;  ///< of tcgen05.mma the part of one SM
  bool a_in_registers = false;      ///< wgmma; tcgen05.mma: in tensor memory
  bool selectors_in_turn = false;   ///< mma.sp only
  int cta_group = 1;                ///< tcgen05.mma: SMs that run it together, 1 or 2
  bool waited_for = false;          ///< tcgen05.mma: until all chains are complete, before the next
};

/// An instruction that moves data into registers or into shared memory.
struct Move {
  enum class Kind {
    kLoadMatrix,  ///< ldmatrix of `amount` registers per lane: 1, 2 or 4
    kLoadShared,  ///< ld.shared.u32; of a wavefront `amount` lanes meet in the most used bank
    kLoadGlobal,  ///< ld.global.ca of lines in the L1, `amount` registers per lane: 1 or 4
    kCopy,        ///< cp.async of `amount` bytes by every lane, from lines in the L2
    kBulkCopy,    ///< bulk copies of `amount` bytes by one lane of each warp, from there, too
  };
  Kind kind = Kind::kLoadMatrix;
  int amount = 1;

  /// Whether it moves to shared memory: as many as there are chains are issued at once and waited
  /// for.
  bool is_copy() const { return kind == Kind::kCopy || kind == Kind::kBulkCopy; }
};

using BenchInstruction = std::variant<MatrixInstruction, Move>;

/// "mma.sync.aligned.m16n8k16....", "wgmma.mma_async....f16 rs",
/// "tcgen05.mma.cta_group::2.kind::f16.m256n64k16.... ts waited for", "ldmatrix.x4",
/// "ld.shared.u32 4-way", "cp.async 16", "cp.async.bulk 4096", "ld.global.ca.u32". Selectors are
/// not part of it.
std::string name_of(const BenchInstruction& instruction);

/// The instruction that `name` spells: what name_of writes, with the parts of a PTX name that
/// always are the same left out where one likes; mma.sp may be followed by " in turn", for its
/// selectors. Throws InputError.
BenchInstruction parse_bench_instruction(const std::string& name);

/// Throws InputError where the architecture lacks the instruction, or its time is not modelled.
void require_modelled(const gpu::GpuSpec& spec, const BenchInstruction& instruction);

/// One microbenchmark: `warps` warps on an SM, each with `ilp` chains of dependent instructions.
struct MicrobenchCase {
  BenchInstruction instruction;
  int warps = 1;
  int ilp = 1;
};

}  // namespace sptc::run::microbench
