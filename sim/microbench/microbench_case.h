// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "models/mma/instruction.h"

#include <string>
#include <string_view>
#include <variant>

namespace sptc::microbench {

/// A matrix instruction; wgmma with A in registers (RS) or in shared memory (SS), mma.sp with the
/// metadata of all chains in the same lanes of a quad or, selectors in turn, in the next ones.
struct MatrixInstruction {
  mma::MmaInstruction instruction;
  bool a_in_registers = false;     ///< wgmma only
  bool selectors_in_turn = false;  ///< mma.sp only

  bool operator==(const MatrixInstruction&) const = default;
};

/// ldmatrix.x1/.x2/.x4, or ld.shared.u32.
struct SharedLoad {
  int registers = 1;      ///< per lane: 1, 2 or 4
  int conflict_ways = 1;  ///< lanes of a wavefront that meet in the most used bank; ld.shared only
  bool matrix = false;

  bool operator==(const SharedLoad&) const = default;
};

/// Copies from lines in the L2 to shared memory: cp.async of 16 bytes by every lane, or bulk copies
/// of `bytes` by one lane of each warp. As many as there are chains are issued at once and waited
/// for.
struct AsyncCopy {
  int bytes = 16;
  bool bulk = false;

  bool operator==(const AsyncCopy&) const = default;
};

/// Loads of lines in the L1 into registers: ld.global.ca of u32, or of v4.u32.
struct GlobalLoad {
  int registers = 1;  ///< per lane: 1 or 4

  bool operator==(const GlobalLoad&) const = default;
};

using BenchInstruction = std::variant<MatrixInstruction, SharedLoad, AsyncCopy, GlobalLoad>;

/// "mma.sync.aligned.m16n8k16....", "wgmma.mma_async....f16 rs", "ldmatrix.x4",
/// "ld.shared.u32 4-way", "cp.async 16", "cp.async.bulk 4096", "ld.global.ca.u32". Selectors are
/// not part of it.
std::string name_of(const BenchInstruction& instruction);

/// The instruction that `name` spells: what name_of writes, with the parts of a PTX name that
/// always are the same left out where one likes; mma.sp may be followed by " in turn", for its
/// selectors. Throws InputError.
BenchInstruction parse_bench_instruction(const std::string& name);

/// What `instruction`, of which `entry` is that of a target, runs as there, as the catalogue writes
/// it: where nobody has published that, as on Hopper. Empty where that does not have it.
std::string runs_as(const mma::CatalogueEntry& entry, const mma::MmaInstruction& instruction);

/// Of that: two machine instructions for one, whose time is not modelled.
bool are_two(std::string_view machine_instructions);

/// PTX ISA: from sm_75 on.
bool has_ldmatrix(const mma::Target& target);

/// One microbenchmark: `warps` warps on an SM, each with `ilp` chains of dependent instructions.
struct MicrobenchCase {
  BenchInstruction instruction;
  int warps = 1;
  int ilp = 1;
};

}  // namespace sptc::microbench
