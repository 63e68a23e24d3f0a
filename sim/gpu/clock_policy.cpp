// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/clock_policy.h"

#include "sim/gpu/gpu_spec.h"

#include <fmt/format.h>

namespace sptc::sim {

std::string ClockPolicy::name() const {
  switch (kind) {
    case Kind::kBoost:
      return "boost";
    case Kind::kFixed:
      return fmt::format("{} MHz", mhz);
    case Kind::kSustained:
      return "sustained";
  }
  return "";
}

double clock_mhz(const ClockPolicy& policy, const KernelEstimate& estimate, const GpuSpec& gpu) {
  switch (policy.kind) {
    case ClockPolicy::Kind::kFixed:
      return policy.mhz;
    case ClockPolicy::Kind::kSustained:
      return gpu.boost_clock_mhz * sustained_clock_ratio(estimate.utilization(), gpu.kernels);
    case ClockPolicy::Kind::kBoost:
      break;
  }
  return gpu.boost_clock_mhz;
}

}  // namespace sptc::sim
