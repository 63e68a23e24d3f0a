// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/memory/l2_and_dram.h"
#include "sim/hardware/memory/memory_port.h"
#include "sim/hardware/memory/memory_spec.h"

#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

namespace sptc::memory {

/// The L2 behind the sockets of all SMs, before a DRAM outside, which a socket by the base protocol
/// of TLM-2.0 asks. Each transaction lies in a block of the L2 and is a whole number of its
/// sectors. Reads of what is on its way wait for it. Writes wait in the L2: they go out while no
/// read is under way, and before reads once as much of the L2 is dirty as may be.
class L2BeforeDram : public MemoryPorts {
 public:
  L2BeforeDram(const sc_core::sc_module_name& name, const base::Clock& clock, const MemorySpec& spec, int sms);
  ~L2BeforeDram() override;

  tlm_utils::simple_initiator_socket<L2BeforeDram> dram{"dram"};

  /// L2AndDram::reset(), with dirty bytes that launches before have left at kLeftAddress.
  void reset(double clock_mhz, const L2Contents& contents = {});
  static constexpr std::uint64_t kLeftAddress = std::uint64_t{1} << 32;

  MemoryBytes counters() const { return l2_.counters(); }

 protected:
  /// What the L2 did: DRAM outside is not looked into.
  MemoryActivity activity() const override { return l2_.activity(); }
  std::int64_t complete(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t now) override;

 private:
  struct Fetch;
  class Pool;
  /// A transaction of an SM, until DRAM has delivered or taken what it is for.
  struct Waiting {
    std::size_t port = 0;
    std::int64_t cycle = 0;    ///< of the answer, at the earliest
    std::int64_t latency = 0;  ///< from the DRAM to the SM
    std::int64_t since = 0;
    int fetches = 0;  ///< that it waits for
  };

  void on_event() override;
  tlm::tlm_sync_enum on_response(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);

  Fetch& queue(const sm::MemoryRange& range, bool write);
  void queue_write(const sm::MemoryRange& range);
  /// `payload` waits for what is under way of its bytes; whether anything is.
  bool wait_for_fetches(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t cycle);
  /// What may go out now; null: nothing.
  Fetch* next_to_send();
  void send();
  void end_request(const sc_core::sc_time& delay);
  void arrive(Fetch& fetch, const sc_core::sc_time& delay);
  void finish(Fetch& fetch);

  const MemorySpec spec_;
  L2AndDram l2_;
  std::unique_ptr<Pool> pool_;
  std::deque<Fetch*> reads_, writes_;                        ///< to be sent
  std::vector<Fetch*> arrived_;                              ///< whose answer takes effect later
  Fetch* open_ = nullptr;                                    ///< whose request has not ended
  sc_core::sc_time next_request_;                            ///< not before
  std::unordered_multimap<std::uint64_t, Fetch*> fetching_;  ///< reads, by block
  std::unordered_map<tlm::tlm_generic_payload*, Waiting> waiting_;
  std::deque<tlm::tlm_generic_payload*> held_writes_;  ///< of waiting_, until there is room
  std::int64_t reads_under_way_ = 0;
  std::int64_t written_under_way_ = 0;  ///< bytes
  std::int64_t dirty_ = 0;              ///< bytes, those under way among them
  double resident_d_ = 0;
};

}  // namespace sptc::memory
