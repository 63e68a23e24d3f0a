// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_core/register_banks.h"

#include "models/base/error.h"
#include "models/mma/fragment_layout.h"

#include <algorithm>

namespace sptc::sim {

RegisterBanks::RegisterBanks(const TensorCoreSpec& spec)
    : reuse_registers_(spec.reuse_registers),
      banks_(static_cast<std::size_t>(spec.register_banks),
             Throughput(spec.register_bank_bytes_per_cycle)) {
  ensure(banks_.size() <= kMostBanks, "a register file has too many banks");
}

RegisterRange RegisterBanks::missing(const Kept& kept, int slot, const RegisterRange& range) const {
  const bool same =
      kept.slot == slot && kept.registers.base == range.base && kept.registers.count == range.count;
  const int there = same ? std::min(reuse_registers_, range.count) : 0;
  return {range.base + there, range.count - there};
}

RegisterBanks::Demand RegisterBanks::demand(int slot, const WarpInstruction& instruction) const {
  const std::array<RegisterRange, 4> ranges{missing(a_, slot, instruction.a),
                                            missing(b_, slot, instruction.b), instruction.c,
                                            instruction.metadata};
  Demand demand;
  demand.slot = slot;
  demand.instruction = &instruction;
  const int banks = static_cast<int>(banks_.size());
  for (int bank = 0; bank < banks; ++bank) {
    demand.of_bank[static_cast<std::size_t>(bank)] = 0;
  }
  int whole = 0;  // registers of which every bank has as many
  for (const RegisterRange& range : ranges) {
    demand.registers += range.count;
    const int rest = range.count % banks;
    for (int i = 0; i < rest; ++i) {
      ++demand.of_bank[static_cast<std::size_t>((range.base + i) % banks)];
    }
    whole += range.count - rest;
  }
  const auto of_each = static_cast<std::uint8_t>(whole / banks);
  for (int bank = 0; bank < banks; ++bank) {
    demand.of_bank[static_cast<std::size_t>(bank)] += of_each;
  }
  return demand;
}

std::int64_t RegisterBanks::ready_at(std::int64_t now, const Demand& demand) const {
  std::int64_t ready = now;
  for (std::size_t bank = 0; bank < banks_.size(); ++bank) {
    ready = demand.of_bank[bank] == 0 ? ready : std::max(ready, banks_[bank].ready_at(now));
  }
  return ready;
}

void RegisterBanks::read(std::int64_t now, const Demand& demand) {
  constexpr std::int64_t kRegisterBytes = std::int64_t{mma::kWarpLanes} * 4;
  for (std::size_t bank = 0; bank < banks_.size(); ++bank) {
    if (demand.of_bank[bank] > 0) {
      banks_[bank].reserve(now, demand.of_bank[bank] * kRegisterBytes);
    }
  }
  const WarpInstruction& instruction = *demand.instruction;
  const int wanted =
      instruction.a.count + instruction.b.count + instruction.c.count + instruction.metadata.count;
  read_ += demand.registers;
  reused_ += wanted - demand.registers;
  a_ = {demand.slot, instruction.a};
  b_ = {demand.slot, instruction.b};
}

}  // namespace sptc::sim
