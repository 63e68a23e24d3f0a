// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/memory_share.h"

#include "models/base/error.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sptc::sim {
namespace {

/// The partitions are equally busy, so they work as one.
MemorySpec as_one_partition(MemorySpec spec) {
  spec.l2_partitions = 1;
  return spec;
}

}  // namespace

MemoryShare::MemoryShare(const sc_core::sc_module_name& name, const Clock& clock,
                         const MemorySpec& spec)
    : MemoryPorts(name, clock, 1), spec_(spec), limits_(as_one_partition(spec), clock.mhz(), 1) {}

void MemoryShare::reset(double clock_mhz, std::function<const ShareOfCta&(std::int64_t)> share) {
  limits_.reset(clock_mhz);
  dram_bytes_per_cycle_ = spec_.dram_bytes_per_cycle(clock_mhz);
  share_ = std::move(share);
  owed_ = {};
}

std::int64_t MemoryShare::dram_latency(const ShareOfCta& share) const {
  if (spec_.l2_partitions == 1) {
    return spec_.dram_latency_cycles();
  }
  // The SM waits for the last piece of its tiles; only where no piece belongs to the other
  // partition is that a near one.
  constexpr double kPieceBytes = 4096;
  const double pieces = std::max(2.0, share.burst_bytes / kPieceBytes);  // A and B
  const double far = spec_.l2_far_latency_cycles - spec_.l2_near_latency_cycles;
  return spec_.l2_near_latency_cycles + spec_.dram_access_latency_cycles +
         static_cast<std::int64_t>(far * (1 - std::pow(0.5, pieces)));
}

std::int64_t MemoryShare::complete(std::size_t port, const tlm::tlm_generic_payload& payload,
                                   std::int64_t now) {
  RequestInfo* info = nullptr;
  payload.get_extension(info);
  ensure(info != nullptr && share_ != nullptr, "a request does not say what it is for");
  const ShareOfCta& share = share_(info->cta);
  Transfer transfer;
  transfer.write = payload.is_write();
  transfer.bytes = payload.get_data_length();
  transfer.latency = spec_.l2_near_latency_cycles;
  if (transfer.write) {
    transfer.dram_bytes = transfer.bytes;
  } else {
    const auto operand = static_cast<std::size_t>(info->operand);
    const ShareOfCta::OfOperand& ratio = share.operands[operand];
    Owed& owed = owed_[operand];
    owed.from_dram += ratio.from_dram * static_cast<double>(transfer.bytes);
    transfer.dram_bytes = static_cast<std::int64_t>(owed.from_dram);
    owed.from_dram -= static_cast<double>(transfer.dram_bytes);
    owed.waits += ratio.waits_for_dram;
    if (owed.waits >= 1) {
      owed.waits -= 1;
      transfer.latency = dram_latency(share);
    }
  }
  if (spec_.l2_partitions > 1 && !transfer.write) {
    // What DRAM delivers is fetched by both partitions, half of it from the other one each.
    transfer.far_bytes = transfer.dram_bytes;
  }
  // Of the burst that all SMs make together, the half that is not ahead of this SM.
  const double others = std::max(0.0, share.active_sms - 1);
  transfer.l2_overlap =
      static_cast<std::int64_t>(0.5 * others * share.burst_bytes / spec_.l2_bytes_per_cycle);
  transfer.dram_overlap =
      static_cast<std::int64_t>(0.5 * others * share.burst_dram_bytes / dram_bytes_per_cycle_);
  return limits_.complete(now, port, 0, transfer, share.active_sms);
}

}  // namespace sptc::sim
