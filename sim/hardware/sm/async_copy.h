// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/hardware/sm/l1_cache.h"
#include "sim/hardware/sm/requester.h"
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
/// Any target that keeps the base protocol of TLM-2.0 can be bound (Requester), and may rewrite the address.
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
  tlm_utils::simple_initiator_socket<Requester> memory{"memory"};

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
  /// A load that hits the L1 and has not been answered.
  struct Hit {
    std::size_t sub_partition = 0;  ///< its index: who asked
    CopyDone done;
    std::int64_t due = 0;  ///< cycle in which the answer leaves
  };

  /// Takes a request: a load that hits the L1, or a transaction for the queue.
  void accept(std::size_t sub_partition, const CopyRequest& request);
  void answer_hits();
  /// Ends `transaction`, whose response has come, or begins to fill shared memory with it.
  void arrive(Transaction& transaction);
  /// Tells the warp that its bytes are in shared memory, or in registers, from cycle `end` on.
  void finish(Transaction& transaction, std::int64_t end);
  /// Bytes that the banks could move while TMA writes `range`, and what it fills beyond the edge.
  base::Bytes work_of_banks(const MemoryRange& range) const;

  SharedMemory& shared_memory_;
  L1Cache l1_;
  std::int64_t l1_latency_;
  std::int64_t async_latency_, bulk_latency_;  ///< of a copy, beside the load of its bytes
  std::int64_t bulk_fill_, bulk_edge_, shared_memory_bytes_per_cycle_;
  std::deque<Hit> hits_;
  std::unique_ptr<TransactionPool<Transaction>> pool_;
  Requester requester_;
  std::int64_t under_way_ = 0;
  std::deque<Transaction*> queue_;     ///< not sent yet
  std::vector<Transaction*> filling_;  ///< TMA wrote them in the cycle before
  std::int64_t last_response_cycle_ = 0;
};

}  // namespace sptc::sm
