// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/step_rules.h"
#include "sim/gemm/kernel_library_spec.h"
#include "sim/gemm/kernel_target.h"
#include "sim/memory/memory_spec.h"
#include "sim/sm/sm_spec.h"

#include <memory>
#include <string>

namespace sptc::sim {

/// A whole GPU as an architecture file describes it.
struct GpuSpec {
  std::string name;
  std::string numerics;  ///< row set of models/mma/step_rules: "ampere"
  /// Whose matrix instructions it has (models/mma/catalogue); the numerics of the architecture
  /// file, whatever arithmetic a run asks for.
  std::string instruction_set;
  int sms = 0;
  double boost_clock_mhz = 0;
  SmSpec sm;
  MemorySpec memory;
  KernelLibrarySpec kernels;
  /// The design that this one was derived from, at the end of the chain, or nothing: that to whose
  /// measured times the constants of `kernels` were fitted.
  std::shared_ptr<const GpuSpec> fitted_design;

  /// The arithmetic of `instruction`: of the numerics, with the accumulator of the tensor cores.
  /// Throws InputError where the numerics have no such instruction.
  mma::StepRules step_rules(const mma::MmaInstruction& instruction) const {
    return mma::with_accumulator(mma::step_rules(numerics, instruction),
                                 sm.tensor_core.accumulator_design(), instruction);
  }

  KernelTarget kernel_target() const {
    return {sm, memory, kernels, sms, boost_clock_mhz, instruction_set, numerics};
  }
};

}  // namespace sptc::sim
