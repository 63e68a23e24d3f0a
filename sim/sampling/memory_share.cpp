// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/memory_share.h"

#include "sim/memory/owning_partition.h"
#include "sim/sm/memory_request.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sptc::sampling {
namespace {

/// Where fewer ports than partitions are there, those are taken to be equally busy and work as one.
memory::MemorySpec limits_of(memory::MemorySpec spec, int ports) {
  if (ports < spec.l2_partitions) {
    spec.l2_partitions = 1;
  }
  return spec;
}

}  // namespace

MemoryShare::MemoryShare(const memory::MemorySpec& spec, double clock_mhz, int ports)
    : spec_(spec),
      limits_(limits_of(spec, ports), clock_mhz, ports),
      owed_(static_cast<std::size_t>(ports)) {}

void MemoryShare::reset(double clock_mhz, kernels::ShareOf share, const memory::L2Contents& l2) {
  limits_.reset(clock_mhz, l2);
  dram_bytes_per_cycle_ = spec_.dram_bytes_per_cycle(clock_mhz);
  share_ = std::move(share);
  owed_.assign(owed_.size(), {});
  starts_.assign(owed_.size(), {});
  first_response_.assign(owed_.size(), std::numeric_limits<std::int64_t>::max());
}

std::int64_t MemoryShare::owned_elsewhere(std::size_t port, const sm::MemoryRange& range) const {
  const auto partitions = static_cast<std::size_t>(spec_.l2_partitions);
  const std::uint64_t end = range.address + static_cast<std::uint64_t>(range.bytes);
  std::int64_t bytes = 0;
  for (std::uint64_t at = range.address; at < end;) {
    const std::uint64_t next = std::min(end, (at / memory::kOwnedBytes + 1) * memory::kOwnedBytes);
    bytes += memory::owning_partition(at, partitions) == port % partitions
                 ? 0
                 : static_cast<std::int64_t>(next - at);
    at = next;
  }
  return bytes;
}

void MemoryShare::read(std::size_t port, const sm::MemoryRange& range, isa::Operand operand,
                       const kernels::ShareOfCta& share, memory::Transfer& transfer) {
  const auto index = static_cast<std::size_t>(operand);
  const kernels::ShareOfCta::OfOperand& ratio = share.operands[index];
  const std::int64_t elsewhere = owned_elsewhere(port, range);
  transfer.far_bytes =
      static_cast<std::int64_t>(ratio.from_other_partition * static_cast<double>(elsewhere));
  Owed& owed = owed_[port][index];
  owed.from_dram += ratio.from_dram * static_cast<double>(transfer.bytes);
  transfer.dram_bytes = static_cast<std::int64_t>(owed.from_dram);
  owed.from_dram -= static_cast<double>(transfer.dram_bytes);
  owed.waits += ratio.waits_for_dram;
  if (owed.waits >= 1) {
    owed.waits -= 1;
    const int way = elsewhere > 0 ? spec_.l2_far_latency_cycles : spec_.l2_near_latency_cycles;
    transfer.latency = spec_.dram_access_latency_cycles + way;
  }
}

std::int64_t MemoryShare::spread(std::int64_t now) const {
  // What spreads the SMs of one partition spreads those of the other: they share tiles.
  std::int64_t result = 0;
  for (const Start& start : starts_) {
    result = std::max(result, now >= start.done ? start.spread : start.spread_before);
  }
  return result;
}

void MemoryShare::set_ahead(std::size_t port, std::int64_t now, const kernels::ShareOfCta& share,
                            memory::Transfer& transfer) const {
  // Until the first bytes come, all SMs ask at once, and this one is the last. From then on each
  // asks as much later as it was served later.
  if (now < first_response_[port]) {
    return;
  }
  const double others = std::max(0.0, share.sms_asking - 1);
  const auto partitions = static_cast<double>(limits_.partitions());
  transfer.l2_ahead = static_cast<std::int64_t>(others * share.burst_l2_bytes * partitions /
                                                spec_.l2_bytes_per_cycle);
  transfer.dram_ahead =
      static_cast<std::int64_t>(others * share.burst_dram_bytes / dram_bytes_per_cycle_);
  transfer.l2_ahead = std::max(transfer.l2_ahead, spread(now));
  transfer.dram_ahead = std::max(transfer.dram_ahead, spread(now));
}

void MemoryShare::note_start(std::size_t port, std::int64_t cta, const kernels::ShareOfCta& share,
                             std::int64_t bytes, const memory::TransferLimits::Completion& done) {
  Start& start = starts_[port];
  if (cta > start.cta) {
    start = {cta, 0, start.spread, start.spread, 0};
  }
  if (cta == start.cta && static_cast<double>(start.bytes) < share.burst_bytes) {
    start.bytes += bytes;
    start.spread = std::max(start.spread, start.spread_before + done.queued);
    start.done = std::max(start.done, done.cycle);
  }
}

std::int64_t MemoryShare::access(std::size_t port, const sm::MemoryRange& range, bool write,
                                 const sm::RequestInfo& info, std::int64_t now) {
  const kernels::ShareOfCta& share = share_(port, info.cta);
  memory::Transfer transfer;
  transfer.write = write;
  transfer.of_d = write && info.operand != isa::Operand::kPartialSum;
  transfer.bytes = range.bytes;
  transfer.readers = range.readers;
  transfer.latency = spec_.l2_near_latency_cycles;
  set_ahead(port, now, share, transfer);
  if (write) {
    transfer.l2_ahead /= 2;  // CTAs store closer together than they read
    transfer.dram_bytes = transfer.bytes;
  } else {
    read(port, range, info.operand, share, transfer);
  }
  const double repeat =
      write ? share.stores_per_simulated
            : share.operands[static_cast<std::size_t>(info.operand)].reads_per_simulated;
  const memory::TransferLimits::Completion done =
      limits_.complete(now, port, port % limits_.partitions(), transfer, repeat);
  info.waited_for = done.waited_for;
  first_response_[port] = std::min(first_response_[port], done.cycle);
  if (!write) {
    note_start(port, info.cta, share, transfer.bytes, done);
  }
  return done.cycle;
}

}  // namespace sptc::sampling
