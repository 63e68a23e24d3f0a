// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/memory/memory_spec.h"
#include "sim/hardware/memory/memory_system.h"
#include "sim/hardware/sm/requester.h"

#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

namespace sptc::memory {

/// The L2 behind the sockets of all SMs, before a DRAM outside, which a socket by the base protocol
/// of TLM-2.0 asks, and which is not looked into. Each transaction lies in a block of the L2 and is a whole number of
/// its sectors. Reads of what is on its way wait for it. Writes wait in the L2: they go out while no read is under way,
/// and before reads once as much of the L2 is dirty as may be.
class L2BeforeDram : public MemorySystem {
 public:
  L2BeforeDram(const sc_core::sc_module_name& name, const base::Clock& clock, const MemorySpec& spec, int sms);
  ~L2BeforeDram() override;

  tlm_utils::simple_initiator_socket<sm::Requester> dram{"dram"};

  /// Dirty bytes that launches before have left are at kLeftAddress.
  void reset(double clock_mhz, const L2Contents& contents) override;
  static constexpr std::uint64_t kLeftAddress = std::uint64_t{1} << 32;

 protected:
  std::int64_t complete(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t now) override;

 private:
  struct Fetch;
  /// A transaction of an SM, until DRAM has delivered or taken what it is for.
  struct Waiting {
    std::size_t port = 0;
    std::int64_t cycle = 0;    ///< of the answer, at the earliest
    std::int64_t latency = 0;  ///< from the DRAM to the SM
    std::int64_t since = 0;
    int fetches = 0;  ///< that it waits for
  };

  void on_event() override;

  Fetch& queue(const sm::MemoryRange& range, bool write);
  void queue_write(const sm::MemoryRange& range);
  /// `payload` waits for what is under way of its bytes; whether anything is.
  bool wait_for_fetches(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t cycle);
  /// What may go out now; null: nothing.
  Fetch* next_to_send();
  void send();
  void finish(Fetch& fetch);

  const MemorySpec spec_;
  std::unique_ptr<sm::TransactionPool<Fetch>> pool_;
  sm::Requester requester_;
  std::deque<Fetch*> reads_, writes_;                        ///< to be sent
  std::unordered_multimap<std::uint64_t, Fetch*> fetching_;  ///< reads, by block
  std::unordered_map<tlm::tlm_generic_payload*, Waiting> waiting_;
  std::deque<tlm::tlm_generic_payload*> held_writes_;  ///< of waiting_, until there is room
  std::int64_t reads_under_way_ = 0;
  std::int64_t written_under_way_ = 0;  ///< bytes
  std::int64_t dirty_ = 0;              ///< bytes, those under way among them
  double resident_d_ = 0;
};

}  // namespace sptc::memory
