// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/register_map.h"
#include "models/mma/stages.h"
#include "sim/base/payload.h"
#include "sim/hardware/isa/warp_instruction.h"

#include <cstdint>

namespace sptc::tensor_core {

// What travels on the wires of a tensor core. Every token carries the instruction it belongs to;
// the payload (the bits) is absent when only time is simulated, and no block looks at it to decide
// *when*.

/// A matrix instruction on its way: what the scheduler sends.
struct MmaIssue {
  std::uint64_t id = 0;                       ///< unique within a sub-partition, increasing
  const mma::StepContext* context = nullptr;  ///< types and rules
  const mma::RegisterMap* registers = nullptr;
  int warp_slot = 0;
  const isa::WarpInstruction* instruction = nullptr;

  bool carries_values = false;
};

/// Fetch -> selector, once per instruction.
struct FetchedToken {
  MmaIssue issue;
  base::Payload<mma::FetchedOperands> payload;
};

/// Selector -> multipliers, once per step.
struct SelectedToken {
  MmaIssue issue;
  int step = 0;
  base::Payload<mma::SelectedOperands> payload;
  base::Payload<mma::Accumulators> accumulator;  ///< C; step 0 only

  bool is_last() const { return step + 1 == issue.context->steps; }
};

/// What a step leaves behind the multipliers, once per step.
template <typename Bits>
struct StepToken {
  MmaIssue issue;
  int step = 0;
  std::int64_t occupied_cycles = 0;  ///< cycles that the step kept the multipliers busy
  base::Payload<Bits> payload;

  bool is_last() const { return step + 1 == issue.context->steps; }
};
using ProductsToken = StepToken<mma::Products>;  ///< multipliers -> alignment
using SumsToken = StepToken<mma::AlignedSums>;   ///< alignment and addition -> rounding

/// Rounding -> multipliers: the accumulator of the next step of the same instruction.
struct FeedbackToken {
  std::uint64_t id = 0;
  int next_step = 0;
  base::Payload<mma::RoundedResults> payload;
};

/// Multipliers -> fetch: room for one more instruction.
struct CreditToken {};

/// Fetch -> scheduler: the source registers of an instruction have been read.
struct OperandsReadToken {
  MmaIssue issue;
};

/// Write-back -> scheduler: D is complete.
struct MmaDoneToken {
  MmaIssue issue;
  base::Payload<mma::RoundedResults> payload;
};

}  // namespace sptc::tensor_core
