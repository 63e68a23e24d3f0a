// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/register_banks.h"

#include "models/base/error.h"

#include <algorithm>
#include <bit>

namespace sptc::tensor_core {

RegisterBanks::RegisterBanks(const TensorCoreSpec& spec)
    : reuse_registers_(spec.reuse_registers),
      mask_(std::has_single_bit(static_cast<unsigned>(spec.register_banks))
                ? static_cast<unsigned>(spec.register_banks) - 1
                : 0),
      banks_(static_cast<std::size_t>(spec.register_banks), base::Throughput(spec.register_bank_bytes_per_cycle)) {
  base::ensure(banks_.size() <= kMostBanks, "a register file has too many banks");
}

int RegisterBanks::Demand::most_of_a_bank() const {
  std::array<int, kMostBanks> of_bank{};
  int most = 0;
  for (int i = 0; i < others; ++i) {
    most = std::max(most, ++of_bank[bank_of_other[static_cast<std::size_t>(i)]]);
  }
  return of_each + most;
}

int RegisterBanks::kept(const Kept& port, int slot, const isa::RegisterRange& range) const {
  const bool same = port.slot == slot && port.registers.base == range.base && port.registers.count == range.count;
  return same ? std::min(reuse_registers_, range.count) : 0;
}

RegisterBanks::Demand RegisterBanks::demand(int slot, const isa::WarpInstruction& instruction) const {
  Demand demand;
  demand.slot = slot;
  demand.instruction = &instruction;
  int whole = 0;  // registers of which every bank has as many
  const auto add = [&](const isa::RegisterRange& range, int there) {
    const int count = range.count - there;
    const int others = others_of(count);
    for (int i = 0; i < others; ++i) {
      demand.bank_of_other[static_cast<std::size_t>(demand.others++)] =
          static_cast<std::uint8_t>(bank_of(range.base + there + i));
    }
    whole += count - others;
  };
  add(instruction.a, kept(a_, slot, instruction.a));
  add(instruction.b, kept(b_, slot, instruction.b));
  add(instruction.c, 0);
  add(instruction.metadata, 0);
  demand.of_each = whole / static_cast<int>(banks_.size());
  return demand;
}

std::int64_t RegisterBanks::ready_at(std::int64_t now, const Demand& demand) const {
  std::int64_t ready = now;
  if (demand.of_each > 0) {
    for (const base::Throughput& bank : banks_) {
      ready = std::max(ready, bank.ready_at(now));
    }
    return ready;
  }
  for (int i = 0; i < demand.others; ++i) {
    const std::uint8_t bank = demand.bank_of_other[static_cast<std::size_t>(i)];
    ready = std::max(ready, banks_[bank].ready_at(now));
  }
  return ready;
}

void RegisterBanks::read(std::int64_t now, const Demand& demand) {
  if (demand.of_each > 0) {
    for (base::Throughput& bank : banks_) {
      bank.reserve(now, demand.of_each * isa::kRegisterBytes);
    }
  }
  for (int i = 0; i < demand.others; ++i) {
    banks_[demand.bank_of_other[static_cast<std::size_t>(i)]].reserve(now, isa::kRegisterBytes);
  }
  keep(demand);
}

void RegisterBanks::keep(const Demand& demand) {
  a_ = {demand.slot, demand.instruction->a};
  b_ = {demand.slot, demand.instruction->b};
}

void RegisterBanks::overwrite(int slot, const isa::RegisterRange& written) {
  for (Kept* port : {&a_, &b_}) {
    const isa::RegisterRange& kept = port->registers;
    if (port->slot == slot && kept.base < written.base + written.count && written.base < kept.base + kept.count) {
      *port = {};
    }
  }
}

}  // namespace sptc::tensor_core
