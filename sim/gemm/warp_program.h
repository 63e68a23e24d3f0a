// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/isa/warp_instruction.h"

namespace sptc::sim {

/// The instruction stream of a warp of `kernel`, `k_tiles` main loop iterations long: a multistage
/// main loop with double-buffered fragments, dense or sparse, then the epilogue that hands out the
/// accumulators.
WarpProgram gemm_warp_program(const GemmKernel& kernel, std::int64_t k_tiles);

}  // namespace sptc::sim
