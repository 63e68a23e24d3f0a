// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/memory/transfer_limits.h"

#include <algorithm>
#include <cmath>

namespace sptc::memory {

TransferLimits::TransferLimits(const MemorySpec& spec, double clock_mhz, int ports)
    : spec_(spec),
      read_ports_(static_cast<std::size_t>(ports), base::Throughput(spec.sm_port_bytes_per_cycle)),
      write_ports_(read_ports_),
      l2_(static_cast<std::size_t>(spec.l2_partitions), base::Throughput(spec.l2_bytes_per_cycle / spec.l2_partitions)),
      dram_(spec.dram_bytes_per_cycle(clock_mhz)),
      dram_bytes_per_cycle_(spec.dram_bytes_per_cycle(clock_mhz)) {}

void TransferLimits::reset(double clock_mhz, const L2Contents& contents) {
  *this = TransferLimits(spec_, clock_mhz, static_cast<int>(read_ports_.size()));
  dirty_ = std::min(contents.dirty_bytes, spec_.dirty_bytes());
  written_back_ = 1 - contents.resident_d;
}

TransferLimits::Completion TransferLimits::complete(std::int64_t now, std::size_t port, std::size_t partition,
                                                    const Transfer& transfer) {
  if (dram_settled_ < 0) {
    dram_settled_ = now;
  }
  base::Throughput& own_port = (transfer.write ? write_ports_ : read_ports_)[port];
  const std::int64_t own_end = own_port.reserve(now, transfer.bytes);
  std::int64_t end = own_end;
  base::Throughput& other = l2_[l2_.size() - 1 - partition];
  if (transfer.far_bytes > 0) {
    end = std::max(end, other.reserve(now, transfer.far_bytes));
  }
  const std::int64_t l2_bytes = transfer.bytes / transfer.readers;
  const std::int64_t work = transfer.of_d ? MemorySpec::kL2WorkOfWrite * l2_bytes : l2_bytes;
  end = std::max(end, l2_[partition].reserve(now, work));
  if (transfer.of_d && spec_.l2_partitions > 1) {
    end = std::max(end, other.reserve(now, work));
  }
  const std::int64_t l2_end = end;
  std::int64_t dram_bytes = transfer.dram_bytes;
  if (transfer.write) {
    dram_bytes = std::llround(written_back_ * static_cast<double>(dram_bytes));
  }
  if (dram_bytes > 0) {
    if (transfer.write) {
      end = std::max(end, write_back(now, dram_bytes));
    } else {
      write_back(now, 0);
      dram_settled_ = dram_.reserve(now, dram_bytes);
      end = std::max(end, dram_settled_);
    }
  }
  (transfer.write ? counters_.l2_written : counters_.l2_read) += l2_bytes;
  (transfer.write ? counters_.dram_written : counters_.dram_read) += dram_bytes;
  const sm::MemoryLevel waited_for = end - now <= transfer.latency ? sm::MemoryLevel::kLatency
                                     : end == own_end              ? sm::MemoryLevel::kSmPort
                                     : end == l2_end               ? sm::MemoryLevel::kL2
                                                                   : sm::MemoryLevel::kDram;
  return {end + transfer.latency, waited_for};
}

MemoryActivity TransferLimits::activity() const {
  MemoryActivity activity{counters_, 0, dram_.busy_until()};
  for (const base::Throughput& partition : l2_) {
    activity.l2_until = std::max(activity.l2_until, partition.busy_until());
  }
  return activity;
}

std::int64_t TransferLimits::write_back(std::int64_t now, std::int64_t bytes) {
  const auto idle = static_cast<double>(std::max<std::int64_t>(0, now - dram_settled_));
  dirty_ = std::max(0.0, dirty_ - idle * dram_bytes_per_cycle_) + static_cast<double>(bytes);
  dram_settled_ = std::max(dram_settled_, now);
  const double excess = dirty_ - spec_.dirty_bytes();
  if (excess < 1) {
    return now;
  }
  dram_settled_ = dram_.reserve(now, static_cast<std::int64_t>(excess));
  dirty_ -= std::floor(excess);
  return dram_settled_;
}

}  // namespace sptc::memory
