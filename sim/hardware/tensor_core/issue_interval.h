// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/tensor_core/tensor_core_spec.h"

#include <cstdint>
#include <string_view>

namespace sptc::isa {
struct WarpInstruction;
}  // namespace sptc::isa
namespace sptc::mma {
struct MmaInstruction;
struct StepContext;
struct StepRules;
}  // namespace sptc::mma

namespace sptc::tensor_core {

/// Bytes of operand A that the multiplier array of `spec` could have taken while it worked on one
/// step of the instruction of `context`: what the step occupies of it.
std::int64_t occupied_bytes(const TensorCoreSpec& spec, const mma::StepContext& context);

/// Bytes of operand A per row that one step of `rules` takes.
int step_bytes(const mma::StepRules& rules, const mma::MmaInstruction& instruction);

/// The instruction as it passes the tensor core of `spec`, for its time alone: in the rounding
/// steps of `numerics` with the accumulator of that tensor core. Sums that are exact, and those
/// that the numerics do not have, in equal steps, none wider than the dot units.
mma::StepContext timed_context(const TensorCoreSpec& spec, std::string_view numerics,
                               const mma::MmaInstruction& instruction);

/// Cycles that each register-file port is busy with an instruction.
struct PortCycles {
  double a = 0, b = 0, accumulator = 0, metadata = 0;
};
PortCycles port_cycles(const TensorCoreSpec& spec, const isa::WarpInstruction& instruction);

/// Cycles that the multiplier array of `spec` works on the instruction of `context`, or takes no
/// other one.
double multiply_cycles(const TensorCoreSpec& spec, const mma::StepContext& context);

/// Cycles between two instructions like this one where nothing else is in their way: the slowest
/// of the multipliers and the register-file ports, where the metadata take `metadata_wait` cycles
/// longer.
double issue_interval(const TensorCoreSpec& spec, const mma::StepContext& context,
                      const isa::WarpInstruction& instruction, int metadata_wait = 0);

}  // namespace sptc::tensor_core
