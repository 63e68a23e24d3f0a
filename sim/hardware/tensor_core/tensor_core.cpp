// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/tensor_core.h"

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <utility>

namespace sptc::tensor_core {
namespace {

/// The table of the passages of instructions like `kind` that take `work` of tensor cores of
/// `spec`. The latest ones that were asked for are kept.
std::shared_ptr<PassageTable> passage_table(const TensorCoreSpec& spec, const StepWork& work,
                                            const isa::WarpInstruction& kind) {
  constexpr std::size_t kMostTables = 16;
  struct OfKind {
    TensorCoreSpec spec;
    StepWork work;
    isa::WarpInstruction kind;
    std::shared_ptr<PassageTable> table;
  };
  static std::list<OfKind> all;  // the latest in front
  const auto found = std::find_if(all.begin(), all.end(), [&](const OfKind& one) {
    return one.work == work && one.kind.is_like(kind) && one.spec == spec;
  });
  if (found != all.end() && !found->table->full()) {
    return found->table;
  }
  if (found != all.end()) {
    all.erase(found);
  }
  all.push_front({spec, work, kind, std::make_shared<PassageTable>()});
  if (all.size() > kMostTables) {
    all.pop_back();
  }
  return all.front().table;
}

}  // namespace

TensorCore::TensorCore(const sc_core::sc_module_name& name, const base::Clock& clock, const TensorCoreSpec& spec,
                       const RegisterFile& registers)
    : sc_core::sc_module(name),
      // The way from the scheduler to the operand fetch takes the first of the fetch cycles.
      fetched("fetched", clock, spec.operand_fetch_latency_cycles - 1),
      selected("selected", clock, spec.selector_latency_cycles),
      products("products", clock, spec.multiply_latency_cycles),
      sums("sums", clock, spec.align_add_latency_cycles),
      feedback("feedback", clock, spec.round_latency_cycles),
      credit("credit", clock, 1),
      operand_fetch("operand_fetch", clock, spec, registers),
      metadata_selector("metadata_selector", clock, spec),
      multiply("multiply", clock, spec),
      align_add("align_add", clock),
      round_write_back("round_write_back", clock, spec),
      clock_(clock),
      spec_(spec) {
  operand_fetch.issue_in(issue_in);
  operand_fetch.operands_read_out(operands_read_out);
  round_write_back.done_out(done_out);
  to_selector_ = base::connect(operand_fetch.fetched_out, fetched, metadata_selector.fetched_in);
  to_multipliers_ = base::connect(metadata_selector.selected_out, selected, multiply.selected_in);
  to_rounding_ = base::connect(multiply.products_out, products, align_add.products_in) +
                 base::connect(align_add.sums_out, sums, round_write_back.sums_in);
  back_ = base::connect(round_write_back.feedback_out, feedback, multiply.feedback_in);
  credit_ = base::connect(multiply.credit_out, credit, operand_fetch.credit_in);
}

void TensorCore::expect(const mma::StepContext& context, const isa::WarpInstruction& instruction) {
  metadata_selector.require_inputs(context.instruction);
  const StepWork work = step_work(spec_, context);
  if (work != work_ || !instruction.is_like(kind_)) {
    expect_tokens();
    work_ = work;
    kind_ = instruction;
    memo_.use(passage_table(spec_, work_, kind_));
  }
}

void TensorCore::expect_tokens() {
  catch_up();
  memo_.lose_track();
}

Passage TensorCore::pass(int warp_slot, const isa::WarpInstruction& instruction, std::int64_t arrival) {
  const RegisterBanks::Demand demand = operand_fetch.banks.demand(warp_slot, instruction);
  const std::optional<std::uint64_t> code = demand.code();
  if (const Passage* known = code ? memo_.find(arrival, *code) : nullptr; known != nullptr) {
    operand_fetch.banks.keep(demand);
    ++skipped_;
    return *known;
  }
  catch_up();
  const Passage passage = compute(demand, arrival);
  if (code) {
    SaveBacklog left(passage.operands_read);
    visit_backlog(left);
    memo_.learn(passage, std::move(left).backlog());
  } else {
    memo_.lose_track();
  }
  return passage;
}

void TensorCore::catch_up() {
  if (skipped_ == 0) {
    return;
  }
  operand_fetch.count(kind_, skipped_);
  metadata_selector.skipped(work_, skipped_ * work_.steps);
  multiply.skipped(work_, skipped_);
  skipped_ = 0;
  LoadBacklog left(*memo_.backlog(), memo_.latest());
  visit_backlog(left);
}

Passage TensorCore::compute(const RegisterBanks::Demand& demand, std::int64_t arrival) {
  Passage passage;
  passage.operands_read = operand_fetch.pass(demand, arrival);
  const std::int64_t fetched_at = passage.operands_read + to_selector_;
  std::int64_t multiplied_at = 0, sent = 0;
  for (int step = 0; step < work_.steps; ++step) {
    const std::int64_t selected_at = metadata_selector.pass(work_, fetched_at);
    multiplied_at = multiply.pass(work_, step, selected_at + to_multipliers_);
    const std::int64_t accumulator_at = step == 0 ? 0 : sent + to_rounding_ + back_;
    sent = std::max(multiplied_at, accumulator_at);
  }
  operand_fetch.add_credit_at(sent + credit_);
  passage.done =
      round_write_back.pass(multiply.occupied_since(work_, work_.steps - 1, multiplied_at), sent + to_rounding_);
  return passage;
}

void TensorCore::observe(const std::function<void(std::uint64_t id, const StageWork&)>& observer) {
  using enum StageWork::Stage;
  const auto tell = [observer](const auto& token, int step, StageWork::Stage stage, std::int64_t begin, int cycles) {
    observer(token.issue.id, {stage, step, begin, begin + cycles});
  };
  fetched.add_tap([this, tell](const FetchedToken& token) { tell(token, 0, kFetch, clock_.now(), fetched.latency()); });
  selected.add_tap(
      [this, tell](const SelectedToken& token) { tell(token, token.step, kSelect, clock_.now(), selected.latency()); });
  products.add_tap([this, tell](const ProductsToken& token) {
    tell(token, token.step, kMultiply, clock_.now(), products.latency());
  });
  sums.add_tap([this, tell](const SumsToken& token) {
    tell(token, token.step, kAlignAdd, clock_.now(), sums.latency());
    tell(token, token.step, kRound, clock_.now() + sums.latency(), feedback.latency());
  });
}

bool TensorCore::tapped() const {
  return fetched.tapped() || selected.tapped() || products.tapped() || sums.tapped() || feedback.tapped() ||
         credit.tapped();
}

}  // namespace sptc::tensor_core
