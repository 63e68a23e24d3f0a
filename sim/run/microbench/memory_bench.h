// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "sim/base/clock.h"
#include "sim/hardware/memory/memory_system.h"

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace sptc::run::microbench {

/// A requester at a socket of a memory that accepts every request at once (MemoryPorts): issues
/// transactions by the base protocol of TLM-2.0 and notes when each is answered.
class MemoryReader : public sc_core::sc_module, public tlm::tlm_mm_interface {
 public:
  struct Access {
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    bool write = false;
    std::int64_t cycle = -1;  ///< of the answer
  };

  tlm_utils::simple_initiator_socket<MemoryReader> socket{"socket"};
  std::vector<Access> done;
  /// Called at each answer.
  std::function<void()> on_answer = [] {};

  MemoryReader(const sc_core::sc_module_name& name, const base::Clock& clock)
      : sc_core::sc_module(name), clock_(clock) {
    socket.register_nb_transport_bw(this, &MemoryReader::answered);
  }

  /// Sends a request now.
  void request(std::uint64_t address, std::int64_t bytes, bool write = false) {
    base::ensure(bytes <= static_cast<std::int64_t>(sizeof scratch_), "a read is too long");
    auto* const payload = new tlm::tlm_generic_payload(this);
    payload->acquire();
    payload->set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    payload->set_address(address);
    payload->set_data_ptr(scratch_);
    payload->set_data_length(static_cast<unsigned>(bytes));
    payload->set_streaming_width(static_cast<unsigned>(bytes));
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    const tlm::tlm_sync_enum answer = socket->nb_transport_fw(*payload, phase, delay);
    base::ensure(answer == tlm::TLM_UPDATED && phase == tlm::END_REQ,
                 "a memory keeps a reader waiting with its next request");
  }

  void free(tlm::tlm_generic_payload* payload) override { delete payload; }

 private:
  tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& /*delay*/) {
    if (phase == tlm::BEGIN_RESP) {
      done.push_back({payload.get_address(), payload.get_data_length(), payload.is_write(), clock_.now()});
      payload.release();
      on_answer();
      return tlm::TLM_COMPLETED;
    }
    return tlm::TLM_ACCEPTED;
  }

  const base::Clock& clock_;
  unsigned char scratch_[1 << 16] = {};
};

enum class BandwidthOperation { kRead, kWrite, kCopy };

/// L2 and DRAM by themselves, one requester in the place of every SM. Part of a design that is
/// elaborated by its owner.
class MemoryBench {
 public:
  MemoryBench(const base::Clock& clock, const memory::MemorySpec& spec, int sms);

  /// Mean cycles of a load of 8 bytes whose address is the word before, over a ring of one word per
  /// `stride` bytes in `footprint` bytes, visited in scattered order, the second time round. Larger
  /// rings than four times the L2 take as long as that one: there is no TLB. Throws InputError
  /// unless 8 <= stride <= footprint.
  double chase_cycles(std::int64_t footprint, std::int64_t stride);

  /// Cycles of a load of a line that this SM and others have read before.
  double line_cycles();

  /// 1e9 bytes per second and SM clock while all SMs together walk over `footprint` bytes again and
  /// again; a copy reads its first half and writes the second. Larger footprints than four times
  /// the L2 count as that. Throws InputError for less than 4 KiB.
  double bandwidth_gb_per_s(BandwidthOperation operation, std::int64_t footprint);

 private:
  void forget_answers();
  std::int64_t at_most_four_caches(std::int64_t footprint) const;

  const base::Clock& clock_;
  std::int64_t l2_bytes_;
  memory::MemorySystem memory_;
  std::vector<std::unique_ptr<MemoryReader>> readers_;  ///< one per SM
};

}  // namespace sptc::run::microbench
