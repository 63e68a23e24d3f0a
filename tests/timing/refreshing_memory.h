// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>
#include <tlm>
#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_target_socket.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sptc::timing {

/// A small DRAM of one channel, as one would bind it in the place of the modelled memory: it counts
/// nanoseconds, not cycles, and refreshes by itself for ever.
class RefreshingMemory : public sc_core::sc_module {
 public:
  static constexpr double kBytesPerNs = 256, kLatencyNs = 200;
  static constexpr double kRefreshIntervalNs = 3900, kRefreshNs = 350;
  using Socket = tlm_utils::simple_target_socket_tagged<RefreshingMemory>;

  SC_HAS_PROCESS(RefreshingMemory);
  RefreshingMemory(const sc_core::sc_module_name& name, int sms)
      : sc_core::sc_module(name), responses_("responses", this, &RefreshingMemory::respond) {
    for (int i = 0; i < sms; ++i) {
      sockets_.push_back(std::make_unique<Socket>(("port" + std::to_string(i)).c_str()));
      sockets_.back()->register_nb_transport_fw(this, &RefreshingMemory::request, i);
    }
    SC_METHOD(refresh);
  }

  Socket& socket(std::size_t port) { return *sockets_[port]; }

  bool answers = true;
  std::int64_t read_bytes = 0, written_bytes = 0, refreshes = 0;

 private:
  static sc_core::sc_time ns(double count) { return {count, sc_core::SC_NS}; }

  tlm::tlm_sync_enum request(int port, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                             sc_core::sc_time& delay) {
    const sc_core::sc_time asked = sc_core::sc_time_stamp() + delay;
    (payload.is_read() ? read_bytes : written_bytes) += payload.get_data_length();
    free_at_ = std::max(free_at_, asked) + ns(payload.get_data_length() / kBytesPerNs);
    if (answers) {
      payload.acquire();
      port_of_[&payload] = port;
      responses_.notify(payload, tlm::BEGIN_RESP, free_at_ + ns(kLatencyNs) - sc_core::sc_time_stamp());
    }
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }

  // An SM ends each response on the return path.
  void respond(tlm::tlm_generic_payload& payload, const tlm::tlm_phase&) {
    const auto port = port_of_.extract(&payload);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    (*sockets_[static_cast<std::size_t>(port.mapped())])->nb_transport_bw(payload, phase, delay);
    payload.release();
  }

  void refresh() {
    ++refreshes;
    free_at_ = std::max(free_at_, sc_core::sc_time_stamp()) + ns(kRefreshNs);
    next_trigger(ns(kRefreshIntervalNs));
  }

  std::vector<std::unique_ptr<Socket>> sockets_;
  std::map<const tlm::tlm_generic_payload*, int> port_of_;
  sc_core::sc_time free_at_;
  tlm_utils::peq_with_cb_and_phase<RefreshingMemory> responses_;
};

}  // namespace sptc::timing
