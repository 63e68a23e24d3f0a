// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/memory/memory_port.h"
#include "sim/sampling/memory_share.h"

#include <cstdint>

namespace sptc::sim {

/// The memory behind the sockets of a few SMs that stand for many: what the others leave of it.
class SampledMemory : public MemoryPorts {
 public:
  SampledMemory(const sc_core::sc_module_name& name, const Clock& clock, const MemorySpec& spec,
                int ports);

  /// For the next grid an idle memory: see MemoryShare::reset().
  void start(double clock_mhz, ShareOf share, const L2Contents& l2);

  const MemoryShare& share() const { return share_; }

 protected:
  std::int64_t complete(std::size_t port, const tlm::tlm_generic_payload& payload,
                        std::int64_t now) override;

 private:
  MemoryShare share_;
};

}  // namespace sptc::sim
