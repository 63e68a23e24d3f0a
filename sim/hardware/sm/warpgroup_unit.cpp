// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/warpgroup_unit.h"

#include "models/base/shape.h"
#include "models/mma/stages.h"
#include "sim/hardware/sm/warpgroup_operands.h"

#include <algorithm>

namespace sptc::sm {

std::int64_t asynchronous_multiply_cycles(const mma::MmaInstruction& instruction, const SmSpec& spec, int cta_group) {
  // 64 rows of an SM alone are in half of the lanes of its tensor memory, and keep half of the
  // tensor cores busy; those of a pair have half of their columns in the other lanes (PTX ISA).
  constexpr int kLanes = 128;
  const bool in_all_lanes = instruction.family != mma::MmaFamily::kTcgen05 || cta_group > 1;
  const std::int64_t idle = in_all_lanes ? 1 : kLanes / std::min(instruction.shape.m, kLanes);
  const std::int64_t bytes = idle * instruction.macs() * numerics::storage_bits(instruction.a_type) / 8;
  const tensor_core::TensorCoreSpec& core = spec.tensor_core;
  const int units = core.units(instruction.accumulator, instruction.scales.has_value());
  return base::ceil_div(bytes, std::int64_t{spec.sub_partitions} * units * core.dot_width_bytes);
}

WarpgroupUnit::WarpgroupUnit(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec,
                             SharedMemory& shared_memory)
    : base::Module(name, clock),
      request_in("request_in", static_cast<std::size_t>(spec.sub_partitions)),
      done_out("done_out", static_cast<std::size_t>(spec.sub_partitions)),
      spec_(spec),
      shared_memory_(shared_memory) {
  run_on();
  for (auto& port : request_in) {
    sensitive << port;
  }
}

void WarpgroupUnit::on_event() {
  for (auto& port : request_in) {
    while (port->can_read()) {
      take(port->read());
    }
  }
  while (!waiting_.empty() && next_begin_ <= now()) {
    begin_next();
  }
  if (!waiting_.empty()) {
    wake_at(next_begin_);
  }
}

void WarpgroupUnit::take(const WgmmaRequest& request) {
  base::ensure(spec_.async_mma_interval_cycles() > 0, "wgmma or tcgen05.mma on an SM that has none");
  const WarpgroupName name{request.cta, request.warp / kWarps};
  Warpgroup& group = gathering_[name];
  group.issued[static_cast<std::size_t>(request.warp % kWarps)].push_back(request);
  const auto has_issued = [](const std::deque<WgmmaRequest>& queue) { return !queue.empty(); };
  if (!std::all_of(group.issued.begin(), group.issued.end(), has_issued)) {
    return;
  }
  std::array<WgmmaRequest, kWarps> whole;
  for (std::size_t warp = 0; warp < group.issued.size(); ++warp) {
    whole[warp] = group.issued[warp].front();
    group.issued[warp].pop_front();
  }
  waiting_.push_back(whole);
  if (std::none_of(group.issued.begin(), group.issued.end(), has_issued)) {
    gathering_.erase(name);
  }
}

void WarpgroupUnit::begin_next() {
  const std::array<WgmmaRequest, kWarps> warps = waiting_.front();
  waiting_.pop_front();
  const mma::MmaInstruction& instruction = warps[0].kernel->mma_context->instruction;
  const int cta_group = warps[0].kernel->cta_group;
  const std::int64_t cycles = asynchronous_multiply_cycles(instruction, spec_, cta_group);
  const base::Bytes bytes = warpgroup_operand_bytes(instruction, warps[0].instruction->a.count > 0, cta_group);
  const std::int64_t operands_there = shared_memory_.claim(bytes);
  const std::int64_t begin = std::max(now(), multiplied_);
  const std::int64_t interval = std::max<std::int64_t>(cycles, spec_.async_mma_interval_cycles());
  multiplied_ = std::max(begin + interval, operands_there);
  next_begin_ = begin;
  if (tell_) {
    tell_({begin, begin + cycles, begin + interval, multiplied_});
  }
  activity_.executed_macs += instruction.macs();
  activity_.shared_memory_bytes += bytes.count();
  activity_.multiplier_busy_cycles += static_cast<double>(cycles * spec_.sub_partitions);
  const int pipeline_cycles = spec_.tensor_core.asynchronous_pipeline_cycles();
  for (const WgmmaRequest& warp : warps) {
    const auto partition = static_cast<std::size_t>(warp.warp) % done_out.size();
    done_out[partition]->write_after({warp.warp_slot}, multiplied_ - now() + pipeline_cycles);
  }
}

}  // namespace sptc::sm
