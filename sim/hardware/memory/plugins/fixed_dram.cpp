// SPDX-License-Identifier: Apache-2.0
// A DRAM of one latency and one bandwidth: the smallest plugin for --memory, and the example of
// sim/EXTENDING.md.
#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_target_socket.h>

#include <algorithm>
#include <cstdio>
#include <sptcsim/plugin/memory.h>
#include <stdexcept>
#include <string>

namespace {

class FixedDram : public sptcsim::Dram {
 public:
  FixedDram(const sc_core::sc_module_name& name, const sptcsim::MemorySettings& settings)
      : sptcsim::Dram(name), bytes_per_ns_(settings.gb_per_s), responses_("responses", this, &FixedDram::respond) {
    const std::string config = settings.config;
    char more = 0;
    if (!config.empty() &&
        (std::sscanf(config.c_str(), "%lf ns, %lf GB/s%c", &latency_ns_, &bytes_per_ns_, &more) != 2 ||
         !(latency_ns_ >= 0 && latency_ns_ <= 1e6) || !(bytes_per_ns_ > 0 && bytes_per_ns_ <= 1e6))) {
      throw std::invalid_argument("its --memory-config must be like '300 ns, 1500 GB/s', not '" + config + "'");
    }
    socket_.register_nb_transport_fw(this, &FixedDram::request);
  }

  tlm::tlm_base_target_socket<>& socket() override { return socket_; }

 private:
  static sc_core::sc_time ns(double count) { return {count, sc_core::SC_NS}; }

  tlm::tlm_sync_enum request(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    const sc_core::sc_time asked = sc_core::sc_time_stamp() + delay;
    free_at_ = std::max(free_at_, asked) + ns(payload.get_data_length() / bytes_per_ns_);
    payload.acquire();
    responses_.notify(payload, tlm::BEGIN_RESP, free_at_ + ns(latency_ns_) - sc_core::sc_time_stamp());
    phase = tlm::END_REQ;  // its queue takes any number
    return tlm::TLM_UPDATED;
  }

  // The L2 ends each response on the return path.
  void respond(tlm::tlm_generic_payload& payload, const tlm::tlm_phase&) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket_->nb_transport_bw(payload, phase, delay);
    payload.release();
  }

  double latency_ns_ = 200, bytes_per_ns_;
  tlm_utils::simple_target_socket<FixedDram> socket_{"socket"};
  sc_core::sc_time free_at_;
  tlm_utils::peq_with_cb_and_phase<FixedDram> responses_;
};

}  // namespace

SPTCSIM_MEMORY_PLUGIN(FixedDram, "fixed_dram 1");
