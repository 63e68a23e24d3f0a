// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/operand_fetch.h"

#include <algorithm>

namespace sptc::tensor_core {

OperandFetch::OperandFetch(const sc_core::sc_module_name& name, const base::Clock& clock, const TensorCoreSpec& spec,
                           const RegisterFile& registers)
    : base::Module(name, clock),
      banks(spec),
      registers_(registers),
      a_port_(spec.operand_a_port_bytes_per_cycle),
      b_port_(spec.operand_b_port_bytes_per_cycle),
      accumulator_port_(spec.accumulator_port_bytes_per_cycle),
      metadata_port_(spec.metadata_port_bytes_per_cycle),
      credits_(spec.instruction_window) {
  run_on(issue_in, credit_in);
}

void OperandFetch::on_event() {
  while (issue_in->can_read()) {
    waiting_.push_back(issue_in->read());
  }
  while (credit_in->can_read()) {
    credit_in->read();
    ++credits_;
  }
  take_credits(now());
  while (!waiting_.empty() && credits_ > 0) {
    MmaIssue& issue = waiting_.front();
    const RegisterBanks::Demand demand = banks.demand(issue.warp_slot, *issue.instruction);
    const std::int64_t ready = ports_ready_at(demand, now());
    if (ready > now()) {
      wake_at(ready);
      return;
    }
    occupy_ports(demand, now());
    --credits_;
    operands_read_out->write({issue});
    base::Payload<mma::FetchedOperands> payload = issue.carries_values ? read_operands(issue) : nullptr;
    fetched_out->write({issue, std::move(payload)});
    waiting_.pop_front();
  }
}

void OperandFetch::take_credits(std::int64_t cycle) {
  while (!credit_cycles_.empty() && credit_cycles_.front() <= cycle) {
    credit_cycles_.pop_front();
    ++credits_;
  }
}

std::int64_t OperandFetch::pass(const RegisterBanks::Demand& demand, std::int64_t arrival) {
  std::int64_t start = std::max(arrival, passed_);
  take_credits(start);
  if (credits_ == 0) {
    base::ensure(!credit_cycles_.empty(), "an instruction waits for room that nobody makes");
    start = credit_cycles_.front();
    take_credits(start);
  }
  --credits_;
  start = ports_ready_at(demand, start);
  occupy_ports(demand, start);
  passed_ = start;
  return start;
}

std::int64_t OperandFetch::ports_ready_at(const RegisterBanks::Demand& demand, std::int64_t cycle) const {
  std::int64_t ready = std::max({a_port_.ready_at(cycle), b_port_.ready_at(cycle), accumulator_port_.ready_at(cycle),
                                 banks.ready_at(cycle, demand)});
  if (demand.instruction->metadata.count > 0) {
    ready = std::max(ready, metadata_port_.ready_at(cycle));
  }
  return ready;
}

void OperandFetch::occupy_ports(const RegisterBanks::Demand& demand, std::int64_t cycle) {
  const isa::WarpInstruction& instruction = *demand.instruction;
  banks.read(cycle, demand);
  a_port_.take(cycle, instruction.a.bytes());
  b_port_.take(cycle, instruction.b.bytes());
  accumulator_port_.take(cycle, instruction.c.bytes());
  if (instruction.metadata.count > 0) {
    metadata_port_.take(cycle, instruction.metadata.bytes());
  }
  count(instruction, 1);
}

void OperandFetch::count(const isa::WarpInstruction& kind, std::int64_t instructions) {
  activity_.operand_a_bytes += instructions * kind.a.bytes();
  activity_.operand_b_bytes += instructions * kind.b.bytes();
  activity_.accumulator_bytes += instructions * kind.c.bytes();
  activity_.metadata_bytes += instructions * kind.metadata.bytes();
}

base::Payload<mma::FetchedOperands> OperandFetch::read_operands(const MmaIssue& issue) const {
  const isa::WarpInstruction& instruction = *issue.instruction;
  const auto at = [&](const isa::RegisterRange& range) { return registers_.read(issue.warp_slot, range.base); };
  mma::OperandWords words;
  issue.registers->gather({at(instruction.a), at(instruction.b), at(instruction.c),
                           instruction.metadata.count > 0 ? at(instruction.metadata) : nullptr, instruction.selector},
                          words);
  auto fetched = base::make_payload<mma::FetchedOperands>();
  mma::decode_operands(*issue.context, words, *fetched);
  return fetched;
}

}  // namespace sptc::tensor_core
