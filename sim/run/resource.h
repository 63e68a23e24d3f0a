// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sptc::sim {

/// What the duration of a launch depends on.
enum class Resource {
  kTensor,        ///< tensor cores and what feeds them operands
  kSharedMemory,  ///< bandwidth
  kL2,            ///< bandwidth
  kDram,          ///< bandwidth
  kWaits,         ///< latency of the memory, barriers, filling and emptying of the pipeline
  kLaunch,
  kRates,  ///< the first four together
};
/// Each by itself.
inline constexpr std::array kResources{Resource::kTensor, Resource::kSharedMemory,
                                       Resource::kL2,     Resource::kDram,
                                       Resource::kWaits,  Resource::kLaunch};

/// As `bound_by` of reports names it: tensor, smem, l2, hbm, latency or launch; and rates.
std::string_view report_name(Resource resource);

/// One figure for each resource.
template <int kInitial>
class OfResources {
 public:
  OfResources() { of_.fill(kInitial); }
  double& operator[](Resource resource) { return of_[static_cast<std::size_t>(resource)]; }
  double operator[](Resource resource) const { return of_[static_cast<std::size_t>(resource)]; }

 private:
  std::array<double, kResources.size() + 1> of_;
};

/// Rates, as multiples of what they are.
using Speeds = OfResources<1>;
/// Shares of the time of a launch that go where the resource is twice as fast.
using SavedTime = OfResources<0>;

}  // namespace sptc::sim
