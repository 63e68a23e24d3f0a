// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/hardware/sm/l1_cache.h"
#include "sim/hardware/sm/shared_memory.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/hardware/sm/tokens.h"

#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace sptc::sm {

/// The way of an SM to global memory: copies into shared memory, loads of registers, and stores.
/// Each such instruction of a warp is one TLM-2.0 transaction; loads that hit the L1 are none.
///
/// Protocol: the base protocol of TLM-2.0, non-blocking, approximately timed. The unit sends
/// BEGIN_REQ and holds the next transaction back until that request has ended (the request
/// exclusion rule). It ends each response with END_RESP, on the return path of BEGIN_RESP, or by a
/// call where BEGIN_RESP itself came on a return path. Any target that keeps the base protocol can
/// be bound, and may rewrite the address. Transactions are as long as what an instruction moves,
/// and carry addresses and lengths only: values are fetched where a copy has arrived (CtaMemory). A
/// payload has to have a data pointer; what it points to all transactions share, so that a memory
/// that keeps data finds nothing in it.
class AsyncCopyUnit : public base::Module {
 public:
  sc_core::sc_vector<sc_core::sc_port<base::WireIn<CopyRequest>>> request_in;
  sc_core::sc_vector<sc_core::sc_port<base::WireOut<CopyDone>>> done_out;
  tlm_utils::simple_initiator_socket<AsyncCopyUnit> memory{"memory"};

  AsyncCopyUnit(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec,
                SharedMemory& shared_memory);
  ~AsyncCopyUnit() override;

  /// The L1 is empty and has what `shared_memory` bytes leave. Call between grids.
  void start_grid(base::Bytes shared_memory) { l1_.start(shared_memory); }

  /// Transactions that have not been answered, or wait to be sent.
  std::int64_t under_way() const { return under_way_; }

  /// Cycle in which the latest answer, of a copy or a store, had arrived in full.
  std::int64_t last_response_cycle() const { return last_response_cycle_; }

 protected:
  void on_event() override;

 private:
  struct Transaction;
  class Pool;
  struct Hit {
    std::size_t port = 0;
    CopyDone done;
    std::int64_t due = 0;  ///< cycle in which the answer leaves
  };

  void accept(std::size_t port, const CopyRequest& request);
  void hit(std::size_t port, const CopyDone& done, std::int64_t bytes);
  void answer_hits();
  void send();
  void end_request(const sc_core::sc_time& delay, std::int64_t earliest);
  void respond(Transaction& transaction, const sc_core::sc_time& delay);
  /// The response of `transaction` has come: ends it, or begins to fill shared memory.
  void arrive(Transaction& transaction);
  /// What has arrived is in shared memory, or in registers, from cycle `end` on.
  void finish(Transaction& transaction, std::int64_t end);
  /// What the banks move while TMA writes `range`, and what it fills beyond the edge.
  base::Bytes work_of_banks(const MemoryRange& range) const;
  tlm::tlm_sync_enum on_response(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);

  SharedMemory& shared_memory_;
  L1Cache l1_;
  std::int64_t l1_latency_;
  std::int64_t async_latency_, bulk_latency_;  ///< beside the load
  std::int64_t bulk_fill_, bulk_edge_, shared_memory_bytes_per_cycle_;
  std::deque<Hit> hits_;
  std::unique_ptr<Pool> pool_;
  std::int64_t under_way_ = 0;
  std::deque<Transaction*> queue_;
  std::vector<Transaction*> responded_;
  std::vector<Transaction*> filling_;    ///< TMA wrote them in the cycle before
  const Transaction* open_ = nullptr;    ///< its request has not ended yet
  std::int64_t next_request_cycle_ = 0;  ///< at the earliest
  std::int64_t last_response_cycle_ = 0;
};

}  // namespace sptc::sm
