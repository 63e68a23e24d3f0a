// SPDX-License-Identifier: Apache-2.0
//
// The GPU of this machine, through the CUDA runtime.
#include "tests/hardware/capture/program.h"
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/cuda_timing.h"
#include "tests/hardware/cuda/gpu_error.h"
#include "tests/hardware/cuda/hold_stream.h"
#include "tests/hardware/cuda/mma_bits.h"
#include "tests/hardware/cuda/nvml.h"

#include <optional>

namespace sptc::hardware {
namespace {

/// Claim: waits until `cycles` cycles of its SM have passed.
__global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

/// Claim: stores a 1, so whoever finds it knows that the GPU runs code of this build.
__global__ void write_one(int* result) {
  *result = 1;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

DeviceInfo read_info() {
  int device = 0;
  SPTC_CUDA(cudaGetDevice(&device));
  cudaDeviceProp properties{};
  SPTC_CUDA(cudaGetDeviceProperties(&properties, device));
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    SPTC_CUDA(cudaDeviceGetAttribute(&value, which, device));
    return value;
  };
  int runtime = 0;
  SPTC_CUDA(cudaRuntimeGetVersion(&runtime));
  DeviceInfo info;
  info.name = properties.name;
  info.compute_capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
  info.target = "sm_" + std::to_string(properties.major * 10 + properties.minor);
  info.sm_count = properties.multiProcessorCount;
  info.boost_clock_mhz = attribute(cudaDevAttrClockRate) / 1000.0;
  info.memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate) / 1000.0;
  info.l2_bytes = static_cast<double>(properties.l2CacheSize);
  info.memory_bytes = static_cast<double>(properties.totalGlobalMem);
  info.cuda = version_text(runtime);
  if (const Nvml* const nvml = Nvml::get()) {
    info.driver = nvml->driver();
    info.power_limit_w = nvml->power_limit_w();
  }
  return info;
}

/// Throws where the GPU does not execute.
void try_gpu() {
  int answer = 0;
  const DeviceArray<int> result(&answer, 1);
  write_one<<<1, 1>>>(result.get());
  SPTC_CUDA_LAUNCHED();
  result.download(&answer);
  if (answer != 1) {
    throw std::runtime_error("a kernel ran and wrote nothing");
  }
}

class Gpu final : public Device {
 public:
  Gpu() : info_(read_info()), timing_(make_cuda_timing(mma::find_target(info_.target))) {}

  std::string origin() const override { return "measured"; }
  TimingDevice* timing() override { return timing_.get(); }
  bool usable() override {
    try {
      try_gpu();
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  const DeviceInfo& info() const override { return info_; }
  bool has(const std::string& ptx) const override { return has_mma_kernel(ptx) || has_wgmma_kernel(ptx); }
  std::vector<std::uint32_t> run(const MmaLaunch& launch) override {
    return has_mma_kernel(launch.ptx) ? run_mma_kernel(launch) : run_wgmma_kernel(launch);
  }

 private:
  DeviceInfo info_;
  std::unique_ptr<TimingDevice> timing_;
};

}  // namespace

void hold_stream() {
  constexpr long long kCycles = 150'000;
  spin<<<1, 1>>>(kCycles);
  SPTC_CUDA(cudaGetLastError());
}

std::unique_ptr<Device> open_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    throw_no_gpu(status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
  }
  auto gpu = std::make_unique<Gpu>();
  try {
    try_gpu();
  } catch (const std::runtime_error& error) {
    throw_no_gpu(gpu->info().name + " (" + gpu->info().target +
                 ") does not run the code of this build: " + error.what());
  }
  return gpu;
}

}  // namespace sptc::hardware
