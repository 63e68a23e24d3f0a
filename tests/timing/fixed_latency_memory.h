// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/clock.h"

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace sptc::timing {

/// Another memory behind the socket of an SM: takes one request at a time, ends it three cycles
/// later, and answers each after a fixed time.
class FixedLatencyMemory : public sc_core::sc_module {
 public:
  struct Request {
    std::int64_t cycle = 0;  ///< in which it came, since the start of the simulation
    bool is_write = false;
  };

  SC_HAS_PROCESS(FixedLatencyMemory);
  tlm_utils::simple_target_socket<FixedLatencyMemory> socket{"socket"};
  std::vector<Request> requests;
  bool overlapped = false;  ///< a request came before the end of the one before it

  FixedLatencyMemory(const sc_core::sc_module_name& name, const base::Clock& clock, int latency)
      : sc_core::sc_module(name), clock_(clock), latency_(latency) {
    socket.register_nb_transport_fw(this, &FixedLatencyMemory::request);
    SC_METHOD(end_request);
    dont_initialize();
    sensitive << end_request_;
    SC_METHOD(respond);
    dont_initialize();
    sensitive << respond_;
  }

 private:
  tlm::tlm_sync_enum request(tlm::tlm_generic_payload& payload, tlm::tlm_phase&,
                             sc_core::sc_time&) {
    overlapped |= open_ != nullptr;
    open_ = &payload;
    requests.push_back({clock_.now(), payload.is_write()});
    due_.push_back({clock_.now() + latency_, &payload});
    end_request_.notify(clock_.cycles(3));
    if (due_.size() == 1) {
      respond_.notify(clock_.cycles(latency_));
    }
    return tlm::TLM_ACCEPTED;
  }
  void end_request() {
    tlm::tlm_phase phase = tlm::END_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    tlm::tlm_generic_payload& payload = *open_;
    open_ = nullptr;
    socket->nb_transport_bw(payload, phase, delay);
  }
  void respond() {
    tlm::tlm_generic_payload& payload = *due_.front().second;
    due_.pop_front();
    if (!due_.empty()) {
      respond_.notify(clock_.cycles(due_.front().first - clock_.now()));
    }
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->nb_transport_bw(payload, phase, delay);
  }

  const base::Clock& clock_;
  int latency_;
  tlm::tlm_generic_payload* open_ = nullptr;
  std::deque<std::pair<std::int64_t, tlm::tlm_generic_payload*>> due_;
  sc_core::sc_event end_request_, respond_;
};

}  // namespace sptc::timing
