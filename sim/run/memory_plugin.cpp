// SPDX-License-Identifier: Apache-2.0
#include "sim/run/memory_plugin.h"

#include "models/base/error.h"
#include "sim/base/cache_tags.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <string_view>

namespace sptc::run {
namespace {

constexpr const char* kSymbol = "sptcsim_memory_plugin";

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw base::InputError(fmt::format("--memory {}: {}", io::printable(file), why));
}

}  // namespace

LoadedMemory::LoadedMemory(const std::string& file) : file_(file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    refuse(file, "there is no such file");
  }
  // By its whole path: a bare name is looked for among the system's libraries.
  const std::string path = std::filesystem::absolute(file, error).string();
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    refuse(file, "it cannot be loaded: " + io::printable(::dlerror()));
  }
  const void* const found = ::dlsym(library, kSymbol);
  if (found == nullptr) {
    refuse(file, fmt::format("it is no memory plugin: it does not define {}", kSymbol));
  }
  plugin_ = static_cast<const sptcsim::MemoryPlugin*>(found);
  if (plugin_->abi != sptcsim::kMemoryPluginAbi) {
    refuse(file, fmt::format("it was built for version {} of the plugin interface, and this "
                             "program has version {}",
                             plugin_->abi, sptcsim::kMemoryPluginAbi));
  }
  if (std::string_view(plugin_->systemc) != SC_VERSION) {
    refuse(file, fmt::format("it was built with SystemC {}, and this program with {}",
                             io::printable(plugin_->systemc), SC_VERSION));
  }
  if (plugin_->library != &sc_core::sc_curr_simcontext) {
    refuse(file, "it runs with another SystemC library than this program");
  }
}

std::string LoadedMemory::description() const {
  return io::printable(plugin_->description);
}

LoadedMemory::Dram LoadedMemory::make(const std::string& config, double gb_per_s,
                                      double sm_clock_mhz) const {
  const sptcsim::MemorySettings settings{"outside_dram", config.c_str(), gb_per_s, sm_clock_mhz,
                                         base::CacheTags::kBlockBytes};
  try {
    return {plugin_->make(settings), plugin_->destroy};
  } catch (const sc_core::sc_report& report) {
    refuse(file_, io::printable(report.get_msg()));
  } catch (const std::exception& error) {
    refuse(file_, io::printable(error.what()));
  }
}

}  // namespace sptc::run
