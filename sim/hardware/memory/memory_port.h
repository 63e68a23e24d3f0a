// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/hardware/memory/memory_bytes.h"

#include <tlm>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace sptc::memory {

/// The memory side of the sockets of SMs, by the base protocol of TLM-2.0: accepts every request at
/// once (END_REQ) and answers each with BEGIN_RESP in the cycle that complete() says, or when the
/// response before it has ended. Requests of a cycle are looked at in the next one, in the order of
/// the sockets, so that the order in which SMs are evaluated cannot matter.
class MemoryPorts : public base::Module {
 public:
  using Socket = tlm_utils::simple_target_socket_tagged<MemoryPorts>;

  MemoryPorts(const sc_core::sc_module_name& name, const base::Clock& clock, int ports);

  Socket& socket(std::size_t port) { return ports_[port]->socket; }

  /// Told after each transaction that is looked at, with the cycle and activity().
  using Observer = std::function<void(std::int64_t now, const MemoryActivity&)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

 protected:
  /// Counts since the begin of the grid; zeros where the memory does not count.
  virtual MemoryActivity activity() const { return {}; }

  /// The cycle, after `now`, in which `payload` of `port` is answered; kLater: answer() will say.
  virtual std::int64_t complete(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t now) = 0;
  static constexpr std::int64_t kLater = -1;

  /// `payload`, for which complete() returned kLater, is answered in `cycle`, or in the next one.
  void answer(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t cycle);

  void on_event() override;

 private:
  struct Port {
    explicit Port(const std::string& name) : socket(name.c_str()) {}
    Socket socket;
    const tlm::tlm_generic_payload* open = nullptr;  ///< whose response has not ended yet
    std::int64_t next_response_cycle = 0;            ///< at the earliest
  };
  struct Request {
    std::size_t port;
    tlm::tlm_generic_payload* payload;
    std::int64_t arrival_cycle;
  };
  struct Response {
    std::int64_t cycle;
    std::uint64_t order;
    Request request;
    bool operator>(const Response& other) const {
      return cycle != other.cycle ? cycle > other.cycle : order > other.order;
    }
  };

  tlm::tlm_sync_enum on_request(int port, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time& delay);
  void look_at_arrived();
  void respond(const Response& response);
  void end_response(Port& port, const sc_core::sc_time& delay, std::int64_t earliest);

  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<Request> arrived_;  ///< in the order of their cycles
  std::priority_queue<Response, std::vector<Response>, std::greater<>> responses_;
  std::vector<Response> held_;  ///< back until the one before it at its port has ended
  std::uint64_t order_ = 0;
  Observer observer_;
};

}  // namespace sptc::memory
