// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/throughput.h"
#include "sim/base/wire.h"
#include "sim/hardware/tensor_core/activity.h"
#include "sim/hardware/tensor_core/register_banks.h"
#include "sim/hardware/tensor_core/register_file.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"
#include "sim/hardware/tensor_core/tokens.h"

#include <deque>

namespace sptc::tensor_core {

/// First stage: reads A, B, C and metadata of an instruction through one register-file port each,
/// and puts them in matrix order. An instruction starts when all ports and register banks that it
/// needs are free and the multipliers have room for it.
class OperandFetch : public base::Module {
 public:
  sc_core::sc_port<base::WireIn<MmaIssue>> issue_in{"issue_in"};
  sc_core::sc_port<base::WireIn<CreditToken>> credit_in{"credit_in"};
  sc_core::sc_port<base::WireOut<FetchedToken>> fetched_out{"fetched_out"};
  sc_core::sc_port<base::WireOut<OperandsReadToken>> operands_read_out{"operands_read_out"};

  OperandFetch(const sc_core::sc_module_name& name, const base::Clock& clock, const TensorCoreSpec& spec,
               const RegisterFile& registers);

  const Activity& activity() const { return activity_; }

  /// Cycle in which the operands of an instruction are read, which arrives in cycle `arrival`,
  /// behind all that came before; without tokens. The multipliers say when they have room again.
  std::int64_t pass(const RegisterBanks::Demand& demand, std::int64_t arrival);
  void add_credit_at(std::int64_t cycle) { credit_cycles_.push_back(cycle); }
  /// Counts `instructions` like `kind`, also those that nobody showed to the ports.
  void count(const isa::WarpInstruction& kind, std::int64_t instructions);

  /// Must be told of instructions whose passage is known, and of registers that others than the tensor core write.
  RegisterBanks banks;

  template <typename Visitor>
  void visit_backlog(Visitor& visitor) {
    for (base::Throughput* port : {&a_port_, &b_port_, &accumulator_port_, &metadata_port_}) {
      visitor.unit(*port);
    }
    banks.visit_backlog(visitor);
    visitor.cycle(passed_);
    visitor.credits(credits_, credit_cycles_);
  }

 protected:
  void on_event() override;

 private:
  void take_credits(std::int64_t cycle);
  std::int64_t ports_ready_at(const RegisterBanks::Demand& demand, std::int64_t cycle) const;
  void occupy_ports(const RegisterBanks::Demand& demand, std::int64_t cycle);
  base::Payload<mma::FetchedOperands> read_operands(const MmaIssue& issue) const;

  const RegisterFile& registers_;
  base::Throughput a_port_;
  base::Throughput b_port_;
  base::Throughput accumulator_port_;
  base::Throughput metadata_port_;
  std::deque<MmaIssue> waiting_;
  int credits_;
  std::deque<std::int64_t> credit_cycles_;  ///< of credits that pass() has not used yet
  std::int64_t passed_ = 0;                 ///< cycle of the latest pass()
  Activity activity_;
};

}  // namespace sptc::tensor_core
