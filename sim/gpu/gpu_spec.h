// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/memory/memory_spec.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/kernels/kernel_library_spec.h"
#include "sim/kernels/kernel_target.h"
#include "sim/kernels/launch_spec.h"

#include <memory>
#include <string>

namespace sptc::mma {
struct MmaInstruction;
struct StepRules;
}  // namespace sptc::mma
namespace sptc::sparsity {
struct Pattern;
}  // namespace sptc::sparsity

namespace sptc::gpu {

/// KernelTarget::counted_dram_us of the traffic in closed form.
double counted_dram_us(const kernels::GemmKernel& kernel, const kernels::KernelTarget& target);

/// A whole GPU as an architecture file describes it.
struct GpuSpec {
  std::string name;
  std::string numerics;  ///< row set of models/mma/step_rules: "ampere"
  /// The set whose matrix instructions it has (models/mma/catalogue): the numerics of the
  /// architecture file, whatever arithmetic a run asks for.
  std::string instruction_set;
  int sms = 0;
  double boost_clock_mhz = 0;
  sm::SmSpec sm;
  memory::MemorySpec memory;
  kernels::KernelLibrarySpec kernels;
  kernels::LaunchSpec launch;
  /// The design that this one was derived from, at the end of the chain, or nothing: that to whose
  /// measured times the constants of `kernels` were fitted.
  std::shared_ptr<const GpuSpec> fitted_design;

  /// The arithmetic of `instruction`: of the numerics, with the accumulator of the tensor cores.
  /// Throws InputError where the numerics have no such instruction.
  mma::StepRules step_rules(const mma::MmaInstruction& instruction) const;

  /// Throws InputError where the selector has too few inputs for `what`, on weights at `pattern`.
  void require_selector(const sparsity::Pattern& pattern, const std::string& what) const;

  bool operator==(const GpuSpec&) const = default;

  kernels::KernelTarget kernel_target() const {
    return {sm, memory, kernels, launch, sms, boost_clock_mhz, instruction_set, numerics, counted_dram_us};
  }
};

}  // namespace sptc::gpu
