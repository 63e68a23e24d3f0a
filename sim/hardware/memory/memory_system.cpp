// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/memory/memory_system.h"

#include "sim/hardware/sm/memory_request.h"

namespace sptc::memory {

MemorySystem::MemorySystem(const sc_core::sc_module_name& name, const base::Clock& clock, const MemorySpec& spec,
                           int sms)
    : MemoryPorts(name, clock, sms), l2_and_dram_(spec, clock.mhz(), sms) {}

void MemorySystem::reset(double clock_mhz, const L2Contents& contents) {
  l2_and_dram_.reset(clock_mhz, contents);
}

std::int64_t MemorySystem::complete(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t now) {
  sm::RequestInfo* info = nullptr;
  payload.get_extension(info);
  return l2_and_dram_.access(
      port, {payload.get_address(), payload.get_data_length(), info == nullptr ? 1 : info->readers}, payload.is_write(),
      now, info == nullptr ? isa::Operand::kA : info->operand, info == nullptr ? nullptr : &info->waited_for);
}

}  // namespace sptc::memory
