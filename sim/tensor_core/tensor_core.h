// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/wire.h"
#include "sim/tensor_core/align_add_stage.h"
#include "sim/tensor_core/metadata_selector.h"
#include "sim/tensor_core/multiply_stage.h"
#include "sim/tensor_core/operand_fetch.h"
#include "sim/tensor_core/round_write_back_stage.h"
#include "sim/tensor_core/tensor_core_spec.h"
#include "sim/tensor_core/tokens.h"

namespace sptc::sim {

/// One tensor core: five stages and the wires between them.
///
///   issue -> [operand fetch] -> fetched -> [metadata selector] -> selected -> [multiply] ->
///   products
///         -> [align, add] -> sums -> [round, write back] -> done
///              ^ credit from multiply to fetch        feedback from round to multiply ^
///
/// Dense and sparse instructions take the same way. The latency of a stage is the latency of the
/// wire behind it. Wires are public so that a waveform or a test can tap them.
///
/// Where no values travel and no wire is tapped, nothing happens between the stages that only they
/// know: pass() computes at once what the tokens would do, with the same limiters.
class TensorCore : public sc_core::sc_module {
 public:
  sc_core::sc_port<WireIn<MmaIssue>> issue_in{"issue_in"};
  sc_core::sc_port<WireOut<OperandsReadToken>> operands_read_out{"operands_read_out"};
  sc_core::sc_port<WireOut<MmaDoneToken>> done_out{"done_out"};

  TensorCore(const sc_core::sc_module_name& name, const Clock& clock, const TensorCoreSpec& spec,
             const OperandRegisters& registers);

  /// Cycles of an instruction in the tensor core.
  struct Passage {
    std::int64_t operands_read = 0;  ///< its source registers are free
    std::int64_t done = 0;           ///< D is complete
  };
  /// What is passed from here on are instructions of `context`.
  void expect(const mma::StepContext& context);
  /// The way of `instruction` of the warp in `warp_slot` through the stages, which reaches the
  /// operand fetch in cycle `arrival`. All instructions that are inside at once must be of one
  /// kernel.
  Passage pass(int warp_slot, const WarpInstruction& instruction, std::int64_t arrival);
  /// Whether somebody looks at the wires.
  bool tapped() const;

  Wire<FetchedToken> fetched;
  Wire<SelectedToken> selected;
  Wire<ProductsToken> products;
  Wire<SumsToken> sums;
  Wire<FeedbackToken> feedback;
  Wire<CreditToken> credit;

  OperandFetch operand_fetch;
  MetadataSelector metadata_selector;
  MultiplyStage multiply;
  AlignAddStage align_add;
  RoundWriteBackStage round_write_back;

 private:
  const TensorCoreSpec spec_;
  StepWork work_;  ///< of the expected instructions
};

}  // namespace sptc::sim
