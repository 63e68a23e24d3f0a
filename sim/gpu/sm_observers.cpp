// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/sm_observers.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

namespace sptc::gpu {
namespace {

const sm::StallName& name_of(sm::StallReason reason) {
  return sm::kStallNames[static_cast<std::size_t>(reason)];
}

void observe_stalls(int number, sm::SubPartition& partition, tensor_core::PassageLog& log) {
  partition.stalls.observe(
      [number, &log](std::int64_t begin, std::int64_t end, sm::StallReason reason) {
        log.add_stall({number, -1, begin, end, name_of(reason).words});
      });
  partition.observe_warps(
      [number, &log](int slot, std::int64_t begin, std::int64_t end, sm::StallReason reason) {
        log.add_stall({number, slot, begin, end, name_of(reason).words});
      });
}

/// Of k-tiles: their copies, and loads to registers that take their place.
void observe_copies(sm::Sm& sm, const base::Clock& clock, tensor_core::PassageLog& log) {
  constexpr std::array<std::string_view, isa::kOperandCount> kOperands{"A", "B", "metadata",
                                                                       "partial sums"};
  // Places in the log of what is under way, by sub-partition, warp slot and group.
  using UnderWay = std::map<std::tuple<int, int, int>, std::deque<std::size_t>>;
  const auto under_way = std::make_shared<UnderWay>();
  sm.tap_copies(
      [&clock, &log, kOperands, under_way](int partition, const sm::CopyRequest& request) {
        const isa::WarpInstruction& instruction = *request.instruction;
        if (instruction.opcode != isa::Opcode::kCopy &&
            instruction.opcode != isa::Opcode::kLoadGlobal) {
          return;
        }
        const std::string_view operand = kOperands[static_cast<std::size_t>(instruction.operand)];
        if (const auto place = log.begin_copy({partition,
                                               request.warp_slot,
                                               operand,
                                               request.cta,
                                               request.tile,
                                               clock.now(),
                                               -1,
                                               {}})) {
          (*under_way)[{partition, request.warp_slot, request.group}].push_back(*place);
        }
      },
      [&clock, &log, under_way](int partition, const sm::CopyDone& done) {
        const auto found = under_way->find({partition, done.warp_slot, done.group});
        if (found != under_way->end() && !found->second.empty()) {
          log.end_copy(found->second.front(), clock.now(),
                       name_of(sm::waited_for(done.waited_for)).words);
          found->second.pop_front();
        }
      });
}

void observe_memory(Gpu& gpu, tensor_core::PassageLog& log) {
  gpu.observe_memory([&log, before = memory::MemoryBytes()](
                         std::int64_t now, const memory::MemoryActivity& activity) mutable {
    const memory::MemoryBytes& bytes = activity.bytes;
    if (bytes.l2() < before.l2() || bytes.dram() < before.dram()) {
      before = {};  // of the grid before this one
    }
    log.add_memory({now,
                    {0, bytes.l2() - before.l2(), bytes.dram_read - before.dram_read,
                     bytes.dram_written - before.dram_written},
                    activity.l2_until,
                    activity.dram_until});
    before = bytes;
  });
}

}  // namespace

void observe(sm::Sm& sm, const base::Clock& clock, const tensor_core::TensorCoreSpec& spec,
             tensor_core::Waveform& waveform) {
  for (const auto& partition : sm.sub_partitions) {
    sm::SubPartition& seen = *partition;
    const std::string name = seen.basename();
    waveform.observe({name, clock, spec, sm::SubPartition::kDispatchQueue, seen.issue,
                      seen.operands_read, seen.tensor_core, seen.mma_done, seen.registers(),
                      [&seen](int slot) { return seen.warp_at(slot).launch.cta; },
                      [&seen](int slot) { return seen.warp_at(slot).name.warp; }});
    seen.stalls.observe(
        [&waveform, name](std::int64_t begin, std::int64_t /*end*/, sm::StallReason reason) {
          waveform.show_stall(name, begin, name_of(reason).json);
        });
  }
}

void observe(Gpu& gpu, const base::Clock& clock, const tensor_core::TensorCoreSpec& spec,
             tensor_core::PassageLog& log) {
  sm::Sm& sm = *gpu.sms().front();
  int number = 0;
  for (const auto& partition : sm.sub_partitions) {
    log.observe(number, clock, spec, partition->issue, partition->tensor_core, partition->mma_done);
    observe_stalls(number++, *partition, log);
  }
  observe_copies(sm, clock, log);
  observe_memory(gpu, log);
}

}  // namespace sptc::gpu
