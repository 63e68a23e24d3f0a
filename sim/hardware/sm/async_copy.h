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

/// The load/store unit of an SM, which holds its L1: the way to global memory of copies into shared memory (cp.async,
/// TMA), of loads into registers and of stores. Each such instruction of a warp is one TLM-2.0 transaction, but for
/// loads that hit the L1. What arrives, and what hits the L1, takes its part of the bandwidth of the banks of shared
/// memory; what TMA writes, that of SmSpec::bulk_fill_bytes_per_cycle.
///
/// The unit speaks the base protocol of TLM-2.0, non-blocking, approximately timed. It sends BEGIN_REQ and holds the
/// next transaction back until that request has ended (the request exclusion rule). It ends each response with
/// END_RESP, on the return path of BEGIN_RESP, or by a call where BEGIN_RESP itself came on a return path. Any target
/// that keeps the base protocol can be bound, and may rewrite the address.
///
/// A transaction is as long as what the instruction moves, and carries an address and a length only: values come from
/// CtaMemory, when fragments are loaded from shared memory. A payload has to have a data pointer. All transactions
/// share what it points to, so a memory that keeps data finds nothing in it.
class AsyncCopyUnit : public base::Module {
 public:
  // SystemC ports, a pair for each sub-partition.
  sc_core::sc_vector<sc_core::sc_port<base::WireIn<CopyRequest>>> request_in;
  sc_core::sc_vector<sc_core::sc_port<base::WireOut<CopyDone>>> done_out;
  /// The SM's port: its way to the L2.
  tlm_utils::simple_initiator_socket<AsyncCopyUnit> memory{"memory"};

  AsyncCopyUnit(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec,
                SharedMemory& shared_memory);
  ~AsyncCopyUnit() override;

  /// Empties the L1 and gives it what `shared_memory` bytes leave. Call between grids.
  void start_grid(base::Bytes shared_memory) { l1_.start(shared_memory); }

  /// Transactions that have not been answered, or wait to be sent.
  std::int64_t under_way() const { return under_way_; }

  /// Cycle in which the latest response, of a read or a store, had arrived in full.
  std::int64_t last_response_cycle() const { return last_response_cycle_; }

 protected:
  void on_event() override;

 private:
  struct Transaction;
  class Pool;
  /// A load that hits the L1 and has not been answered.
  struct Hit {
    std::size_t sub_partition = 0;  ///< its index: who asked
    CopyDone done;
    std::int64_t due = 0;  ///< cycle in which the answer leaves
  };

  /// Takes a request: a load that hits the L1, or a transaction for the queue.
  void accept(std::size_t sub_partition, const CopyRequest& request);
  /// Takes the banks for `bytes` of the L1, and notes when the answer leaves.
  void hit(std::size_t sub_partition, const CopyDone& done, std::int64_t bytes);
  void answer_hits();
  /// Sends queued transactions, as far as the target ends their requests at once.
  void send();
  /// Lets the next transaction go `delay` from now, in cycle `earliest` at the earliest.
  void end_request(const sc_core::sc_time& delay, std::int64_t earliest);
  /// Notes that the response of `transaction` comes after `delay`.
  void respond(Transaction& transaction, const sc_core::sc_time& delay);
  /// Ends `transaction`, whose response has come, or begins to fill shared memory with it.
  void arrive(Transaction& transaction);
  /// Tells the warp that its bytes are in shared memory, or in registers, from cycle `end` on.
  void finish(Transaction& transaction, std::int64_t end);
  /// Bytes that the banks could move while TMA writes `range`, and what it fills beyond the edge.
  base::Bytes work_of_banks(const MemoryRange& range) const;
  tlm::tlm_sync_enum on_response(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);

  SharedMemory& shared_memory_;
  L1Cache l1_;
  std::int64_t l1_latency_;
  std::int64_t async_latency_, bulk_latency_;  ///< of a copy, beside the load of its bytes
  std::int64_t bulk_fill_, bulk_edge_, shared_memory_bytes_per_cycle_;
  std::deque<Hit> hits_;
  std::unique_ptr<Pool> pool_;
  std::int64_t under_way_ = 0;
  std::deque<Transaction*> queue_;       ///< not sent yet
  std::vector<Transaction*> responded_;  ///< their responses come in cycle `due`
  std::vector<Transaction*> filling_;    ///< TMA wrote them in the cycle before
  const Transaction* open_ = nullptr;    ///< its request has not ended yet
  std::int64_t next_request_cycle_ = 0;  ///< at the earliest
  std::int64_t last_response_cycle_ = 0;
};

}  // namespace sptc::sm
