// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/sparsity/pattern.h"
#include "sim/hardware/memory/memory_spec.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/kernels/kernel_library_spec.h"
#include "sim/kernels/kernel_target.h"
#include "sim/kernels/launch_spec.h"

#include <memory>
#include <string>

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
  mma::StepRules step_rules(const mma::MmaInstruction& instruction) const {
    return mma::with_accumulator(mma::step_rules(numerics, instruction), sm.tensor_core.accumulator_design(),
                                 instruction);
  }

  /// Throws InputError where the selector has too few inputs for `what`, on weights at `pattern`.
  void require_selector(const sparsity::Pattern& pattern, const std::string& what) const {
    const int inputs = sm.tensor_core.selector_inputs;
    if (pattern.candidates() > inputs) {
      throw base::InputError("'" + name + "' cannot run " + what + ": its selector has " + std::to_string(inputs) +
                             (inputs == 1 ? " input" : " inputs") + " and the pattern needs " +
                             std::to_string(pattern.candidates()));
    }
  }

  bool operator==(const GpuSpec&) const = default;

  kernels::KernelTarget kernel_target() const {
    return {sm, memory, kernels, launch, sms, boost_clock_mhz, instruction_set, numerics, counted_dram_us};
  }
};

}  // namespace sptc::gpu
