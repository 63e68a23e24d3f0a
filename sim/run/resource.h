// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace sptc::sim {

/// What the duration of a launch depends on.
enum class Resource {
  kTensor,        ///< tensor cores and what feeds them operands
  kSharedMemory,  ///< bandwidth
  kSmPort,        ///< bandwidth between each SM and the L2
  kL2,            ///< bandwidth
  kDram,          ///< bandwidth
  kWaits,         ///< latency of the memory, barriers, filling and emptying of the pipeline
  kLaunch,
  kRates,          ///< the first five together
  kRegisterBanks,  ///< bandwidth, a part of kTensor: see faster()
};
/// What works at a rate.
inline constexpr std::array kRates{Resource::kTensor, Resource::kSharedMemory, Resource::kSmPort,
                                   Resource::kL2, Resource::kDram};
/// Each by itself.
inline constexpr std::array kResources{
    Resource::kTensor, Resource::kSharedMemory, Resource::kSmPort, Resource::kL2,
    Resource::kDram,   Resource::kWaits,        Resource::kLaunch};

/// As `bound_by` of reports names it: tensor, smem, sm_port, l2, hbm, latency or launch; and rates,
/// register_banks.
std::string_view report_name(Resource resource);

/// One figure for each resource.
template <int kInitial>
class OfResources {
 public:
  OfResources() { of_.fill(kInitial); }
  double& operator[](Resource resource) { return of_[static_cast<std::size_t>(resource)]; }
  double operator[](Resource resource) const { return of_[static_cast<std::size_t>(resource)]; }
  double most() const { return *std::max_element(of_.begin(), of_.end()); }
  bool operator==(const OfResources&) const = default;

 private:
  std::array<double, kResources.size() + 2> of_;
};

/// Rates, as multiples of what they are.
using Speeds = OfResources<1>;
/// Shares of the time of a launch that go where the resource is twice as fast.
using SavedTime = OfResources<0>;

/// Two rates that are twice as fast at once, and the share of the time that goes then.
struct SavedByPair {
  Resource busier = Resource::kTensor, other = Resource::kTensor;
  double saved = 0;
};

/// A design on which a sparse launch should take half of the dense one, and what it was simulated
/// to take.
struct NeededDesign {
  Speeds speeds;
  double speedup = 0;    ///< over the dense launch on the design as it is
  double clock_mhz = 0;  ///< of the launches that were simulated
};

/// A sparse launch on a design of which all rates are faster, with the kernel that the library has
/// for that design.
struct RetunedDesign {
  double times_as_fast = 1;
  double us = 0;
  GemmShape cta_tile{};
  int stages = 0;
  int split_k = 1;
};

}  // namespace sptc::sim
