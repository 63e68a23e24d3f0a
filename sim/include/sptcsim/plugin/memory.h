// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemc>
#include <tlm>

#include <cstdint>

/// A DRAM of your own behind the L2 of the simulated GPU: a shared object that defines one with
/// SPTCSIM_MEMORY_PLUGIN, for `sptcsim run --memory FILE.so`. Build it with the compiler, the C++
/// library and the SystemC of the program. It links libsystemc.so and nothing of sptcsim.
namespace sptcsim {

/// Number of this header. A program loads plugins of its own number only.
inline constexpr std::uint32_t kMemoryPluginAbi = 1;

/// What the program says to a plugin. Texts live as long as the call.
struct MemorySettings {
  const char* name;         ///< of the module
  const char* config;       ///< the text of --memory-config; "" without one
  double gb_per_s;          ///< of the pins of the DRAM whose place it takes, 1e9 bytes per second
  double sm_clock_mhz;      ///< time in the simulation is that of this clock
  std::uint32_t max_bytes;  ///< of one transaction
};

/// A DRAM: a target of the base protocol of TLM-2.0. Transactions read or write 32 to
/// MemorySettings::max_bytes bytes, a multiple of 32 that lies within an aligned block of
/// max_bytes. They carry an array, whose values mean nothing. Any number of them is under way, and
/// they may end in any order. The next request comes after the end of the one before, so a DRAM
/// with a queue returns END_REQ at once. Addresses begin at 0 and may be larger than your DRAM:
/// take the remainder. A sector that is on its way is not asked for again. Writes come while no
/// read is under way, and before reads once a quarter of the L2 is dirty. The latency between L2
/// and DRAM is part of your DRAM. A launch at another clock gets a DRAM of its own.
class Dram : public sc_core::sc_module {
 public:
  explicit Dram(const sc_core::sc_module_name& name) : sc_core::sc_module(name) {}
  ~Dram() override = default;
  virtual tlm::tlm_base_target_socket<>& socket() = 0;
};

/// What a shared object has under the name `sptcsim_memory_plugin`. Later numbers keep the place of
/// the first two members.
struct MemoryPlugin {
  std::uint32_t abi;
  const char* systemc;      ///< version of the headers that it was compiled with
  const void* library;      ///< in the SystemC library that it runs with: the program has the same
  const char* description;  ///< for reports: a name and a version
  /// May throw std::exception with one sentence, which the user gets to read.
  Dram* (*make)(const MemorySettings& settings);
  void (*destroy)(Dram* dram);
};

}  // namespace sptcsim

/// Defines the plugin whose DRAM is `Class`, with a constructor from the name of the module and a
/// MemorySettings.
#define SPTCSIM_MEMORY_PLUGIN(Class, text)                                                                            \
  extern "C" __attribute__((visibility("default"))) const sptcsim::MemoryPlugin sptcsim_memory_plugin {               \
    sptcsim::kMemoryPluginAbi, SC_VERSION, &sc_core::sc_curr_simcontext, text,                                        \
        [](const sptcsim::MemorySettings& settings) -> sptcsim::Dram* { return new Class(settings.name, settings); }, \
        [](sptcsim::Dram* dram) { delete dram; }                                                                      \
  }
