// SPDX-License-Identifier: Apache-2.0
// Ramulator 2 (https://github.com/CMU-SAFARI/ramulator2, version 2.1) for --memory, written against its public headers.
// --memory-config is FILE or FILE,N: what `python3 -m ramulator export` writes, and how many of such memories share the
// addresses. Any frontend in it is replaced. A stack of eight channels of HBM2, as hbm2.py:
//
//   import ramulator as r
//   channels = [r.controller.HBM12(
//       dram=r.dram.HBM2(org_preset="HBM2_8Gb", timing_preset="HBM2_2400Mbps"), row_policy=r.row_policy.Open(),
//       refresh_manager=r.refresh_manager.AllBank(), addr_mapper=r.addr_mapper.MOP4CLXOR(), read_buffer_size=128,
//       scheduler=r.scheduler.FRFCFSRowHit(), write_buffer_size=64) for _ in range(8)]
//   r.Simulation(r.frontend.External(clock_ratio=1), r.memory_system.GenericDRAM(
//       clock_ratio=1, controllers=channels, channel_mapper=r.channel_mapper.CacheLineInterleave(interleave_bits=4)))
//
// In the directory of an installation:
//
//   git clone https://github.com/CMU-SAFARI/ramulator2 $HOME/ramulator2
//   PYTHONPATH=$HOME/ramulator2/python python3 -m ramulator export hbm2.py -o hbm2.yaml
//   cmake -S share/sptcsim/memory_plugins -B build -DCMAKE_PREFIX_PATH=$PWD -DRAMULATOR2_SOURCE_DIR=$HOME/ramulator2
//   cmake --build build
//   bin/sptcsim gemm 4096 64 4096 --arch a100-sxm4-40gb --memory build/ramulator2_dram.so --memory-config hbm2.yaml,5
//
// Ramulator fetches yaml-cpp and fmt. No test builds it, for tests need no network. On 29 November 2026 commit c5b1c3a
// ran with Debian's SystemC 2.3.4, fmt 9.1 and yaml-cpp 0.7, whose target its CMake was made to name. That GEMM took
// 33.4 us, with 1161 of 1536 GB/s in DRAM and half a minute of a core; with the built-in DRAM it takes 28.6 us. With
// interleave_bits=2 and 64 reads per buffer it took 61 us: three of five accesses met another open row.
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <ramulator/base/config.h>
#include <ramulator/base/factory.h>
#include <ramulator/base/request.h>
#include <ramulator/frontend/i_frontend.h>
#include <ramulator/memory_system/i_memory_system.h>
#include <sptcsim/plugin/memory.h>
#include <sptcsim/plugin/several_memories.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

/// Splits each transaction into accesses of Ramulator, which wait here while the buffer of their channel is full. The
/// clock stands while no transaction is under way: the next one makes up the cycles, refreshes among them.
class Ramulator2Dram : public sptcsim::Dram {
 public:
  SC_HAS_PROCESS(Ramulator2Dram);
  Ramulator2Dram(const sc_core::sc_module_name& name, const sptcsim::MemorySettings& settings)
      : sptcsim::Dram(name), block_bytes_(settings.max_bytes) {
    const auto [file, count] = sptcsim::several_memories(settings.config, "what Ramulator 2 exports");
    try {
      Ramulator::ConfigNode one = Ramulator::Config::parse_config_file(file);
      one.set("frontend", Ramulator::ConfigNode::Map{{"impl", "External"}, {"clock_ratio", 1}});
      for (int i = 0; i < count; ++i) {
        memories_.emplace_back(one);
      }
      access_bytes_ = static_cast<std::uint64_t>(memories_.front().system->get_tx_bytes());
      period_ = sc_core::sc_time(memories_.front().system->get_tCK(), sc_core::SC_NS);
      if (access_bytes_ == 0 || period_ == sc_core::SC_ZERO_TIME) {
        throw std::runtime_error("its accesses or its clock are of length 0");
      }
    } catch (const std::exception& error) {
      throw std::invalid_argument("Ramulator 2 does not take '" + file + "': " + error.what());
    }
    next_ = sc_core::sc_time_stamp() + period_;
    socket_.register_nb_transport_fw(this, &Ramulator2Dram::request);
    SC_METHOD(on_clock);
    sensitive << clock_;
    dont_initialize();
  }
  ~Ramulator2Dram() override {
    for (Memory& memory : memories_) {
      memory.system->finalize();  // writes what plugins of Ramulator record
    }
  }

