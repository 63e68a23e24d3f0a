// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"

#include <string>
#include <variant>

namespace sptc::sim {

/// A matrix instruction; wgmma with A in registers (RS) or in shared memory (SS).
struct MatrixInstruction {
  mma::MmaInstruction instruction;
  bool a_in_registers = false;  ///< wgmma only

  bool operator==(const MatrixInstruction&) const = default;
};

/// ldmatrix.x1/.x2/.x4, or ld.shared.u32.
struct SharedLoad {
  int registers = 1;      ///< per lane: 1, 2 or 4
  int conflict_ways = 1;  ///< lanes of a wavefront that meet in the most used bank; ld.shared only
  bool matrix = false;

  bool operator==(const SharedLoad&) const = default;
};

using BenchInstruction = std::variant<MatrixInstruction, SharedLoad>;

/// "mma.sync.aligned.m16n8k16....", "wgmma.mma_async....f16 rs", "ldmatrix.x4",
/// "ld.shared.u32 4-way".
std::string name_of(const BenchInstruction& instruction);

/// The instruction that `name` spells: what name_of writes, with the parts of a PTX name that
/// always are the same left out where one likes. Throws InputError.
BenchInstruction parse_bench_instruction(const std::string& name);

/// One microbenchmark: `warps` warps on an SM, each with `ilp` chains of dependent instructions.
struct MicrobenchCase {
  BenchInstruction instruction;
  int warps = 1;
  int ilp = 1;
};

}  // namespace sptc::sim
