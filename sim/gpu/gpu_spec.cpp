// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/gpu_spec.h"

#include "models/base/error.h"
#include "models/mma/design.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/sparsity/pattern.h"

#include <string>

namespace sptc::gpu {

mma::StepRules GpuSpec::step_rules(const mma::MmaInstruction& instruction) const {
  return mma::with_accumulator(mma::step_rules(numerics, instruction), sm.tensor_core.accumulator_design(),
                               instruction);
}

void GpuSpec::require_selector(const sparsity::Pattern& pattern, const std::string& what) const {
  const int inputs = sm.tensor_core.selector_inputs;
  if (pattern.candidates() > inputs) {
    throw base::InputError("'" + name + "' cannot run " + what + ": its selector has " + std::to_string(inputs) +
                           (inputs == 1 ? " input" : " inputs") + " and the pattern needs " +
                           std::to_string(pattern.candidates()));
  }
}

}  // namespace sptc::gpu
