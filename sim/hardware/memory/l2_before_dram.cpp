// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/memory/l2_before_dram.h"

#include "models/base/error.h"
#include "sim/hardware/sm/memory_request.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sptc::memory {
namespace {

/// The L2 alone: a DRAM that holds up nothing.
MemorySpec without_dram(MemorySpec spec) {
  spec.dram_access_latency_cycles = 0;
  spec.dram_gb_per_s = 1e9;
  return spec;
}

/// Whether a block of D, of which the share `resident` is written where it was, never goes out.
bool is_resident(std::uint64_t block, double resident) {
  constexpr double kAll = 9007199254740992.0;  // 2^53
  return static_cast<double>((block * 0x9E3779B97F4A7C15U) >> 11) < resident * kAll;
}

std::uint64_t block_of(std::uint64_t address) {
  return address / static_cast<std::uint64_t>(base::CacheTags::kBlockBytes);
}

/// DRAM gets lengths, not values.
std::array<unsigned char, base::CacheTags::kBlockBytes> no_values{};

}  // namespace

struct L2BeforeDram::Fetch : public tlm::tlm_generic_payload {
  explicit Fetch(tlm::tlm_mm_interface* pool) : tlm::tlm_generic_payload(pool) {}

  sm::MemoryRange range;  ///< as asked for: an interconnect may rewrite the address
  bool owes_end = false;  ///< END_RESP is still to be sent
  std::int64_t due = 0;   ///< cycle in which the answer has come
  std::vector<tlm::tlm_generic_payload*> waiting;
};

class L2BeforeDram::Pool : public tlm::tlm_mm_interface {
 public:
  Fetch& allocate() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Fetch>(this));
      free_.push_back(all_.back().get());
    }
    Fetch* const fetch = free_.back();
    free_.pop_back();
    fetch->acquire();
    return *fetch;
  }
  void free(tlm::tlm_generic_payload* payload) override {
    payload->reset();  // of extensions that a memory has left for us to delete
    free_.push_back(static_cast<Fetch*>(payload));
  }

 private:
  std::vector<std::unique_ptr<Fetch>> all_;
  std::vector<Fetch*> free_;
};

L2BeforeDram::L2BeforeDram(const sc_core::sc_module_name& name, const base::Clock& clock, const MemorySpec& spec,
                           int sms)
    : MemoryPorts(name, clock, sms),
      spec_(spec),
      l2_(without_dram(spec), clock.mhz(), sms),
      pool_(std::make_unique<Pool>()) {
  dram.register_nb_transport_bw(this, &L2BeforeDram::on_response);
}

L2BeforeDram::~L2BeforeDram() = default;

void L2BeforeDram::reset(double clock_mhz, const L2Contents& contents) {
  l2_.reset(clock_mhz, contents);
  resident_d_ = contents.resident_d;
  const auto left = static_cast<std::int64_t>(std::min(contents.dirty_bytes, spec_.dirty_bytes())) - dirty_;
  for (std::int64_t at = 0; at < left; at += base::CacheTags::kBlockBytes) {
    queue_write({kLeftAddress + static_cast<std::uint64_t>(at), base::CacheTags::kBlockBytes});
  }
  if (left > 0) {
    wake_at(now() + 1);
  }
}

void L2BeforeDram::queue_write(const sm::MemoryRange& range) {
  queue(range, true);
  dirty_ += range.bytes;
}

std::int64_t L2BeforeDram::complete(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t now) {
  sm::RequestInfo* info = nullptr;
  payload.get_extension(info);
  const sm::MemoryRange range{payload.get_address(), payload.get_data_length(), info == nullptr ? 1 : info->readers};
  const std::int64_t cycle =
      l2_.access(port, range, payload.is_write(), now, info == nullptr ? isa::Operand::kA : info->operand,
                 info == nullptr ? nullptr : &info->waited_for);
  if (payload.is_read()) {
    for (const sm::MemoryRange& missing : l2_.dram_ranges()) {
      fetching_.emplace(block_of(missing.address), &queue(missing, false));
    }
    return wait_for_fetches(port, payload, cycle) ? kLater : cycle;
  }
  for (const sm::MemoryRange& written : l2_.dram_ranges()) {
    if (!is_resident(block_of(written.address), resident_d_)) {
      queue_write(written);
    }
  }
  if (static_cast<double>(dirty_) <= spec_.dirty_bytes()) {
    return cycle;
  }
  waiting_[&payload] = {port, cycle, l2_.latency(), now, 1};
  held_writes_.push_back(&payload);
  return kLater;
}

L2BeforeDram::Fetch& L2BeforeDram::queue(const sm::MemoryRange& range, bool write) {
  Fetch& fetch = pool_->allocate();
  fetch.range = range;
  fetch.owes_end = false;
  fetch.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  fetch.set_address(range.address);
  fetch.set_data_ptr(no_values.data());
  fetch.set_data_length(static_cast<unsigned>(range.bytes));
  fetch.set_streaming_width(static_cast<unsigned>(range.bytes));
  fetch.set_byte_enable_ptr(nullptr);
  fetch.set_dmi_allowed(false);
  fetch.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  (write ? writes_ : reads_).push_back(&fetch);
  return fetch;
}

