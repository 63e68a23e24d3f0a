// SPDX-License-Identifier: Apache-2.0
// DRAMSys (https://github.com/tukl-msd/DRAMSys, version 5.2) for --memory, written against its
// public headers. --memory-config is FILE or FILE,N: a configuration of DRAMSys, such as its
// configs/hbm2-example.json, and how many of such memories share the addresses. The configuration
// needs StoreMode NoStorage, because no values travel. In the directory of an installation:
//
//   git clone --branch v5.2.0 https://github.com/tukl-msd/DRAMSys $HOME/DRAMSys
//   cmake -S share/sptcsim/memory_plugins -B build -DCMAKE_PREFIX_PATH=$PWD
//     -DDRAMSYS_SOURCE_DIR=$HOME/DRAMSys -DDRAMSYS_USE_FETCH_CONTENT=ON
//   cmake --build build
//   bin/sptcsim gemm 4096 64 4096 --memory build/dramsys_dram.so
//     --memory-config $HOME/DRAMSys/configs/hbm2-example.json,40
//
// DRAMSYS_USE_FETCH_CONTENT fetches nlohmann_json, DRAMUtils and DRAMPower. Versions from 5.3 on have other names for
// the library and its header. No test builds it, for tests need no network. On 29 November 2026 it ran with
// DRAMSys 5.2.0 and Debian's SystemC 2.3.4, an older DRAMUtils with the fields of 1.11 added, and the part of
// DRAMPower 5.4.1 that links. 40 channels of that example take 115 us for 34 MB: its addresses keep a stream of reads
// in one bank.
#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <DRAMSys/config/DRAMSysConfiguration.h>
#include <DRAMSys/simulation/DRAMSys.h>
#include <algorithm>
#include <cstdint>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <sptcsim/plugin/memory.h>
#include <sptcsim/plugin/several_memories.h>
#include <string>
#include <vector>

namespace {

/// Splits each transaction into bursts, and has a socket for every channel: DRAMSys takes one
/// request per socket and clock.
class DramsysDram : public sptcsim::Dram, public tlm::tlm_mm_interface {
 public:
  DramsysDram(const sc_core::sc_module_name& name, const sptcsim::MemorySettings& settings)
      : sptcsim::Dram(name), block_bytes_(settings.max_bytes), phases_("phases", this, &DramsysDram::on_phase) {
    const auto [file, count] = sptcsim::several_memories(settings.config, "a configuration of DRAMSys");
    for (int i = 0; i < count; ++i) {
      add_memory(DRAMSys::Config::from_path(file), i);
    }
    socket_.register_nb_transport_fw(this, &DramsysDram::request);
  }

  tlm::tlm_base_target_socket<>& socket() override { return socket_; }

 private:
  struct Burst : tlm::tlm_generic_payload {
    explicit Burst(tlm::tlm_mm_interface* pool) : tlm::tlm_generic_payload(pool) {}
    tlm::tlm_generic_payload* whole = nullptr;  ///< of which it is a part
    std::size_t channel = 0;                    ///< of all
  };
  struct Channel {
    explicit Channel(const std::string& name) : socket(name.c_str()) {}
    tlm_utils::simple_initiator_socket<DramsysDram> socket;
    std::deque<Burst*> waiting;
    bool busy = false;  ///< a request has not ended
  };

  void add_memory(DRAMSys::Config::Configuration config, int index) {
    const std::string name = "dramsys" + std::to_string(index);
    config.simconfig.DatabaseRecording = false;  // whose thread ends with sc_stop(), which does not come
    std::streambuf* const out = std::cout.rdbuf(std::cerr.rdbuf());  // where results go, DRAMSys prints its settings
    memories_.push_back(std::make_unique<DRAMSys::DRAMSys>(name.c_str(), config));
    std::cout.rdbuf(out);
    channels_of_one_ = memories_.back()->getMemSpec().numberOfChannels;
    for (std::size_t i = 0; i < channels_of_one_; ++i) {
      channels_.push_back(std::make_unique<Channel>(name + "_" + std::to_string(i)));
      channels_.back()->socket.register_nb_transport_bw(this, &DramsysDram::on_answer);
      channels_.back()->socket.bind(memories_.back()->tSocket);
    }
  }

