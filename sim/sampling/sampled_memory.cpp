// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/sampled_memory.h"

#include "models/base/error.h"

#include <utility>

namespace sptc::sim {

SampledMemory::SampledMemory(const sc_core::sc_module_name& name, const Clock& clock,
                             const MemorySpec& spec, int ports)
    : MemoryPorts(name, clock, ports), share_(spec, clock.mhz(), ports) {}

void SampledMemory::start_share(double clock_mhz, ShareOf share) {
  followers_ = nullptr;
  share_.reset(clock_mhz, std::move(share));
}

void SampledMemory::start_followed(Followers& followers, std::function<void()> end_ctas) {
  followers_ = &followers;
  end_ctas_ = std::move(end_ctas);
  looked_at_ = -1;
}

std::int64_t SampledMemory::complete(std::size_t port, const tlm::tlm_generic_payload& payload,
                                     std::int64_t now) {
  RequestInfo* info = nullptr;
  payload.get_extension(info);
  ensure(info != nullptr, "a request does not say what it is for");
  const MemoryRange range{payload.get_address(), payload.get_data_length(), info->readers};
  if (followers_ == nullptr) {
    return share_.access(port, range, payload.is_write(), *info, now);
  }
  if (std::exchange(looked_at_, now) != now) {
    end_ctas_();
  }
  return followers_->access(port, range, payload.is_write(), *info, now);
}

}  // namespace sptc::sim
