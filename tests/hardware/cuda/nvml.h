// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/timing_device.h"
#include "tests/hardware/cuda/dynamic_library.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sptc::hardware {

/// The NVIDIA Management Library, of which the kit needs power and clocks. Declared here as far as
/// it is used (nvml.h, a stable ABI); opened at run time.
class Nvml {
 public:
  /// Nothing where the library or the device is not there; why_absent() says why.
  static const Nvml* get();
  static std::string why_absent();

  std::string driver() const;
  std::optional<double> power_limit_w() const;
  std::optional<double> power_w() const;
  std::optional<double> clock_mhz() const;  ///< of the SMs
  std::optional<double> memory_clock_mhz() const;
  std::optional<double> temperature_c() const;
  std::optional<double> energy_j() const;  ///< since the driver was loaded

 private:
  using Device = struct nvmlDevice_st*;

  Nvml();
  std::string open();

  DynamicLibrary library_;
  Device device_ = nullptr;
  int (*system_driver_)(char*, unsigned) = nullptr;
  int (*power_limit_)(Device, unsigned*) = nullptr;
  int (*power_)(Device, unsigned*) = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  int (*temperature_)(Device, int, unsigned*) = nullptr;
  int (*energy_)(Device, unsigned long long*) = nullptr;
  std::string problem_;  ///< last: open(), which fills it, sets the members above
};

/// Samples NVML on a thread of its own from construction to stop(); without NVML there are none.
class PowerSampler {
 public:
  explicit PowerSampler(std::chrono::milliseconds interval);
  PowerSampler(const PowerSampler&) = delete;
  PowerSampler& operator=(const PowerSampler&) = delete;
  ~PowerSampler();

  /// The samples so far; sampling ends.
  std::vector<PowerSample> stop();

 private:
  std::vector<PowerSample> samples_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

/// Means over the samples after the first `skip_ms` milliseconds.
struct PowerMeans {
  std::optional<double> power_w, clock_mhz;
};
PowerMeans means_after(const std::vector<PowerSample>& samples, double skip_ms);

}  // namespace sptc::hardware
