// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/launch_overhead.h"

namespace sptc::kernels {

double launch_call_us(LaunchMode launch, bool sparse, const LaunchSpec& spec) {
  const double stream_us = spec.stream_us_for(sparse);
  switch (launch) {
    case LaunchMode::kGraph:
      return 0;
    case LaunchMode::kStream:
      return stream_us;
    case LaunchMode::kEager:
      return 2 * stream_us;  // there, and back
  }
  return 0;
}

double first_copy_us(const GemmKernel& kernel, const LaunchSpec& spec) {
  const bool warpgroups = kernel.executed.family == mma::MmaFamily::kWgmma;
  return spec.launch_us + (kernel.instruction.sparse && warpgroups ? spec.sparse_launch_us : 0);
}

double launch_gap_us(const GemmKernel& kernel, const LaunchSpec& spec) {
  return first_copy_us(kernel, spec) +
         launch_call_us(kernel.problem.conditions.launch, kernel.instruction.sparse, spec);
}

double launch_overhead_us(const GemmKernel& kernel, const KernelEstimate& form,
                          const LaunchSpec& spec) {
  return form.outside_us() +
         launch_call_us(kernel.problem.conditions.launch, kernel.instruction.sparse, spec);
}

}  // namespace sptc::kernels
