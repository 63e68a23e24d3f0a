// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/isa/warp_instruction.h"
#include "sim/kernels/gemm_kernel.h"

namespace sptc::kernels {

/// The instruction stream of a warp of `kernel`, `k_tiles` main loop iterations long: a multistage
/// main loop with double-buffered fragments, dense or sparse, then the epilogue that hands out the
/// accumulators.
isa::WarpProgram gemm_warp_program(const GemmKernel& kernel, std::int64_t k_tiles);

}  // namespace sptc::kernels
