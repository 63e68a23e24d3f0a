// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/memory/memory_port.h"
#include "sim/sampling/followers.h"
#include "sim/sampling/memory_share.h"

#include <cstdint>
#include <functional>

namespace sptc::sim {

/// The memory behind the sockets of a few SMs that are built for many: grid by grid what the others
/// leave of it (MemoryShare), or that of all SMs, which follow those few (Followers).
class SampledMemory : public MemoryPorts {
 public:
  SampledMemory(const sc_core::sc_module_name& name, const Clock& clock, const MemorySpec& spec,
                int ports);

  /// For the next grid an idle MemoryShare: SM clock, share of each CTA.
  void start_share(double clock_mhz, ShareOf share);

  /// For the next grid the memory of `followers`, whose leaders are behind the sockets. `end_ctas`
  /// tells them which CTAs of leaders ended in a cycle, and is called before the first request of
  /// each.
  void start_followed(Followers& followers, std::function<void()> end_ctas);

  const MemoryShare& share() const { return share_; }

 protected:
  std::int64_t complete(std::size_t port, const tlm::tlm_generic_payload& payload,
                        std::int64_t now) override;

 private:
  MemoryShare share_;
  Followers* followers_ = nullptr;  ///< none: a share
  std::function<void()> end_ctas_;
  std::int64_t looked_at_ = -1;  ///< cycle of the latest request of a leader
};

}  // namespace sptc::sim
