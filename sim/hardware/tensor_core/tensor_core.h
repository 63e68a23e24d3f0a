// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/wire.h"
#include "sim/hardware/tensor_core/align_add_stage.h"
#include "sim/hardware/tensor_core/metadata_selector.h"
#include "sim/hardware/tensor_core/multiply_stage.h"
#include "sim/hardware/tensor_core/operand_fetch.h"
#include "sim/hardware/tensor_core/passage_memo.h"
#include "sim/hardware/tensor_core/round_write_back_stage.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"
#include "sim/hardware/tensor_core/tokens.h"

#include <cstdint>
#include <functional>

namespace sptc::tensor_core {

/// A stage at work on a step of an instruction in the cycles [begin, end): those of the wire behind
/// it.
struct StageWork {
  enum class Stage : std::uint8_t { kFetch, kSelect, kMultiply, kAlignAdd, kRound };
  Stage stage = Stage::kFetch;
  int step = 0;
  std::int64_t begin = 0, end = 0;
};

/// One tensor core: five stages and the wires between them.
///
///   issue -> [operand fetch] -> fetched -> [metadata selector] -> selected -> [multiply] ->
///   products
///         -> [align, add] -> sums -> [round, write back] -> done
///              ^ credit from multiply to fetch        feedback from round to multiply ^
///
/// Dense and sparse instructions take the same way. The latency of a stage is the latency of the
/// wire behind it, and is stated there alone: connecting the wires adds up the ways that pass()
/// takes. Wires are public so that a waveform or a test can tap them.
///
/// Without values and taps pass() computes at once what the tokens would do, with the same
/// limiters, or knows it.
class TensorCore : public sc_core::sc_module {
 public:
  sc_core::sc_port<base::WireIn<MmaIssue>> issue_in{"issue_in"};
  sc_core::sc_port<base::WireOut<OperandsReadToken>> operands_read_out{"operands_read_out"};
  sc_core::sc_port<base::WireOut<MmaDoneToken>> done_out{"done_out"};

  TensorCore(const sc_core::sc_module_name& name, const base::Clock& clock, const TensorCoreSpec& spec,
             const RegisterFile& registers);

  /// What is passed from here on are instructions of `context` that are like `instruction`.
  void expect(const mma::StepContext& context, const isa::WarpInstruction& instruction);
  /// What comes from here on may come with tokens.
  void expect_tokens();
  /// The way of `instruction` of the warp in `warp_slot` through the stages, which reaches the
  /// operand fetch in cycle `arrival`. All instructions that are inside at once must be of one
  /// kernel.
  Passage pass(int warp_slot, const isa::WarpInstruction& instruction, std::int64_t arrival);
  /// Shows the stages all passages: their activity is right then. To be called when the last
  /// instruction is through.
  void catch_up();
  /// Tells `observer` of each stage that begins to work on a step of the instruction `id`.
  void observe(const std::function<void(std::uint64_t id, const StageWork&)>& observer);
  /// Whether somebody looks at the wires.
  bool tapped() const;
  const TensorCoreSpec& spec() const { return spec_; }

  base::Wire<FetchedToken> fetched;
  base::Wire<SelectedToken> selected;
  base::Wire<ProductsToken> products;
  base::Wire<SumsToken> sums;
  base::Wire<FeedbackToken> feedback;
  base::Wire<CreditToken> credit;

  OperandFetch operand_fetch;
  MetadataSelector metadata_selector;
  MultiplyStage multiply;
  AlignAddStage align_add;
  RoundWriteBackStage round_write_back;

 private:
  Passage compute(const RegisterBanks::Demand& demand, std::int64_t arrival);
  template <typename Visitor>
  void visit_backlog(Visitor& visitor) {
    metadata_selector.visit_backlog(visitor);
    multiply.visit_backlog(visitor);
    round_write_back.visit_backlog(visitor);
    operand_fetch.visit_backlog(visitor);
  }

  const base::Clock& clock_;
  const TensorCoreSpec spec_;
  // Cycles between the stages that pass() asks: one wire, or several with a stage between them that
  // takes all that comes.
  int to_selector_ = 0, to_multipliers_ = 0, to_rounding_ = 0;
  int back_ = 0;    ///< of an accumulator, to the multipliers
  int credit_ = 0;  ///< the multipliers have room, until the fetch knows
  // Work of the expected instructions.
  StepWork work_;
  isa::WarpInstruction kind_;
  PassageMemo memo_;
  std::int64_t skipped_ = 0;  ///< passages that the stages have not seen
};

}  // namespace sptc::tensor_core
