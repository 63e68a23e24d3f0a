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

Sm::Links::Links(int index, const base::Clock& clock)
    : command(indexed("command", index).c_str(), clock, 1),
      report(indexed("report", index).c_str(), clock, 1),
      load(indexed("load", index).c_str(), clock, 1),
      load_done(indexed("load_done", index).c_str(), clock, 1),
      wgmma(indexed("wgmma", index).c_str(), clock, 1),
      wgmma_done(indexed("wgmma_done", index).c_str(), clock, 1),
      copy(indexed("copy", index).c_str(), clock, 1),
      copy_done(indexed("copy_done", index).c_str(), clock, 1) {}

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
    links_.push_back(std::make_unique<Links>(i, clock));
    Links& links = *links_.back();
    SubPartition& partition = *sub_partitions.back();
    const auto index = static_cast<std::size_t>(i);
    base::connect(cta_unit.command_out[index], links.command, partition.command_in);
    base::connect(partition.report_out, links.report, cta_unit.report_in[index]);
    base::connect(partition.load_out, links.load, shared_memory.request_in[index]);
    base::connect(shared_memory.done_out[index], links.load_done, partition.load_done_in);
    base::connect(partition.wgmma_out, links.wgmma, warpgroup_unit.request_in[index]);
    base::connect(warpgroup_unit.done_out[index], links.wgmma_done, partition.wgmma_done_in);
    base::connect(partition.copy_out, links.copy, async_copy.request_in[index]);
    base::connect(async_copy.done_out[index], links.copy_done, partition.copy_done_in);
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
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const int partition = static_cast<int>(i);
    links_[i]->copy.add_tap([=](const CopyRequest& value) { request(partition, value); });
    links_[i]->copy_done.add_tap([=](const CopyDone& value) { done(partition, value); });
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
