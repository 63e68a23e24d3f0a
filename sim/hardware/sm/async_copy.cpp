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
struct AsyncCopyUnit::Transaction : public tlm::tlm_generic_payload {
  explicit Transaction(tlm::tlm_mm_interface* pool) : tlm::tlm_generic_payload(pool) { set_extension(&info); }
  ~Transaction() override { clear_extension(&info); }

  RequestInfo info;
  std::size_t sub_partition = 0;
  CopyDone done;
  MemoryRange range;         ///< as asked for: an interconnect may rewrite the address of the payload
  bool bulk = false;         ///< of TMA: kilobytes, where a warp's cp.async are a few cycles
  std::int64_t due = 0;      ///< cycle in which the response has come
  std::int64_t through = 0;  ///< in which the banks have taken it
  bool owes_end = false;     ///< END_RESP is still to be sent
};

/// Transactions for use again, once their last reference is released.
class AsyncCopyUnit::Pool : public tlm::tlm_mm_interface {
 public:
  Transaction* allocate() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Transaction>(this));
      free_.push_back(all_.back().get());
    }
    Transaction* const transaction = free_.back();
    free_.pop_back();
    transaction->acquire();
    return transaction;
  }

  void free(tlm::tlm_generic_payload* payload) override {
    payload->reset();  // of extensions that a memory has left for us to delete
    free_.push_back(static_cast<Transaction*>(payload));
  }

 private:
  std::vector<std::unique_ptr<Transaction>> all_;
  std::vector<Transaction*> free_;
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
      pool_(std::make_unique<Pool>()) {
  run_on();
  for (auto& port : request_in) {
    sensitive << port;
  }
  memory.register_nb_transport_bw(this, &AsyncCopyUnit::on_response);
}

AsyncCopyUnit::~AsyncCopyUnit() = default;

void AsyncCopyUnit::on_event() {
  for (std::size_t i = 0; i < request_in.size(); ++i) {
    while (request_in[i]->can_read()) {
      accept(i, request_in[i]->read());
    }
  }
  send();
  answer_hits();
  if (!filling_.empty() && filling_.front()->due < now()) {
    shared_memory_.settle_writes();
    for (Transaction* transaction : std::exchange(filling_, {})) {
      finish(*transaction, std::max(transaction->through, transaction->due + 1));
    }
  }
  for (Transaction* transaction : std::exchange(responded_, {})) {
    if (transaction->due > now()) {  // answered with a delay
      responded_.push_back(transaction);
      wake_at(transaction->due);
    } else {
      arrive(*transaction);
    }
  }
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
    hit(sub_partition, done, range.bytes);
    return;
  }
  Transaction* const transaction = pool_->allocate();
  transaction->info.operand = request.instruction->operand;
  transaction->info.readers = range.readers;
  transaction->info.instruction = request.instruction;
  transaction->info.cta = request.cta;
  transaction->info.tile = request.tile;
  transaction->info.warp = request.warp;
  transaction->info.waited_for = MemoryLevel::kLatency;
  transaction->sub_partition = sub_partition;
  transaction->range = range;
  transaction->owes_end = false;
  transaction->bulk = request.instruction->bulk;
  transaction->done = done;
  transaction->set_command(is_store ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  transaction->set_address(range.address);
  transaction->set_data_ptr(data_of_length(range.bytes));
  transaction->set_data_length(static_cast<unsigned>(range.bytes));
  transaction->set_streaming_width(static_cast<unsigned>(range.bytes));
  transaction->set_byte_enable_ptr(nullptr);
  transaction->set_dmi_allowed(false);
  transaction->set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  queue_.push_back(transaction);
  ++under_way_;
}

void AsyncCopyUnit::hit(std::size_t sub_partition, const CopyDone& done, std::int64_t bytes) {
  // Three cycles of the latency are those of request, look-up and answer.
  const std::int64_t due = shared_memory_.claim(base::Bytes(bytes)) + l1_latency_ - 3;
  hits_.push_back({sub_partition, done, due});
  wake_at(due);
}

void AsyncCopyUnit::answer_hits() {
  for (; !hits_.empty() && hits_.front().due <= now(); hits_.pop_front()) {
    done_out[hits_.front().sub_partition]->write(hits_.front().done);
  }
  if (!hits_.empty()) {
    wake_at(hits_.front().due);
  }
}

void AsyncCopyUnit::send() {
  while (open_ == nullptr && !queue_.empty()) {
    if (next_request_cycle_ > now()) {
      wake_at(next_request_cycle_);
      return;
    }
    Transaction* const transaction = queue_.front();
    queue_.pop_front();
    open_ = transaction;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    const tlm::tlm_sync_enum answer = memory->nb_transport_fw(*transaction, phase, delay);
    const bool responded = answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP);
    if (responded || (answer == tlm::TLM_UPDATED && phase == tlm::END_REQ)) {
      end_request(delay, now());
    }
    if (responded) {
      transaction->owes_end = answer == tlm::TLM_UPDATED;
      respond(*transaction, delay);
    }
  }
}

void AsyncCopyUnit::end_request(const sc_core::sc_time& delay, std::int64_t earliest) {
  open_ = nullptr;
  next_request_cycle_ = std::max(clock().cycle_from(clock().time() + delay), earliest);
}

tlm::tlm_sync_enum AsyncCopyUnit::on_response(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                              sc_core::sc_time& delay) {
  if (phase > tlm::END_RESP) {
    return tlm::TLM_ACCEPTED;  // of an extended protocol, to be ignored
  }
  auto& transaction = static_cast<Transaction&>(payload);
  const bool is_open = &transaction == open_;
  base::ensure(phase == tlm::BEGIN_RESP || (phase == tlm::END_REQ && is_open),
               "a memory answered with a phase outside the base protocol");
  if (is_open) {  // either phase ends the request
    end_request(delay, now() + 1);
    wake_at(next_request_cycle_);
  }
  if (phase == tlm::END_REQ) {
    return tlm::TLM_ACCEPTED;
  }
  respond(transaction, delay);
  phase = tlm::END_RESP;
  return tlm::TLM_UPDATED;
}

void AsyncCopyUnit::respond(Transaction& transaction, const sc_core::sc_time& delay) {
  transaction.due = clock().cycle_of(clock().time() + delay) + 1;
  responded_.push_back(&transaction);
  wake_at(now() + 1);
}

void AsyncCopyUnit::arrive(Transaction& transaction) {
  base::ensure(transaction.get_response_status() == tlm::TLM_OK_RESPONSE, "a memory refused a transaction");
  if (transaction.owes_end) {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    memory->nb_transport_fw(transaction, phase, delay);
  }
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
