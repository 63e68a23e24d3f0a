// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the kernels that execute one instruction per case have in common on the host: a launcher for
// each PTX name and selector, operands up, poison before, D down.

#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/capture/device.h"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace sptc::hardware {

/// Registers (wgmma: tiles of A and B) of all cases in the memory of the GPU, as in MmaLaunch.
struct BitArrays {
  const std::uint32_t* a;
  const std::uint32_t* b;
  const std::uint32_t* c;
  const std::uint32_t* metadata;
  std::uint32_t* d;
};

using BitLauncher = void (*)(unsigned cases, const BitArrays& arrays);

/// By PTX name: one launcher per selector, dense instructions have one.
using BitLaunchers = std::map<std::string, std::vector<BitLauncher>>;

/// D of all cases. Throws std::runtime_error.
inline std::vector<std::uint32_t> run_bits(const BitLaunchers& launchers, const MmaLaunch& launch) {
  const auto found = launchers.find(launch.ptx);
  if (found == launchers.end() ||
      static_cast<std::size_t>(launch.selector) >= found->second.size()) {
    throw std::runtime_error("no kernel for " + launch.ptx + " with selector " +
                             std::to_string(launch.selector));
  }
  const DeviceArray<std::uint32_t> a(launch.a.data(), launch.a.size());
  const DeviceArray<std::uint32_t> b(launch.b.data(), launch.b.size());
  const DeviceArray<std::uint32_t> c(launch.c.data(), launch.c.size());
  const DeviceArray<std::uint32_t> metadata(launch.metadata.data(), launch.metadata.size());
  std::vector<std::uint32_t> result(launch.d_words, launch.poison);
  const DeviceArray<std::uint32_t> d(result.data(), result.size());
  found->second[static_cast<std::size_t>(launch.selector)](
      static_cast<unsigned>(launch.cases), {a.get(), b.get(), c.get(), metadata.get(), d.get()});
  SPTC_CUDA_LAUNCHED();
  d.download(result.data());
  return result;
}

}  // namespace sptc::hardware
