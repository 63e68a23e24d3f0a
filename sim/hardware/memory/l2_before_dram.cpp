// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/memory/l2_before_dram.h"

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

std::uint64_t block_of(std::uint64_t address) {
  return address / static_cast<std::uint64_t>(base::CacheTags::kBlockBytes);
}

/// DRAM gets lengths, not values.
std::array<unsigned char, base::CacheTags::kBlockBytes> no_values{};

}  // namespace

struct L2BeforeDram::Fetch : public sm::RequestedTransaction {
  using RequestedTransaction::RequestedTransaction;

  std::vector<tlm::tlm_generic_payload*> waiting;
};

L2BeforeDram::L2BeforeDram(const sc_core::sc_module_name& name, const base::Clock& clock, const MemorySpec& spec,
                           int sms)
    : MemorySystem(name, clock, without_dram(spec), sms),
      spec_(spec),
      pool_(std::make_unique<sm::TransactionPool<Fetch>>()),
      requester_(
          "a DRAM", clock, dram, [this](std::int64_t cycle) { wake_at(cycle); }, 0) {
  dram.register_nb_transport_bw(&requester_, &sm::Requester::on_response);
}

L2BeforeDram::~L2BeforeDram() = default;

void L2BeforeDram::reset(double clock_mhz, const L2Contents& contents) {
  MemorySystem::reset(clock_mhz, contents);
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
  const std::int64_t cycle = MemorySystem::complete(port, payload, now);
  if (payload.is_read()) {
    for (const sm::MemoryRange& missing : l2().dram_ranges()) {
      fetching_.emplace(block_of(missing.address), &queue(missing, false));
    }
    return wait_for_fetches(port, payload, cycle) ? kLater : cycle;
  }
  for (const sm::MemoryRange& written : l2().dram_ranges()) {
    if (!is_in_share(block_of(written.address), resident_d_)) {
      queue_write(written);
    }
  }
  if (static_cast<double>(dirty_) <= spec_.dirty_bytes()) {
    return cycle;
  }
  waiting_[&payload] = {port, cycle, l2().latency(), now, 1};
  held_writes_.push_back(&payload);
  return kLater;
}

L2BeforeDram::Fetch& L2BeforeDram::queue(const sm::MemoryRange& range, bool write) {
  Fetch& fetch = pool_->request(range, write, no_values.data());
  (write ? writes_ : reads_).push_back(&fetch);
  return fetch;
}

bool L2BeforeDram::wait_for_fetches(std::size_t port, tlm::tlm_generic_payload& payload, std::int64_t cycle) {
  if (fetching_.empty()) {
    return false;
  }
  Waiting waiting{port, cycle, l2().latency(), now(), 0};
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
  MemorySystem::on_event();
  requester_.take_responses([this](sm::RequestedTransaction& one) { finish(static_cast<Fetch&>(one)); });
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
  while (requester_.can_send()) {
    Fetch* const fetch = next_to_send();
    if (fetch == nullptr) {
      return;
    }
    if (fetch->is_read()) {
      ++reads_under_way_;
    } else {
      written_under_way_ += fetch->range.bytes;
    }
    requester_.send(*fetch);
  }
}

void L2BeforeDram::finish(Fetch& fetch) {
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
