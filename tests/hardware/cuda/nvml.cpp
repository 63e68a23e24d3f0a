// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/cuda/nvml.h"

#include "models/base/error.h"
#include "tests/hardware/cuda/gpu_error.h"

#include <array>
#include <cuda_runtime_api.h>

namespace sptc::hardware {
namespace {

constexpr int kSuccess = 0;
constexpr int kClockSm = 1;   // NVML_CLOCK_SM
constexpr int kClockMem = 2;  // NVML_CLOCK_MEM
constexpr int kTemperatureGpu = 0;

template <typename... Arguments, typename... Given>
std::optional<double> unsigned_of(int (*call)(Arguments...), double scale, Given... given) {
  unsigned value = 0;
  if (call == nullptr || call(given..., &value) != kSuccess) {
    return std::nullopt;
  }
  return value * scale;
}

}  // namespace

void throw_no_gpu(const std::string& why) {
  throw base::InputError("no usable GPU: " + why);
}

Nvml::Nvml() : library_({"libnvidia-ml.so.1", "libnvidia-ml.so"}), problem_(open()) {}

std::string Nvml::open() {
  if (!library_.is_open()) {
    return library_.problem();
  }
  int (*init)() = nullptr;
  int (*by_bus)(const char*, Device*) = nullptr;
  if (!library_.find("nvmlInit_v2", init) || !library_.find("nvmlDeviceGetHandleByPciBusId_v2", by_bus) ||
      !library_.find("nvmlSystemGetDriverVersion", system_driver_)) {
    return library_.name() + " lacks a function";
  }
  // These may be missing: what they say is null then.
  library_.find("nvmlDeviceGetEnforcedPowerLimit", power_limit_);
  library_.find("nvmlDeviceGetPowerUsage", power_);
  library_.find("nvmlDeviceGetClockInfo", clock_);
  library_.find("nvmlDeviceGetTemperature", temperature_);
  library_.find("nvmlDeviceGetTotalEnergyConsumption", energy_);
  if (const int status = init(); status != kSuccess) {
    return "nvmlInit_v2 returned " + std::to_string(status);
  }
  int device = 0;
  std::array<char, 32> bus{};
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device) != cudaSuccess) {
    return "the PCI address of the GPU is not known";
  }
  if (const int status = by_bus(bus.data(), &device_); status != kSuccess) {
    return "nvmlDeviceGetHandleByPciBusId_v2 returned " + std::to_string(status);
  }
  return "";
}

const Nvml* Nvml::get() {
  static Nvml nvml;
  return nvml.problem_.empty() ? &nvml : nullptr;
}

std::string Nvml::why_absent() {
  static const std::string problem = Nvml().problem_;
  return problem;
}

std::string Nvml::driver() const {
  std::array<char, 96> text{};
  return system_driver_(text.data(), static_cast<unsigned>(text.size())) == kSuccess ? text.data() : "";
}

std::optional<double> Nvml::power_limit_w() const {
  return unsigned_of(power_limit_, 1e-3, device_);
}
std::optional<double> Nvml::power_w() const {
  return unsigned_of(power_, 1e-3, device_);
}
std::optional<double> Nvml::clock_mhz() const {
  return unsigned_of(clock_, 1.0, device_, kClockSm);
}
std::optional<double> Nvml::memory_clock_mhz() const {
  return unsigned_of(clock_, 1.0, device_, kClockMem);
}
std::optional<double> Nvml::temperature_c() const {
  return unsigned_of(temperature_, 1.0, device_, kTemperatureGpu);
}

std::optional<double> Nvml::energy_j() const {
  unsigned long long millijoules = 0;
  if (energy_ == nullptr || energy_(device_, &millijoules) != kSuccess) {
    return std::nullopt;
  }
  return static_cast<double>(millijoules) * 1e-3;
}

PowerSampler::PowerSampler(std::chrono::milliseconds interval) {
  const Nvml* const nvml = Nvml::get();
  if (nvml == nullptr) {
    return;
  }
  thread_ = std::thread([this, nvml, interval] {
    const auto start = std::chrono::steady_clock::now();
    while (!done_) {
      const std::chrono::duration<double, std::milli> t = std::chrono::steady_clock::now() - start;
      samples_.push_back(
          {t.count(), nvml->power_w(), nvml->clock_mhz(), nvml->memory_clock_mhz(), nvml->temperature_c()});
      std::this_thread::sleep_for(interval);
    }
  });
}

PowerSampler::~PowerSampler() {
  stop();
}

std::vector<PowerSample> PowerSampler::stop() {
  done_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
  return samples_;
}

PowerMeans means_after(const std::vector<PowerSample>& samples, double skip_ms) {
  double power = 0;
  double clock = 0;
  int power_count = 0;
  int clock_count = 0;
  for (const PowerSample& sample : samples) {
    if (sample.t_ms < skip_ms) {
      continue;
    }
    if (sample.power_w) {
      power += *sample.power_w;
      ++power_count;
    }
    if (sample.clock_mhz) {
      clock += *sample.clock_mhz;
      ++clock_count;
    }
  }
  PowerMeans means;
  if (power_count > 0) {
    means.power_w = power / power_count;
  }
  if (clock_count > 0) {
    means.clock_mhz = clock / clock_count;
  }
  return means;
}

}  // namespace sptc::hardware
