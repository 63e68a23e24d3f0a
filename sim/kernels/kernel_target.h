// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace sptc::memory {
struct MemorySpec;
}  // namespace sptc::memory
namespace sptc::sm {
struct SmSpec;
}  // namespace sptc::sm

namespace sptc::kernels {

struct GemmKernel;
struct KernelLibrarySpec;
struct LaunchSpec;

/// The GPU that a kernel is chosen for.
struct KernelTarget {
  const sm::SmSpec& sm;
  const memory::MemorySpec& memory;
  const KernelLibrarySpec& library;
  const LaunchSpec& launch;
  std::int64_t sms;
  double boost_clock_mhz;
  std::string_view instruction_set;  ///< whose matrix instructions it has: "ampere"
  std::string_view numerics;         ///< row set of models/mma/step_rules
  /// Time [us] that DRAM needs for the bytes that are counted of a kernel, tile by tile, or null.
  double (*counted_dram_us)(const GemmKernel& kernel, const KernelTarget& target) = nullptr;
};

}  // namespace sptc::kernels
