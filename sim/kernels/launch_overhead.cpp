// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/launch_overhead.h"

namespace sptc::kernels {

double launch_overhead_us(const GemmKernel& kernel, const KernelEstimate& form,
                          const KernelLibrarySpec& library) {
  const double stream_us = library.stream_us_for(kernel.instruction.sparse);
  switch (kernel.problem.conditions.launch) {
    case LaunchMode::kGraph:
      return form.outside_us();
    case LaunchMode::kStream:
      return form.outside_us() + stream_us;
    case LaunchMode::kEager:
      return form.outside_us() + 2 * stream_us;  // there, and back
  }
  return 0;
}

}  // namespace sptc::kernels
