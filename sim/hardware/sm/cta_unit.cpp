// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/cta_unit.h"

#include <algorithm>

namespace sptc::sm {

CtaUnit::CtaUnit(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec)
    : base::Module(name, clock),
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
  const auto free = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.kernel == nullptr; });
  base::ensure(free != slots_.end(), "a CTA was launched and no slot is free");
  const bool has_producer = cta.kernel->program->producer != nullptr;
  const int consumers = cta.kernel->warps_per_cta;
  *free = Slot{};
  free->kernel = cta.kernel;
  free->warps_left = consumers;
  free->producer_left = has_producer;
  free->tiles_freed.resize(has_producer ? static_cast<std::size_t>(consumers) : 0);
  free->record = {cta.cta, now(), 0};
  const int slot = static_cast<int>(free - slots_.begin());
  for (int warp = 0; warp < consumers + (has_producer ? 1 : 0); ++warp) {
    const std::size_t partition = static_cast<std::size_t>(warp) % command_out.size();
    command_out[partition]->write({WarpCommand::Kind::kLaunch, {slot, warp}, cta, 0});
  }
}

void CtaUnit::handle(const WarpReport& report) {
  Slot& slot = slots_[static_cast<std::size_t>(report.warp.cta_slot)];
  switch (report.kind) {
    case WarpReport::Kind::kArrivedAtBarrier:
      ++slot.warps_at_barrier;
      release_barrier(report.warp.cta_slot);
      break;
    case WarpReport::Kind::kTilesArrived:
      announce({WarpCommand::Kind::kTilesArrived, report.warp, {}, report.tiles, report.waited_for});
      break;
    case WarpReport::Kind::kTilesFreed:
      free_tiles(report);
      break;
    case WarpReport::Kind::kExited:
      leave(report);
      break;
  }
}

void CtaUnit::free_tiles(const WarpReport& report) {
  Slot& slot = slots_[static_cast<std::size_t>(report.warp.cta_slot)];
  slot.tiles_freed[static_cast<std::size_t>(report.warp.warp)] = report.tiles;
  const std::int64_t by_all = *std::min_element(slot.tiles_freed.begin(), slot.tiles_freed.end());
  if (by_all > slot.freed_by_all) {
    slot.freed_by_all = by_all;
    announce({WarpCommand::Kind::kTilesFreed, report.warp, {}, by_all});
  }
}

void CtaUnit::leave(const WarpReport& report) {
  Slot& slot = slots_[static_cast<std::size_t>(report.warp.cta_slot)];
  if (report.warp.warp == slot.kernel->warps_per_cta) {
    slot.producer_left = false;
  } else {
    --slot.warps_left;
    release_barrier(report.warp.cta_slot);  // the others may wait for nobody else
  }
  if (slot.warps_left == 0 && !slot.producer_left) {
    slot.record.end_cycle = now();
    done_out->write({slot.record.cta});
    records_.push_back(slot.record);
    slot = Slot{};
  }
}

void CtaUnit::release_barrier(int slot_index) {
  Slot& slot = slots_[static_cast<std::size_t>(slot_index)];
  if (slot.warps_left > 0 && slot.warps_at_barrier == slot.warps_left) {
    slot.warps_at_barrier = 0;
    announce({WarpCommand::Kind::kReleaseBarrier, {slot_index, 0}, {}, 0});
  }
}

void CtaUnit::announce(const WarpCommand& command) {
  for (auto& port : command_out) {
    port->write_after(command, barrier_latency_ - 1);
  }
}

}  // namespace sptc::sm
