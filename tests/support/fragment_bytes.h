// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/isa/warp_instruction.h"
#include "sim/kernels/gemm_kernel.h"

#include <cstdint>

namespace sptc::support {

/// Bytes that all warps of all CTAs load from shared memory with the instructions of `program`, the
/// program of `kernel` with its full depth.
inline std::int64_t fragment_bytes(const kernels::GemmKernel& kernel, const isa::WarpProgram& program) {
  std::int64_t per_warp = 0;
  for (const auto* code : {&program.prologue, &program.loop}) {
    for (const isa::WarpInstruction& instruction : *code) {
      if (instruction.opcode == isa::Opcode::kLoadMatrix) {
        const std::int64_t times = code == &program.loop ? program.iterations - instruction.tiles_ahead : 1;
        per_warp += times * instruction.d.bytes();
      }
    }
  }
  return per_warp * kernel.warps() * kernel.ctas();
}

}  // namespace sptc::support