  tlm::tlm_base_target_socket<>& socket() override { return socket_; }

 private:
  struct Memory {
    explicit Memory(const Ramulator::ConfigNode& config)
        : frontend(Ramulator::Factory::create_frontend(config)),
          system(Ramulator::Factory::create_memory_system(config)) {
      frontend->connect_memory_system(system.get());
      system->connect_frontend(frontend.get());
    }
    std::unique_ptr<Ramulator::IFrontEnd> frontend;
    std::unique_ptr<Ramulator::IMemorySystem> system;
    std::map<std::pair<int, int>, std::deque<Ramulator::Request>> waiting;  ///< by channel and type
  };

  tlm::tlm_sync_enum request(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    while (parts_.empty() && done_.empty() && next_ <= sc_core::sc_time_stamp()) {
      tick();
    }
    payload.acquire();
    // Blocks take the memories in turn.
    const std::uint64_t block = payload.get_address() / block_bytes_;
    Memory& memory = memories_[block % memories_.size()];
    const std::uint64_t begin = block / memories_.size() * block_bytes_ + payload.get_address() % block_bytes_;
    const std::uint64_t first = begin / access_bytes_, last = (begin + payload.get_data_length() - 1) / access_bytes_;
    const int type = payload.is_write() ? Ramulator::Request::Type::Write : Ramulator::Request::Type::Read;
    parts_[&payload] = last - first + 1;
    for (std::uint64_t i = first; i <= last; ++i) {
      Ramulator::Request part(static_cast<Ramulator::Addr_t>(i * access_bytes_), type, 0,
                              [this, whole = &payload](Ramulator::Request&) { end_part(whole); });
      part.addr_vec = {0};
      part.size_bytes = static_cast<int>(access_bytes_);
      if (!memory.system->send(part)) {  // which has set its channel
        memory.waiting[{part.addr_vec[0], type}].push_back(std::move(part));
      }
    }
    clock_.notify(next_ - sc_core::sc_time_stamp());
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }

  // Ramulator ends a read with its data, a write with its command.
  void end_part(tlm::tlm_generic_payload* whole) {
    if (--parts_[whole] == 0) {
      parts_.erase(whole);
      done_.push_back(whole);
    }
  }

  void tick() {
    next_ += period_;
    for (Memory& memory : memories_) {
      memory.system->tick();
      for (auto& [buffer, waiting] : memory.waiting) {
        while (!waiting.empty() && memory.system->send(waiting.front())) {
          waiting.pop_front();
        }
      }
    }
  }

  void on_clock() {
    tick();
    for (tlm::tlm_generic_payload* payload : std::exchange(done_, {})) {
      payload->set_response_status(tlm::TLM_OK_RESPONSE);
      tlm::tlm_phase phase = tlm::BEGIN_RESP;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      socket_->nb_transport_bw(*payload, phase, delay);
      payload->release();
    }
    if (!parts_.empty()) {
      clock_.notify(next_ - sc_core::sc_time_stamp());
    }
  }

  const std::uint64_t block_bytes_;
  std::uint64_t access_bytes_ = 0;
  sc_core::sc_time period_, next_;  ///< of the memories' clock
  sc_core::sc_event clock_;
  tlm_utils::simple_target_socket<Ramulator2Dram> socket_{"socket"};
  std::vector<Memory> memories_;
  std::map<tlm::tlm_generic_payload*, std::uint64_t> parts_;  ///< under way
  std::vector<tlm::tlm_generic_payload*> done_;               ///< of this cycle, to be answered
};

}  // namespace

SPTCSIM_MEMORY_PLUGIN(Ramulator2Dram, "Ramulator 2.1");
