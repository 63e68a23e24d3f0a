// SPDX-License-Identifier: Apache-2.0
#include "sim/gemm/launch_overhead.h"

#include <algorithm>

namespace sptc::sim {

double launch_overhead_us(const GemmKernel& kernel, const KernelEstimate& form,
                          const KernelLibrarySpec& library, double in_sms_us) {
  const int kernels = kernel.split_k > 1 ? 2 : 1;
  const double host_us =
      kernels * (kernel.instruction.sparse ? library.sparse_host_us : library.host_us);
  switch (kernel.problem.conditions.launch) {
    case LaunchMode::kGraph:
      return form.outside_us();
    case LaunchMode::kStream:
      return std::max(form.outside_us(), host_us - in_sms_us);
    case LaunchMode::kEager:
      return form.outside_us() + host_us;
  }
  return 0;
}

}  // namespace sptc::sim
