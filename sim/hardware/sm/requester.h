// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "sim/base/clock.h"
#include "sim/hardware/sm/memory_range.h"

#include <tlm>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sptc::sm {

/// A transaction of a Requester.
struct RequestedTransaction : public tlm::tlm_generic_payload {
  explicit RequestedTransaction(tlm::tlm_mm_interface* pool) : tlm::tlm_generic_payload(pool) {}

  MemoryRange range;      ///< as asked for: an interconnect may rewrite the address of the payload
  std::int64_t due = 0;   ///< cycle in which the response has come
  bool owes_end = false;  ///< END_RESP is still to be sent
};

/// Transactions for use again, once their last reference is released.
template <typename Transaction>
class TransactionPool : public tlm::tlm_mm_interface {
 public:
  /// One that asks for `range`. Its data, `data`, are of that length and say nothing.
  Transaction& request(const MemoryRange& range, bool write, unsigned char* data) {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Transaction>(this));
      free_.push_back(all_.back().get());
    }
    Transaction& transaction = *free_.back();
    free_.pop_back();
    transaction.acquire();
    transaction.range = range;
    transaction.owes_end = false;
    transaction.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    transaction.set_address(range.address);
    transaction.set_data_ptr(data);
    transaction.set_data_length(static_cast<unsigned>(range.bytes));
    transaction.set_streaming_width(static_cast<unsigned>(range.bytes));
    transaction.set_byte_enable_ptr(nullptr);
    transaction.set_dmi_allowed(false);
    transaction.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
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

/// The side of a block that asks, by the base protocol of TLM-2.0, non-blocking, approximately timed. It sends
/// BEGIN_REQ and holds the next transaction back until that request has ended (the request exclusion rule). It ends
/// each response with END_RESP, on the return path of BEGIN_RESP, or by a call where BEGIN_RESP itself came on a return
/// path. Any target that keeps the base protocol can be bound.
class Requester {
 public:
  /// `target`, for messages, is behind `socket`. `wake_at` wakes the block in a cycle. A request that the target ends
  /// by a call lets the next one go `cycles_behind_end` cycles later at the earliest.
  Requester(std::string target, const base::Clock& clock, tlm::tlm_initiator_socket<>& socket,
            std::function<void(std::int64_t cycle)> wake_at, int cycles_behind_end)
      : target_(std::move(target)),
        clock_(clock),
        socket_(socket),
        wake_at_(std::move(wake_at)),
        cycles_behind_end_(cycles_behind_end) {}

  /// Whether a request may be sent in this cycle. Where only time is in the way, the block will be woken.
  bool can_send() {
    if (open_ == nullptr && next_request_cycle_ > clock_.now()) {
      wake_at_(next_request_cycle_);
      return false;
    }
    return open_ == nullptr;
  }

  void send(RequestedTransaction& transaction) {
    open_ = &transaction;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    const tlm::tlm_sync_enum answer = socket_->nb_transport_fw(transaction, phase, delay);
    const bool responded = answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP);
    if (responded || (answer == tlm::TLM_UPDATED && phase == tlm::END_REQ)) {
      end_request(delay, clock_.now());
    }
    if (responded) {
      transaction.owes_end = answer == tlm::TLM_UPDATED;
      respond(transaction, delay);
    }
  }

  /// What the target calls, nb_transport_bw of the socket.
  tlm::tlm_sync_enum on_response(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase > tlm::END_RESP) {
      return tlm::TLM_ACCEPTED;  // of an extended protocol, to be ignored
    }
    auto& transaction = static_cast<RequestedTransaction&>(payload);
    const bool is_open = &transaction == open_;
    require(phase == tlm::BEGIN_RESP || (phase == tlm::END_REQ && is_open),
            " answered with a phase outside the base protocol");
    if (is_open) {  // either phase ends the request
      end_request(delay, clock_.now() + cycles_behind_end_);
      wake_at_(std::max(next_request_cycle_, clock_.now() + 1));
    }
    if (phase == tlm::END_REQ) {
      return tlm::TLM_ACCEPTED;
    }
    respond(transaction, delay);
    phase = tlm::END_RESP;
    return tlm::TLM_UPDATED;
  }

  /// Calls `arrive` with each transaction whose response has come by this cycle.
  template <typename Arrive>
  void take_responses(Arrive arrive) {
    for (RequestedTransaction* transaction : std::exchange(responded_, {})) {
      if (transaction->due > clock_.now()) {  // answered with a delay
        responded_.push_back(transaction);
        wake_at_(transaction->due);
        continue;
      }
      require(transaction->get_response_status() == tlm::TLM_OK_RESPONSE, " refused a transaction");
      if (transaction->owes_end) {
        tlm::tlm_phase phase = tlm::END_RESP;
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        socket_->nb_transport_fw(*transaction, phase, delay);
      }
      arrive(*transaction);
    }
  }

 private:
  void require(bool holds, const char* what) const {
    if (!holds) {
      throw base::InternalError(target_ + what);
    }
  }
  void end_request(const sc_core::sc_time& delay, std::int64_t earliest) {
    open_ = nullptr;
    next_request_cycle_ = std::max(clock_.cycle_from(clock_.time() + delay), earliest);
  }
  void respond(RequestedTransaction& transaction, const sc_core::sc_time& delay) {
    transaction.due = clock_.cycle_of(clock_.time() + delay) + 1;
    responded_.push_back(&transaction);
    wake_at_(clock_.now() + 1);
  }

  std::string target_;
  const base::Clock& clock_;
  tlm::tlm_initiator_socket<>& socket_;
  std::function<void(std::int64_t cycle)> wake_at_;
  std::int64_t cycles_behind_end_;
  std::vector<RequestedTransaction*> responded_;  ///< their responses come in cycle `due`
  const RequestedTransaction* open_ = nullptr;    ///< its request has not ended yet
  std::int64_t next_request_cycle_ = 0;           ///< at the earliest
};

}  // namespace sptc::sm
