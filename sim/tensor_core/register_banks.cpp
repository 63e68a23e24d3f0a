// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_core/register_banks.h"

#include "models/mma/fragment_layout.h"

#include <algorithm>

namespace sptc::sim {

RegisterBanks::RegisterBanks(const TensorCoreSpec& spec)
    : reuse_registers_(spec.reuse_registers),
      banks_(static_cast<std::size_t>(spec.register_banks),
             Throughput(spec.register_bank_bytes_per_cycle)) {}

RegisterRange RegisterBanks::missing(const Kept& kept, int slot, const RegisterRange& range) const {
  const bool same =
      kept.slot == slot && kept.registers.base == range.base && kept.registers.count == range.count;
  const int there = same ? std::min(reuse_registers_, range.count) : 0;
  return {range.base + there, range.count - there};
}

std::array<RegisterRange, 4> RegisterBanks::missing(int slot,
                                                    const WarpInstruction& instruction) const {
  return {missing(a_, slot, instruction.a), missing(b_, slot, instruction.b), instruction.c,
          instruction.metadata};
}

std::int64_t RegisterBanks::ready_at(std::int64_t now, int slot,
                                     const WarpInstruction& instruction) const {
  std::int64_t ready = now;
  for (const RegisterRange& range : missing(slot, instruction)) {
    const int different = std::min<int>(range.count, static_cast<int>(banks_.size()));
    std::size_t bank = bank_of(range.base);
    for (int i = 0; i < different; ++i, bank = next_bank(bank)) {
      ready = std::max(ready, banks_[bank].ready_at(now));
    }
  }
  return ready;
}

void RegisterBanks::read(std::int64_t now, int slot, const WarpInstruction& instruction) {
  constexpr std::int64_t kRegisterBytes = std::int64_t{mma::kWarpLanes} * 4;
  int wanted = 0;
  for (const RegisterRange* range :
       {&instruction.a, &instruction.b, &instruction.c, &instruction.metadata}) {
    wanted += range->count;
  }
  int fetched = 0;
  for (const RegisterRange& range : missing(slot, instruction)) {
    std::size_t bank = bank_of(range.base);
    for (int i = 0; i < range.count; ++i, bank = next_bank(bank)) {
      banks_[bank].reserve(now, kRegisterBytes);
    }
    fetched += range.count;
  }
  read_ += fetched;
  reused_ += wanted - fetched;
  a_ = {slot, instruction.a};
  b_ = {slot, instruction.b};
}

}  // namespace sptc::sim