  tlm::tlm_sync_enum request(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    payload.acquire();
    // Blocks take the memories in turn.
    const std::uint64_t block = payload.get_address() / block_bytes_;
    const std::size_t index = block % memories_.size();
    const DRAMSys::DRAMSys& memory = *memories_[index];
    const std::uint64_t begin = (block / memories_.size() * block_bytes_ + payload.get_address() % block_bytes_) %
                                memory.getMemSpec().getSimMemSizeInBytes();
    const std::uint64_t burst_bytes = memory.getMemSpec().defaultBytesPerBurst;
    const std::uint64_t end = begin + payload.get_data_length();
    for (std::uint64_t at = begin / burst_bytes * burst_bytes; at < end; at += burst_bytes) {
      Burst& burst = allocate();
      data_.resize(std::max<std::size_t>(data_.size(), burst_bytes));
      burst.whole = &payload;
      burst.channel = index * channels_of_one_ + memory.getAddressDecoder().decodeChannel(at);
      burst.set_command(payload.get_command());
      burst.set_address(at);
      burst.set_data_ptr(data_.data());
      burst.set_data_length(static_cast<unsigned>(burst_bytes));
      burst.set_streaming_width(static_cast<unsigned>(burst_bytes));
      burst.set_byte_enable_ptr(nullptr);
      burst.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
      ++parts_[&payload];
      channels_[burst.channel]->waiting.push_back(&burst);
      send(*channels_[burst.channel]);
    }
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }

  static void send(Channel& channel) {
    if (channel.busy || channel.waiting.empty()) {
      return;
    }
    Burst& burst = *channel.waiting.front();
    channel.waiting.pop_front();
    channel.busy = true;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    channel.socket->nb_transport_fw(burst, phase, delay);
  }

  tlm::tlm_sync_enum on_answer(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    phases_.notify(payload, phase, delay);
    return tlm::TLM_ACCEPTED;
  }

  void on_phase(tlm::tlm_generic_payload& payload, const tlm::tlm_phase& phase) {
    auto& burst = static_cast<Burst&>(payload);
    Channel& channel = *channels_[burst.channel];
    if (phase == tlm::END_REQ) {
      channel.busy = false;
      send(channel);
      return;
    }
    tlm::tlm_phase end = tlm::END_RESP;
    sc_core::sc_time delay = memories_.front()->getMemSpec().tCK;
    channel.socket->nb_transport_fw(burst, end, delay);
    tlm::tlm_generic_payload& whole = *burst.whole;
    burst.release();
    if (--parts_[&whole] > 0) {
      return;
    }
    parts_.erase(&whole);
    whole.set_response_status(tlm::TLM_OK_RESPONSE);
    tlm::tlm_phase begin = tlm::BEGIN_RESP;
    delay = sc_core::SC_ZERO_TIME;
    socket_->nb_transport_bw(whole, begin, delay);
    whole.release();
  }

  Burst& allocate() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Burst>(this));
      free_.push_back(all_.back().get());
    }
    Burst& burst = *free_.back();
    free_.pop_back();
    burst.acquire();
    return burst;
  }
  void free(tlm::tlm_generic_payload* payload) override {
    payload->reset();
    free_.push_back(static_cast<Burst*>(payload));
  }

  const std::uint64_t block_bytes_;
  std::size_t channels_of_one_ = 0;
  tlm_utils::simple_target_socket<DramsysDram> socket_{"socket"};
  std::vector<std::unique_ptr<Burst>> all_;
  std::vector<Burst*> free_;
  std::vector<unsigned char> data_;                 ///< values mean nothing: StoreMode is NoStorage
  std::map<tlm::tlm_generic_payload*, int> parts_;  ///< bursts that are under way
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::unique_ptr<DRAMSys::DRAMSys>> memories_;
  tlm_utils::peq_with_cb_and_phase<DramsysDram> phases_;
};

}  // namespace

SPTCSIM_MEMORY_PLUGIN(DramsysDram, "DRAMSys 5.2");
