// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/throughput.h"
#include "sim/base/wire.h"
#include "sim/hardware/tensor_core/activity.h"
#include "sim/hardware/tensor_core/operand_registers.h"
#include "sim/hardware/tensor_core/register_banks.h"
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
               const OperandRegisters& registers);

  const Activity& activity() const { return activity_; }

  /// What the next instruction takes of the register banks.
  RegisterBanks::Demand demand(int warp_slot, const isa::WarpInstruction& instruction) const {
    return banks_.demand(warp_slot, instruction);
  }
  /// Cycle in which the operands of an instruction are read, which arrives in cycle `arrival`,
  /// behind all that came before; without tokens. The multipliers say when they have room again.
  std::int64_t pass(const RegisterBanks::Demand& demand, std::int64_t arrival);
  void add_credit_at(std::int64_t cycle) { credit_cycles_.push_back(cycle); }
  /// An instruction whose passage is known comes by, and leaves its registers at the ports.
  void keep(const RegisterBanks::Demand& demand) { banks_.keep(demand); }
  /// Another instruction than of the tensor core writes registers: what the ports keep of them is
  /// old.
  void overwrite(int warp_slot, const isa::RegisterRange& written) { banks_.overwrite(warp_slot, written); }
  /// `instructions` like `kind` have come by that nobody showed to the ports.
  void skipped(const isa::WarpInstruction& kind, std::int64_t instructions) { count(kind, instructions); }

  template <typename Visitor>
  void visit_backlog(Visitor& visitor) {
    for (base::Throughput* port : {&a_port_, &b_port_, &accumulator_port_, &metadata_port_}) {
      visitor.unit(*port);
    }
    banks_.visit_backlog(visitor);
    visitor.cycle(passed_);
    visitor.credits(credits_, credit_cycles_);
  }

 protected:
  void on_event() override;

 private:
  void take_credits(std::int64_t cycle);
  std::int64_t ports_ready_at(const RegisterBanks::Demand& demand, std::int64_t cycle) const;
  void occupy_ports(const RegisterBanks::Demand& demand, std::int64_t cycle);
  void count(const isa::WarpInstruction& instruction, std::int64_t count);
  base::Payload<mma::FetchedOperands> read_operands(const MmaIssue& issue) const;

  const OperandRegisters& registers_;
  base::Throughput a_port_;
  base::Throughput b_port_;
  base::Throughput accumulator_port_;
  base::Throughput metadata_port_;
  RegisterBanks banks_;
  std::deque<MmaIssue> waiting_;
  int credits_;
  std::deque<std::int64_t> credit_cycles_;  ///< of credits that pass() has not used yet
  std::int64_t passed_ = 0;                 ///< cycle of the latest pass()
  Activity activity_;
};

}  // namespace sptc::tensor_core