bool L2BeforeDram::wait_for_fetches(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t cycle) {
  if (fetching_.empty()) {
    return false;
  }
  Waiting waiting{port, cycle, l2_.latency(), now(), 0};
  const auto visit = [&](std::uint64_t block, std::int64_t first, std::int64_t last) {
    const auto [begin, end] = fetching_.equal_range(block);
    for (auto found = begin; found != end; ++found) {
      Fetch& fetch = *found->second;
      const auto at = static_cast<std::int64_t>(fetch.range.address % base::CacheTags::kBlockBytes);
      if (at < last && first < at + fetch.range.bytes) {
        fetch.waiting.push_back(&payload);
        ++waiting.fetches;
      }
    }
  };
  base::CacheTags::for_each_block(payload.get_address(), payload.get_data_length(), visit);
  if (waiting.fetches > 0) {
    waiting_.emplace(&payload, waiting);
  }
  return waiting.fetches > 0;
}

void L2BeforeDram::on_event() {
  MemoryPorts::on_event();
  for (Fetch* fetch : std::exchange(arrived_, {})) {
    if (fetch->due > now()) {
      arrived_.push_back(fetch);
      wake_at(fetch->due);
    } else {
      finish(*fetch);
    }
  }
  send();
}

L2BeforeDram::Fetch* L2BeforeDram::next_to_send() {
  const auto take = [](std::deque<Fetch*>& from) {
    Fetch* const fetch = from.front();
    from.pop_front();
    return fetch;
  };
  // Lets as many writes be under way as DRAM takes in twice the time of an access: the next reads
  // wait behind them.
  const double most = 2 * spec_.dram_access_latency_cycles * spec_.dram_bytes_per_cycle(clock().mhz());
  const bool room = static_cast<double>(written_under_way_) < most;
  const bool full = static_cast<double>(dirty_) > spec_.dirty_bytes();
  const bool idle = reads_.empty() && reads_under_way_ == 0;
  if (!writes_.empty() && room && (full || idle)) {
    return take(writes_);
  }
  return reads_.empty() ? nullptr : take(reads_);
}

void L2BeforeDram::send() {
  while (open_ == nullptr) {
    if (next_request_ > clock().time()) {
      wake_at(clock().cycle_from(next_request_));
      return;
    }
    Fetch* const fetch = next_to_send();
    if (fetch == nullptr) {
      return;
    }
    open_ = fetch;
    if (fetch->is_read()) {
      ++reads_under_way_;
    } else {
      written_under_way_ += fetch->range.bytes;
    }
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    const tlm::tlm_sync_enum answer = dram->nb_transport_fw(*fetch, phase, delay);
    const bool responded = answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP);
    if (responded || (answer == tlm::TLM_UPDATED && phase == tlm::END_REQ)) {
      end_request(delay);
    }
    if (responded) {
      fetch->owes_end = answer == tlm::TLM_UPDATED;
      arrive(*fetch, delay);
    }
  }
}

void L2BeforeDram::end_request(const sc_core::sc_time& delay) {
  open_ = nullptr;
  next_request_ = clock().time() + delay;
}

tlm::tlm_sync_enum L2BeforeDram::on_response(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                             sc_core::sc_time& delay) {
  if (phase > tlm::END_RESP) {
    return tlm::TLM_ACCEPTED;  // of an extended protocol, to be ignored
  }
  auto& fetch = static_cast<Fetch&>(payload);
  base::ensure(phase == tlm::BEGIN_RESP || (phase == tlm::END_REQ && &fetch == open_),
               "a DRAM answered with a phase outside the base protocol");
  if (&fetch == open_) {  // either phase ends the request
    end_request(delay);
    wake_at(now() + 1);
  }
  if (phase == tlm::END_REQ) {
    return tlm::TLM_ACCEPTED;
  }
  arrive(fetch, delay);
  phase = tlm::END_RESP;
  return tlm::TLM_UPDATED;
}

void L2BeforeDram::arrive(Fetch& fetch, const sc_core::sc_time& delay) {
  fetch.due = clock().cycle_of(clock().time() + delay) + 1;
  arrived_.push_back(&fetch);
  wake_at(now() + 1);
}

void L2BeforeDram::finish(Fetch& fetch) {
  base::ensure(fetch.get_response_status() == tlm::TLM_OK_RESPONSE, "a DRAM refused a transaction");
  if (fetch.owes_end) {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    dram->nb_transport_fw(fetch, phase, delay);
  }
  const auto answer_one = [this](tlm::tlm_generic_payload* payload) {
    const auto found = waiting_.find(payload);
    Waiting& waiting = found->second;
    if (--waiting.fetches > 0) {
      return;
    }
    const std::int64_t arrived = now() + (payload->is_read() ? waiting.latency : 0);
    sm::RequestInfo* info = nullptr;
    payload->get_extension(info);
    if (info != nullptr && arrived > waiting.cycle) {
      info->waited_for =
          now() - waiting.since > spec_.dram_access_latency_cycles ? sm::MemoryLevel::kDram : sm::MemoryLevel::kLatency;
    }
    answer(waiting.port, *payload, std::max(waiting.cycle, arrived));
    waiting_.erase(found);
  };
  if (fetch.is_read()) {
    --reads_under_way_;
    const auto [begin, end] = fetching_.equal_range(block_of(fetch.range.address));
    fetching_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == &fetch; }));
    for (tlm::tlm_generic_payload* payload : std::exchange(fetch.waiting, {})) {
      answer_one(payload);
    }
  } else {
    written_under_way_ -= fetch.range.bytes;
    dirty_ -= fetch.range.bytes;
    while (!held_writes_.empty() && static_cast<double>(dirty_) <= spec_.dirty_bytes()) {
      answer_one(held_writes_.front());
      held_writes_.pop_front();
    }
  }
  fetch.release();
}

}  // namespace sptc::memory
