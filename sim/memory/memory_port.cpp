// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/memory_port.h"

#include "models/base/error.h"

#include <algorithm>
#include <utility>

namespace sptc::sim {

MemoryPorts::MemoryPorts(const sc_core::sc_module_name& name, const Clock& clock, int ports)
    : Module(name, clock) {
  run_on();
  for (int i = 0; i < ports; ++i) {
    sockets_.push_back(std::make_unique<Socket>(("port" + std::to_string(i)).c_str()));
    sockets_.back()->register_nb_transport_fw(this, &MemoryPorts::on_request, i);
  }
}

tlm::tlm_sync_enum MemoryPorts::on_request(int port, tlm::tlm_generic_payload& payload,
                                           tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase == tlm::END_RESP) {
    return tlm::TLM_COMPLETED;
  }
  ensure(phase == tlm::BEGIN_REQ && delay == sc_core::SC_ZERO_TIME,
         "a request came with a phase or a delay that this memory does not take");
  payload.acquire();
  arrived_.push_back({static_cast<std::size_t>(port), &payload, now()});
  wake_at(now() + 1);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void MemoryPorts::look_at_arrived() {
  // Those of this cycle wait for the next one: it depends on the order of evaluation which of them
  // are there already.
  const auto first_new =
      std::find_if(arrived_.begin(), arrived_.end(),
                   [&](const Request& request) { return request.arrival_cycle == now(); });
  std::stable_sort(arrived_.begin(), first_new,
                   [](const Request& a, const Request& b) { return a.port < b.port; });
  for (auto request = arrived_.begin(); request != first_new; ++request) {
    const std::int64_t due = std::max(complete(request->port, *request->payload, now()), now() + 1);
    responses_.push({due, order_++, *request});
  }
  arrived_.erase(arrived_.begin(), first_new);
}

void MemoryPorts::on_event() {
  const std::int64_t cycle = now();
  look_at_arrived();
  while (!responses_.empty() && responses_.top().cycle <= cycle) {
    const Request request = responses_.top().request;
    responses_.pop();
    request.payload->set_response_status(tlm::TLM_OK_RESPONSE);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    (*sockets_[request.port])->nb_transport_bw(*request.payload, phase, delay);
    request.payload->release();
  }
  if (!responses_.empty()) {
    wake_at(responses_.top().cycle);
  }
  if (!arrived_.empty()) {
    wake_at(cycle + 1);
  }
}

}  // namespace sptc::sim
