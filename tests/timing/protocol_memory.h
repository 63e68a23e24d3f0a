// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/clock.h"

#include <systemc>
#include <tlm>
#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace sptc::timing {

/// Another memory behind the sockets of SMs, which answers in one of the ways that the base
/// protocol of TLM-2.0 has, begins no response before the end of the one before it (the response
/// exclusion rule), and counts what an SM does against the protocol.
class ProtocolMemory : public sc_core::sc_module {
 public:
  /// What answers a request.
  enum class Answer {
    kEndOfRequestLater,  ///< a call of END_REQ, and one of BEGIN_RESP
    kResponseLater,      ///< one call, of BEGIN_RESP, annotated with a delay
    kEndOfRequest,       ///< END_REQ on the return path, with a delay; BEGIN_RESP is called
    kResponse,           ///< BEGIN_RESP on the return path, with a delay
    kCompleted,          ///< TLM_COMPLETED, with a delay
  };
  struct Request {
    std::int64_t cycle = 0;  ///< in which it came, since the start of the simulation
    bool is_write = false;
  };
  using Socket = tlm_utils::simple_target_socket_tagged<ProtocolMemory>;

  /// `latency`: cycles until the response to a request whose end is a call, or on the return path.
  ProtocolMemory(const sc_core::sc_module_name& name, const base::Clock& clock, Answer answer, int sms,
                 int latency = 40)
      : sc_core::sc_module(name),
        clock_(clock),
        answer_(answer),
        latency_(latency),
        later_("later", this, &ProtocolMemory::go_on) {
    for (int i = 0; i < sms; ++i) {
      ports_.push_back(std::make_unique<Port>(i));
      ports_.back()->socket.register_nb_transport_fw(this, &ProtocolMemory::request, i);
    }
  }

  Socket& socket(std::size_t port) { return ports_[port]->socket; }
  /// No request and no response is open or waits.
  bool at_rest() const {
    bool rests = true;
    for (const auto& port : ports_) {
      rests = rests && !port->request && !port->response && port->waiting.empty();
    }
    return rests;
  }

  // Since the start of the simulation.
  std::int64_t transactions = 0, read_bytes = 0, written_bytes = 0;
  std::int64_t against_protocol = 0;
  std::vector<Request> requests;
  std::uint64_t added_to_address = 0;  ///< of each payload, as an interconnect does

 private:
  using Payload = tlm::tlm_generic_payload;

  struct Port {
    explicit Port(int index) : socket(("port" + std::to_string(index)).c_str()) {}
    Socket socket;
    const Payload* request = nullptr;   ///< that has not ended yet,
    sc_core::sc_time request_end;       ///< or did, or will, then
    const Payload* response = nullptr;  ///< that has not ended yet
    sc_core::sc_time response_begin;
    std::deque<Payload*> waiting;  ///< for the end of it
  };

  /// Left for the pool of the initiator to delete.
  struct OfPort : public tlm::tlm_extension<OfPort> {
    explicit OfPort(Port& which) : port(&which) {}
    tlm::tlm_extension_base* clone() const override { return new OfPort(*port); }
    void copy_from(const tlm::tlm_extension_base& other) override { port = static_cast<const OfPort&>(other).port; }
    Port* port;
  };

  tlm::tlm_sync_enum request(int index, Payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    Port& port = *ports_[static_cast<std::size_t>(index)];
    if (phase == tlm::END_RESP) {
      end_response(port, payload, delay);
      return tlm::TLM_COMPLETED;
    }
    note(port, payload);
    port.request = &payload;
    switch (answer_) {
      case Answer::kEndOfRequestLater:
        call(payload, tlm::END_REQ, 3);
        call(payload, tlm::BEGIN_RESP, latency_);
        return tlm::TLM_ACCEPTED;
      case Answer::kResponseLater:
        call(payload, tlm::BEGIN_RESP, 6);
        return tlm::TLM_ACCEPTED;
      case Answer::kEndOfRequest:
        call(payload, tlm::BEGIN_RESP, latency_);
        return on_return_path(port, phase, tlm::END_REQ, delay, 10);
      case Answer::kResponse:
        if (port.response != nullptr) {
          call(payload, tlm::BEGIN_RESP, 1);
          return on_return_path(port, phase, tlm::END_REQ, delay, 0);
        }
        port.response = &payload;
        on_return_path(port, phase, tlm::BEGIN_RESP, delay, 2);
        port.response_begin = port.request_end;
        return tlm::TLM_UPDATED;
      case Answer::kCompleted:
        payload.release();
        on_return_path(port, phase, phase, delay, 5);
        return tlm::TLM_COMPLETED;
    }
    return tlm::TLM_ACCEPTED;
  }

  void note(Port& port, Payload& payload) {
    const bool too_early = port.request != nullptr || sc_core::sc_time_stamp() < port.request_end;
    const bool stale = payload.get_extension<OfPort>() != nullptr;
    against_protocol += (too_early ? 1 : 0) + (stale ? 1 : 0);
    payload.set_auto_extension(new OfPort(port));
    payload.acquire();
    ++transactions;
    requests.push_back({clock_.now(), payload.is_write()});
    (payload.is_read() ? read_bytes : written_bytes) += payload.get_data_length();
    payload.set_address(payload.get_address() + added_to_address);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }

  tlm::tlm_sync_enum on_return_path(Port& port, tlm::tlm_phase& phase, const tlm::tlm_phase& next,
                                    sc_core::sc_time& delay, int cycles) {
    phase = next;
    delay += clock_.cycles(cycles);
    port.request = nullptr;
    port.request_end = sc_core::sc_time_stamp() + delay;
    return tlm::TLM_UPDATED;
  }

  void call(Payload& payload, const tlm::tlm_phase& phase, int cycles) {
    later_.notify(payload, phase, clock_.cycles(cycles));
  }

  void go_on(Payload& payload, const tlm::tlm_phase& phase) {
    Port& port = *payload.get_extension<OfPort>()->port;
    if (phase == tlm::BEGIN_RESP && port.response != nullptr) {
      port.waiting.push_back(&payload);
      return;
    }
    tlm::tlm_phase called = phase;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    if (phase == tlm::BEGIN_RESP) {
      delay = answer_ == Answer::kResponseLater ? clock_.cycles(4) : delay;
      port.response = &payload;
      port.response_begin = sc_core::sc_time_stamp() + delay;
    }
    if (port.request == &payload) {
      port.request = nullptr;
      port.request_end = sc_core::sc_time_stamp() + delay;
    }
    const tlm::tlm_sync_enum answer = port.socket->nb_transport_bw(payload, called, delay);
    if (answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && called == tlm::END_RESP)) {
      end_response(port, payload, delay);
    }
  }

  void end_response(Port& port, Payload& payload, const sc_core::sc_time& delay) {
    const sc_core::sc_time end = sc_core::sc_time_stamp() + delay;
    against_protocol += port.response != &payload || end < port.response_begin ? 1 : 0;
    port.response = nullptr;
    payload.release();
    if (!port.waiting.empty()) {
      later_.notify(*port.waiting.front(), tlm::BEGIN_RESP, delay);
      port.waiting.pop_front();
    }
  }

  const base::Clock& clock_;
  Answer answer_;
  int latency_;
  std::vector<std::unique_ptr<Port>> ports_;
  tlm_utils::peq_with_cb_and_phase<ProtocolMemory> later_;
};

}  // namespace sptc::timing
