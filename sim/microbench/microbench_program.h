// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/isa/warp_instruction.h"
#include "sim/microbench/microbench_case.h"

namespace sptc::microbench {

/// The loop of a microbenchmark: `ilp` instructions on registers of their own, so that each
/// continues the chain of the same place in the iteration before. Throws InputError where the
/// chains need more than `max_registers` registers.
isa::WarpProgram microbench_program(const BenchInstruction& instruction, int ilp,
                                    std::int64_t iterations, int max_registers);

/// Machine instructions that one PTX instruction becomes: 4 or 2 steps for m8n8k4 of f16, whose
/// shape in PTX is that of a quarter of the warp; else 1.
int machine_instructions(const mma::MmaInstruction& instruction);

}  // namespace sptc::microbench
