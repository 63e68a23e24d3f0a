// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/include/sptcsim/plugin/memory.h"

#include <memory>
#include <string>

namespace sptc::run {

/// A shared object with a DRAM (sim/include/sptcsim/plugin/memory.h). It stays loaded until the
/// process ends.
class LoadedMemory {
 public:
  /// Throws InputError where `file` is not a plugin for this program.
  explicit LoadedMemory(const std::string& file);

  /// Its own name for itself.
  std::string description() const;

  using Dram = std::unique_ptr<sptcsim::Dram, void (*)(sptcsim::Dram*)>;
  /// In the SystemC context that is current; `gb_per_s` and `sm_clock_mhz`: as in MemorySettings.
  /// Throws InputError with what the plugin says against `config`.
  Dram make(const std::string& config, double gb_per_s, double sm_clock_mhz) const;

 private:
  std::string file_;
  const sptcsim::MemoryPlugin* plugin_ = nullptr;
};

}  // namespace sptc::run
