// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/memory/memory_port.h"

#include "models/base/error.h"

#include <algorithm>

namespace sptc::memory {

namespace {

/// What a memory that knows addresses and lengths alone says to `payload`.
tlm::tlm_response_status status_of(const tlm::tlm_generic_payload& payload) {
  if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) {
    return tlm::TLM_COMMAND_ERROR_RESPONSE;
  }
  if (payload.get_byte_enable_ptr() != nullptr) {
    return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  }
  const unsigned length = payload.get_data_length();
  return length > 0 && payload.get_streaming_width() >= length ? tlm::TLM_OK_RESPONSE : tlm::TLM_BURST_ERROR_RESPONSE;
}

}  // namespace

MemoryPorts::MemoryPorts(const sc_core::sc_module_name& name, const base::Clock& clock, int ports)
    : base::Module(name, clock) {
  run_on();
  for (int i = 0; i < ports; ++i) {
    ports_.push_back(std::make_unique<Port>("port" + std::to_string(i)));
    ports_.back()->socket.register_nb_transport_fw(this, &MemoryPorts::on_request, i);
  }
}

tlm::tlm_sync_enum MemoryPorts::on_request(int port, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                           sc_core::sc_time& delay) {
  if (phase > tlm::END_RESP) {
    return tlm::TLM_ACCEPTED;  // of an extended protocol, to be ignored
  }
  if (phase == tlm::END_RESP) {
    Port& ended = *ports_[static_cast<std::size_t>(port)];
    base::ensure(ended.open == &payload, "a response was ended that is not open");
    end_response(ended, delay, now() + 1);
    return tlm::TLM_COMPLETED;
  }
  base::ensure(phase == tlm::BEGIN_REQ, "a request came with a phase outside the base protocol");
  payload.acquire();
  const Request request{static_cast<std::size_t>(port), &payload, clock().cycle_of(clock().time() + delay)};
  const auto later = std::find_if(arrived_.rbegin(), arrived_.rend(),
                                  [&](const Request& other) { return other.arrival_cycle <= request.arrival_cycle; });
  arrived_.insert(later.base(), request);
  wake_at(request.arrival_cycle + 1);
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void MemoryPorts::look_at_arrived() {
  // Leaves those of this cycle to the next one: which of them are there already depends on the
  // order of evaluation.
  const auto first_new = std::find_if(arrived_.begin(), arrived_.end(),
                                      [&](const Request& request) { return request.arrival_cycle >= now(); });
  std::stable_sort(arrived_.begin(), first_new, [](const Request& a, const Request& b) { return a.port < b.port; });
  for (auto request = arrived_.begin(); request != first_new; ++request) {
    tlm::tlm_generic_payload& payload = *request->payload;
    payload.set_response_status(status_of(payload));
    const std::int64_t due = payload.is_response_ok() ? complete(request->port, payload, now()) : now() + 1;
    if (due != kLater) {
      responses_.push({std::max(due, now() + 1), order_++, *request});
    }
    if (observer_) {
      observer_(now(), activity());
    }
  }
  arrived_.erase(arrived_.begin(), first_new);
}

void MemoryPorts::answer(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t cycle) {
  const std::int64_t due = std::max(cycle, now() + 1);
  responses_.push({due, order_++, {port, &payload, now()}});
  wake_at(due);
}

void MemoryPorts::on_event() {
  const std::int64_t cycle = now();
  look_at_arrived();
  while (!responses_.empty() && responses_.top().cycle <= cycle) {
    const Response response = responses_.top();
    responses_.pop();
    respond(response);
  }
  if (!responses_.empty()) {
    wake_at(responses_.top().cycle);
  }
  if (!arrived_.empty()) {
    wake_at(arrived_.front().arrival_cycle + 1);
  }
}

void MemoryPorts::respond(const Response& response) {
  Port& port = *ports_[response.request.port];
  if (port.open != nullptr) {
    held_.push_back(response);
    return;
  }
  if (port.next_response_cycle > now()) {
    responses_.push({port.next_response_cycle, response.order, response.request});
    return;
  }
  tlm::tlm_generic_payload& payload = *response.request.payload;
  port.open = &payload;
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const tlm::tlm_sync_enum answer = port.socket->nb_transport_bw(payload, phase, delay);
  if (answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::END_RESP)) {
    end_response(port, delay, now());
  }
  payload.release();
}

void MemoryPorts::end_response(Port& port, const sc_core::sc_time& delay, std::int64_t earliest) {
  port.open = nullptr;
  port.next_response_cycle = std::max(clock().cycle_from(clock().time() + delay), earliest);
  const auto other = std::stable_partition(
      held_.begin(), held_.end(), [&](const Response& held) { return ports_[held.request.port].get() == &port; });
  for (auto held = held_.begin(); held != other; ++held) {
    responses_.push({port.next_response_cycle, held->order, held->request});
    wake_at(port.next_response_cycle);
  }
  held_.erase(held_.begin(), other);
}

}  // namespace sptc::memory
