// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/memory/l2_and_dram.h"
#include "sim/hardware/memory/memory_port.h"
#include "sim/hardware/memory/memory_spec.h"

namespace sptc::memory {

/// L2 and DRAM behind the sockets of all SMs.
class MemorySystem : public MemoryPorts {
 public:
  MemorySystem(const sc_core::sc_module_name& name, const base::Clock& clock, const MemorySpec& spec, int sms);

  /// See L2AndDram::reset().
  void reset(double clock_mhz, const L2Contents& contents = {});

  MemoryBytes counters() const { return l2_and_dram_.counters(); }

 protected:
  MemoryActivity activity() const override { return l2_and_dram_.activity(); }
  std::int64_t complete(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t now) override;

 private:
  L2AndDram l2_and_dram_;
};

}  // namespace sptc::memory
