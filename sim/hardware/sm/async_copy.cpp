// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/async_copy.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "sim/hardware/sm/memory_request.h"

#include <algorithm>
#include <utility>

namespace sptc::sm {
namespace {

/// Zeros, `bytes` of them or more. All transactions share them; one that is under way keeps its
/// own where a longer one needs more.
unsigned char* data_of_length(std::int64_t bytes) {
  static std::deque<std::vector<unsigned char>> arrays(1);
  const auto length = static_cast<std::size_t>(bytes);
  if (arrays.back().size() < length) {
    arrays.emplace_back(std::max(length, 2 * arrays.back().size()));
  }
  return arrays.back().data();
}

}  // namespace

/// A request of a sub-partition on its way to global memory and back.
struct AsyncCopyUnit::Transaction : public RequestedTransaction {
  explicit Transaction(tlm::tlm_mm_interface* pool) : RequestedTransaction(pool) { set_extension(&info); }
  ~Transaction() override { clear_extension(&info); }

  RequestInfo info;
  std::size_t sub_partition = 0;
  CopyDone done;
  bool bulk = false;         ///< of TMA: kilobytes, where a warp's cp.async are a few cycles
  std::int64_t through = 0;  ///< in which the banks have taken it
};

AsyncCopyUnit::AsyncCopyUnit(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec,
                             SharedMemory& shared_memory)
    : base::Module(name, clock),
      request_in("request_in", static_cast<std::size_t>(spec.sub_partitions)),
      done_out("done_out", static_cast<std::size_t>(spec.sub_partitions)),
      shared_memory_(shared_memory),
      l1_(spec),
      l1_latency_(spec.l1_latency_cycles),
      async_latency_(spec.async_copy_latency_cycles),
      bulk_latency_(spec.bulk_copy_latency_cycles),
      bulk_fill_(spec.bulk_fill_bytes_per_cycle),
      bulk_edge_(spec.bulk_edge_elements_per_cycle),
      shared_memory_bytes_per_cycle_(spec.shared_memory_bytes_per_cycle().count()),
      pool_(std::make_unique<TransactionPool<Transaction>>()),
      requester_(
          "a memory", clock, memory, [this](std::int64_t cycle) { wake_at(cycle); }, 1) {
  run_on();
  for (auto& port : request_in) {
    sensitive << port;
  }
  memory.register_nb_transport_bw(&requester_, &Requester::on_response);
}

AsyncCopyUnit::~AsyncCopyUnit() = default;

void AsyncCopyUnit::on_event() {
  for (std::size_t i = 0; i < request_in.size(); ++i) {
    while (request_in[i]->can_read()) {
      accept(i, request_in[i]->read());
    }
  }
  while (!queue_.empty() && requester_.can_send()) {
    Transaction* const transaction = queue_.front();
    queue_.pop_front();
    requester_.send(*transaction);
  }
  answer_hits();
  if (!filling_.empty() && filling_.front()->due < now()) {
    shared_memory_.settle_writes();
    for (Transaction* transaction : std::exchange(filling_, {})) {
      finish(*transaction, std::max(transaction->through, transaction->due + 1));
    }
  }
  requester_.take_responses([this](RequestedTransaction& one) { arrive(static_cast<Transaction&>(one)); });
}

void AsyncCopyUnit::accept(std::size_t sub_partition, const CopyRequest& request) {
  const bool to_registers = request.instruction->opcode == isa::Opcode::kLoadGlobal;
  const CopyDone done{request.warp_slot, request.group, to_registers ? request.instruction : nullptr,
                      MemoryLevel::kLatency};
  const bool is_store = request.instruction->opcode == isa::Opcode::kStoreGlobal;
  base::ensure(request.kernel->traffic != nullptr, "a kernel copies and has no addresses");
  const MemoryRange range =
      request.kernel->traffic->range(request.cta, request.warp, *request.instruction, request.tile);
  if (range.bytes == 0) {  // all beyond the edge of the matrix
    if (!is_store) {
      done_out[sub_partition]->write(done);
    }
    return;
  }
  if (to_registers && l1_.holds(range)) {
    // Three cycles of the latency are those of request, look-up and answer.
    hits_.push_back({sub_partition, done, shared_memory_.claim(base::Bytes(range.bytes)) + l1_latency_ - 3});
    wake_at(hits_.back().due);
    return;
  }
  Transaction& transaction = pool_->request(range, is_store, data_of_length(range.bytes));
  transaction.info.operand = request.instruction->operand;
  transaction.info.readers = range.readers;
  transaction.info.instruction = request.instruction;
  transaction.info.cta = request.cta;
  transaction.info.tile = request.tile;
  transaction.info.warp = request.warp;
  transaction.info.waited_for = MemoryLevel::kLatency;
  transaction.sub_partition = sub_partition;
  transaction.bulk = request.instruction->bulk;
  transaction.done = done;
  queue_.push_back(&transaction);
  ++under_way_;
}

void AsyncCopyUnit::answer_hits() {
  for (; !hits_.empty() && hits_.front().due <= now(); hits_.pop_front()) {
    done_out[hits_.front().sub_partition]->write(hits_.front().done);
  }
  if (!hits_.empty()) {
    wake_at(hits_.front().due);
  }
}

void AsyncCopyUnit::arrive(Transaction& transaction) {
  if (!transaction.is_read()) {
    finish(transaction, now());
  } else if (!transaction.bulk) {
    const base::Bytes bytes(transaction.range.bytes);
    finish(transaction, std::max(shared_memory_.claim(bytes), now() + 1));
  } else if (const base::Bytes work = work_of_banks(transaction.range); work.count() > 0) {
    transaction.due = now();
    shared_memory_.write(work, transaction.through);
    filling_.push_back(&transaction);
    wake_at(now() + 1);
  } else {
    finish(transaction, now() + 1);
  }
}

void AsyncCopyUnit::finish(Transaction& transaction, std::int64_t end) {
  if (transaction.is_read()) {
    const bool to_registers = transaction.done.load != nullptr;
    if (to_registers) {
      l1_.fill(transaction.range);
    }
    end += transaction.bulk ? bulk_latency_ : to_registers ? 0 : async_latency_;
    transaction.done.waited_for = transaction.info.waited_for;
    done_out[transaction.sub_partition]->write_after(transaction.done, std::max<std::int64_t>(1, end - now()));
  }
  last_response_cycle_ = std::max(last_response_cycle_, end);
  --under_way_;
  transaction.release();
}

base::Bytes AsyncCopyUnit::work_of_banks(const MemoryRange& range) const {
  const auto of = [&](std::int64_t count, std::int64_t per_cycle) {
    return per_cycle == 0 ? 0 : base::ceil_div(count * shared_memory_bytes_per_cycle_, per_cycle);
  };
  return base::Bytes(of(range.bytes, bulk_fill_) + of(range.beyond, bulk_edge_));
}

}  // namespace sptc::sm
