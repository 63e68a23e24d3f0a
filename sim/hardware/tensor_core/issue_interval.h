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

struct StepContext;
}  // namespace sptc::tensor_core

namespace sptc::tensor_core {

/// What one step of a matrix instruction takes of the stages: the same for all instructions of a
/// kernel.
struct StepWork {
  int steps = 0;                   ///< of an instruction
  std::int64_t operands = 0;       ///< elements of B handed to multipliers, a product each
  std::int64_t by_metadata = 0;    ///< of those, picked by metadata
  std::int64_t operand_bytes = 0;  ///< what they take of the selector's output
  // Bytes of operand A that the multiplier array could have taken meanwhile.
  std::int64_t array_bytes = 0;
  std::int64_t extra_bytes_of_last = 0;  ///< beside, of the last step
  /// Cycles of the last step, in extra_bytes_of_last: they hold back the next instruction, and no
  /// result.
  std::int64_t idle_cycles_of_last = 0;
  /// The array is kept so many times as long as its arithmetic takes: cards that sell a lower rate
  /// with f32 accumulators hold instructions back, and not results. An RTX 5070 Ti measures 29
  /// cycles with f16 sums, which take 16 of them, and 34 with f32 sums at half the rate.
  int holding_back = 1;

  bool operator==(const StepWork&) const = default;
};

StepWork step_work(const TensorCoreSpec& spec, const mma::StepContext& context);

/// Bytes of operand A per row that one step of `rules` takes.
int step_bytes(const mma::StepRules& rules, const mma::MmaInstruction& instruction);

/// The instruction as it passes the tensor core of `spec`, for its time alone: in the rounding
/// steps of `numerics` with the accumulator of that tensor core. Sums that are exact, and those
/// that the numerics do not have, in equal steps, none wider than the dot units.
mma::StepContext timed_context(const TensorCoreSpec& spec, std::string_view numerics,
                               const mma::MmaInstruction& instruction);

/// Cycles that the multiplier array of `spec` works on the instruction of `context`, or takes no
/// other one.
double multiply_cycles(const TensorCoreSpec& spec, const mma::StepContext& context);

/// Cycles between two instructions like this one where nothing else is in their way: the slowest
/// of the multipliers and the register-file ports, where the metadata take `metadata_wait` cycles
/// longer.
double issue_interval(const TensorCoreSpec& spec, const mma::StepContext& context,
                      const isa::WarpInstruction& instruction, int metadata_wait = 0);

}  // namespace sptc::tensor_core
