// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/shared_memory.h"

namespace sptc::sim {

SharedMemory::SharedMemory(const sc_core::sc_module_name& name, const Clock& clock,
                           const SmSpec& spec)
    : Module(name, clock),
      request_in("request_in", static_cast<std::size_t>(spec.sub_partitions)),
      done_out("done_out", static_cast<std::size_t>(spec.sub_partitions)) {
  run_on();
  for (auto& port : request_in) {
    sensitive << port;
  }
}

void SharedMemory::on_event() {
  for (std::size_t i = 0; i < request_in.size(); ++i) {
    while (request_in[i]->can_read()) {
      const LoadRequest request = request_in[i]->read();
      ++statistics_.loads;
      statistics_.bytes += std::int64_t{request.instruction->d.count} * mma::kWarpLanes * 4;
      Payload<LoadedRegisters> payload;
      if (request.kernel->memory != nullptr) {
        payload = make_payload<LoadedRegisters>();
        request.kernel->memory->load(request.cta, request.warp, *request.instruction,
                                     request.iteration, payload->data());
      }
      done_out[i]->write({request, std::move(payload)});
    }
  }
}

}  // namespace sptc::sim
