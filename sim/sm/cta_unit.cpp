// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/cta_unit.h"

#include <algorithm>
#include <utility>

namespace sptc::sim {

CtaUnit::CtaUnit(const sc_core::sc_module_name& name, const Clock& clock, const SmSpec& spec)
    : Module(name, clock),
      report_in("report_in", static_cast<std::size_t>(spec.sub_partitions)),
      command_out("command_out", static_cast<std::size_t>(spec.sub_partitions)),
      barrier_latency_(spec.barrier_latency_cycles),
      slots_(static_cast<std::size_t>(spec.max_ctas)) {
  run_on(launch_in);
  for (auto& port : report_in) {
    sensitive << port;
  }
}

void CtaUnit::on_event() {
  for (auto& port : report_in) {
    while (port->can_read()) {
      handle(port->read());
    }
  }
  while (launch_in->can_read()) {
    launch(launch_in->read());
  }
}

void CtaUnit::launch(const CtaLaunch& cta) {
  const auto free = std::find_if(slots_.begin(), slots_.end(),
                                 [](const Slot& slot) { return slot.kernel == nullptr; });
  ensure(free != slots_.end(), "a CTA was launched and no slot is free");
  *free = {cta.kernel, cta.kernel->warps_per_cta, 0, {cta.cta, now(), 0}};
  const int slot = static_cast<int>(free - slots_.begin());
  for (int warp = 0; warp < cta.kernel->warps_per_cta; ++warp) {
    const std::size_t partition = static_cast<std::size_t>(warp) % command_out.size();
    command_out[partition]->write({WarpCommand::Kind::kLaunch, {slot, warp}, cta});
  }
}

void CtaUnit::handle(const WarpReport& report) {
  Slot& slot = slots_[static_cast<std::size_t>(report.warp.cta_slot)];
  if (report.kind == WarpReport::Kind::kArrivedAtBarrier) {
    if (++slot.warps_at_barrier == slot.warps_left) {
      release_barrier(report.warp.cta_slot);
    }
    return;
  }
  if (--slot.warps_left == 0) {
    slot.record.end_cycle = now();
    done_out->write({slot.record.cta});
    records_.push_back(slot.record);
    slot = Slot{};
  }
}

void CtaUnit::release_barrier(int slot_index) {
  Slot& slot = slots_[static_cast<std::size_t>(slot_index)];
  slot.warps_at_barrier = 0;
  for (auto& port : command_out) {
    // The report took the first cycle of the barrier's latency.
    port->write_after({WarpCommand::Kind::kReleaseBarrier, {slot_index, 0}, {}},
                      barrier_latency_ - 1);
  }
}

std::vector<CtaRecord> CtaUnit::take_records() {
  return std::exchange(records_, {});
}

}  // namespace sptc::sim
