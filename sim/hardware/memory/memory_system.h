// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/memory/l2_and_dram.h"
#include "sim/hardware/memory/memory_port.h"
#include "sim/hardware/memory/memory_spec.h"
#include "sim/hardware/sm/memory_request.h"

namespace sptc::memory {

/// L2 and DRAM behind the sockets of all SMs.
class MemorySystem : public MemoryPorts {
 public:
  MemorySystem(const sc_core::sc_module_name& name, const base::Clock& clock, const MemorySpec& spec, int sms)
      : MemoryPorts(name, clock, sms), l2_and_dram_(spec, clock.mhz(), sms) {}

  /// See L2AndDram::reset().
  virtual void reset(double clock_mhz, const L2Contents& contents = {}) { l2_and_dram_.reset(clock_mhz, contents); }

  MemoryBytes counters() const { return l2_and_dram_.counters(); }

 protected:
  MemoryActivity activity() const override { return l2_and_dram_.activity(); }
  std::int64_t complete(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t now) override {
    sm::RequestInfo* info = nullptr;
    payload.get_extension(info);
    const int readers = info == nullptr ? 1 : info->readers;
    return l2_and_dram_.access(port, {payload.get_address(), payload.get_data_length(), readers}, payload.is_write(),
                               now, info == nullptr ? isa::Operand::kA : info->operand,
                               info == nullptr ? nullptr : &info->waited_for);
  }
  const L2AndDram& l2() const { return l2_and_dram_; }

 private:
  L2AndDram l2_and_dram_;
};

}  // namespace sptc::memory
