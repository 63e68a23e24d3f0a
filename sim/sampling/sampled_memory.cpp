// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/sampled_memory.h"

#include "models/base/error.h"
#include "sim/sm/memory_request.h"

#include <utility>

namespace sptc::sampling {

SampledMemory::SampledMemory(const sc_core::sc_module_name& name, const base::Clock& clock,
                             const memory::MemorySpec& spec, int ports)
    : memory::MemoryPorts(name, clock, ports), share_(spec, clock.mhz(), ports) {}

void SampledMemory::start(double clock_mhz, kernels::ShareOf share, const memory::L2Contents& l2) {
  share_.reset(clock_mhz, std::move(share), l2);
}

std::int64_t SampledMemory::complete(std::size_t port, tlm::tlm_generic_payload& payload,
                                     std::int64_t now) {
  sm::RequestInfo* info = nullptr;
  payload.get_extension(info);
  base::ensure(info != nullptr, "a request does not say what it is for");
  const sm::MemoryRange range{payload.get_address(), payload.get_data_length(), info->readers};
  return share_.access(port, range, payload.is_write(), *info, now);
}

}  // namespace sptc::sampling
