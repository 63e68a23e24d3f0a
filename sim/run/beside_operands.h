// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/run_result.h"

namespace sptc::run {

/// Bytes that the epilogue of a GEMM moves beside its operands and D.
struct BesideOperands {
  double read = 0;       ///< that the SMs read
  double from_dram = 0;  ///< of those, what the L2 does not hold
  double written = 0;    ///< to L2 and DRAM
};

/// Lets them pass L2 and DRAM beside the operands of a launch: its closed form says how much longer
/// that takes.
void add_beside_operands(const BesideOperands& bytes, const gpu::GpuSpec& gpu,
                         VariantResult& figures);

}  // namespace sptc::run
