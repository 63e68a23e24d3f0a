// SPDX-License-Identifier: Apache-2.0
//
// The GPU of this machine, through the CUDA runtime.
#include "tests/hardware/capture/gpu.h"
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/gpu_error.h"
#include "tests/hardware/cuda/mma_bits.h"
#include "tests/hardware/cuda/nvml.h"

#include <optional>

namespace sptc::hardware {
namespace {

/// Says whether the GPU runs code of this build at all.
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
  info.compute_capability =
      std::to_string(properties.major) + "." + std::to_string(properties.minor);
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

class Gpu final : public Device {
 public:
  Gpu() : info_(read_info()) {}

  const DeviceInfo& info() const override { return info_; }
  bool has(const std::string& ptx) const override {
    return has_mma_kernel(ptx) || has_wgmma_kernel(ptx);
  }
  std::vector<std::uint32_t> run(const MmaLaunch& launch) override {
    return has_mma_kernel(launch.ptx) ? run_mma_kernel(launch) : run_wgmma_kernel(launch);
  }

 private:
  DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> open_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    throw_no_gpu(status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
  }
  auto gpu = std::make_unique<Gpu>();
  try {
    const DeviceArray<int> result(1);
    write_one<<<1, 1>>>(result.get());
    SPTC_CUDA_LAUNCHED();
  } catch (const std::runtime_error& error) {
    throw_no_gpu(gpu->info().name + " (" + gpu->info().target +
                 ") does not run the code of this build: " + error.what());
  }
  return gpu;
}

}  // namespace sptc::hardware
