// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/memory/memory_port.h"
#include "sim/sampling/memory_share.h"

#include <cstdint>

namespace sptc::sampling {

/// The memory behind the sockets of a few SMs that stand for many: what the others leave of it.
class SampledMemory : public memory::MemoryPorts {
 public:
  SampledMemory(const sc_core::sc_module_name& name, const base::Clock& clock,
                const memory::MemorySpec& spec, int ports);

  /// For the next grid an idle memory: see MemoryShare::reset().
  void start(double clock_mhz, kernels::ShareOf share, const memory::L2Contents& l2);

  const MemoryShare& share() const { return share_; }

 protected:
  memory::MemoryActivity activity() const override { return share_.activity(); }
  std::int64_t complete(std::size_t port, tlm::tlm_generic_payload& payload,
                        std::int64_t now) override;

 private:
  MemoryShare share_;
};

}  // namespace sptc::sampling
