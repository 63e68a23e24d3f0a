// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/stages.h"
#include "models/mma/step_rules.h"
#include "sim/config/architecture.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/hardware/sm/kernel_launch.h"
#include "sim/kernels/gemm_traffic.h"
#include "sim/kernels/kernel_choice.h"
#include "sim/kernels/kernel_overrides.h"
#include "sim/kernels/warp_program.h"

#include <cstdint>
#include <string>

namespace sptc::support {

/// `spec` with so many SMs.
inline gpu::GpuSpec with_sms(gpu::GpuSpec spec, int sms) {
  spec.sms = sms;
  return spec;
}

/// The architecture `name` with so many SMs.
inline gpu::GpuSpec gpu_with_sms(const std::string& name, int sms) {
  return with_sms(config::load_architecture(name).gpu, sms);
}

/// A GEMM kernel and all that a launch of it without values points to.
struct GemmGrid {
  /// `values`: it is one that values can travel through.
  GemmGrid(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides, const gpu::GpuSpec& spec,
           bool values)
      : kernel(kernels::choose_kernel(problem, overrides, spec.kernel_target(), values)),
        context(mma::StepContext::timing_only(kernel.executed, spec.sm.tensor_core.dot_width_bytes)),
        program(kernels::gemm_warp_program(kernel, kernel.k_tiles())),
        traffic(kernel) {}

  sm::KernelLaunch launch(std::int64_t ctas, int ctas_per_sm = 1) const {
    return {.program = &program,
            .mma_context = &context,
            .warps_per_cta = kernel.warps(),
            .ctas_per_sm = ctas_per_sm,
            .ctas = ctas,
            .traffic = &traffic};
  }

  kernels::GemmKernel kernel;
  mma::StepContext context;
  isa::WarpProgram program;
  kernels::GemmTraffic traffic;
};

}  // namespace sptc::support
