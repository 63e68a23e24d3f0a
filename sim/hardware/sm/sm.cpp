// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/sm.h"

#include <algorithm>
#include <string>

namespace sptc::sm {
namespace {

std::string indexed(const char* name, int index) {
  return name + std::to_string(index);
}

}  // namespace

Sm::Sm(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec)
    : sc_core::sc_module(name),
      cta_unit("cta_unit", clock, spec),
      shared_memory("shared_memory", clock, spec),
      warpgroup_unit("warpgroup_unit", clock, spec, shared_memory),
      async_copy("async_copy", clock, spec, shared_memory) {
  warpgroup_unit.on_begin([this](const WarpgroupMultiply& instruction) {
    for (const auto& partition : sub_partitions) {
      partition->stalls.multiply(instruction);
    }
  });
  cta_unit.launch_in(launch_in);
  cta_unit.done_out(done_out);
  for (int i = 0; i < spec.sub_partitions; ++i) {
    sub_partitions.push_back(std::make_unique<SubPartition>(indexed("sub_partition", i).c_str(), clock, spec));
    SubPartition& partition = *sub_partitions.back();
    const auto index = static_cast<std::size_t>(i);
    link(indexed("command", i), cta_unit.command_out[index], partition.command_in, clock);
    link(indexed("report", i), partition.report_out, cta_unit.report_in[index], clock);
    link(indexed("load", i), partition.load_out, shared_memory.request_in[index], clock);
    link(indexed("load_done", i), shared_memory.done_out[index], partition.load_done_in, clock);
    link(indexed("wgmma", i), partition.wgmma_out, warpgroup_unit.request_in[index], clock);
    link(indexed("wgmma_done", i), warpgroup_unit.done_out[index], partition.wgmma_done_in, clock);
    copies_.push_back(&link(indexed("copy", i), partition.copy_out, async_copy.request_in[index], clock));
    copies_done_.push_back(&link(indexed("copy_done", i), async_copy.done_out[index], partition.copy_done_in, clock));
  }
}

void Sm::start_grid(std::int64_t start, base::Bytes of_ctas) {
  async_copy.start_grid(of_ctas);
  for (const auto& partition : sub_partitions) {
    partition->stalls.start(start);
  }
}

void Sm::tap_copies(const std::function<void(int partition, const CopyRequest&)>& request,
                    const std::function<void(int partition, const CopyDone&)>& done) {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const int partition = static_cast<int>(i);
    copies_[i]->add_tap([=](const CopyRequest& value) { request(partition, value); });
    copies_done_[i]->add_tap([=](const CopyDone& value) { done(partition, value); });
  }
}

StallCycles Sm::stalls(std::int64_t end) {
  StallCycles sum;
  for (const auto& partition : sub_partitions) {
    // Waits for results that are under way when the last CTA of an SM is gone.
    partition->stalls.wait(std::min(end, async_copy.last_response_cycle()), StallReason::kEnds);
    partition->stalls.wait(end, StallReason::kNoCta);
    sum += partition->stalls.cycles();
  }
  return sum;
}

tensor_core::Activity Sm::activity() const {
  tensor_core::Activity sum = warpgroup_unit.activity();
  sum.shared_memory_bytes += shared_memory.loaded_bytes();
  for (const auto& partition : sub_partitions) {
    sum += partition->activity();
  }
  return sum;
}

}  // namespace sptc::sm
