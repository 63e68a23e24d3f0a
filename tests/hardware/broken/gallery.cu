// SPDX-License-Identifier: Apache-2.0
//
// Claim: a kernel of the gallery that is no race returns the bits of its twin on the CPU.
#include "tests/hardware/broken/gpu_machine.cuh"
#include "tests/hardware/broken/kernels.h"
#include "tests/hardware/cuda/check.cuh"

namespace sptc::hardware::broken {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(kThreads) gemm(Memory* g) {
  __shared__ __align__(1024) std::uint8_t shared[GpuMachine::kSharedBytes];
  GpuMachine machine(shared);
  if constexpr (Kernel::kWgmma) {
    if constexpr (kHasWgmma) {
      wgmma_gemm<Kernel>(machine, *g);
    }
  } else if constexpr (kAvailable<MmaOf<Kernel>>) {
    tile_gemm<Kernel>(machine, *g);
  }
}

template <class Kernel>
__global__ void sum_slices(Memory* g) {
  reduce<Kernel>(*g, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
}

}  // namespace

template <class Kernel>
void run_on_gpu(Memory& memory) {
  const DeviceArray<Memory> on_gpu(&memory, 1);
  const dim3 grid(kExtent / kTile, kExtent / kTile, Kernel::kSlices);
  gemm<Kernel><<<grid, kThreads>>>(on_gpu.get());
  SPTC_CUDA_LAUNCHED();
  if constexpr (Kernel::kSlices > 1) {
    sum_slices<Kernel><<<kExtent * kExtent / kThreads, kThreads>>>(on_gpu.get());
    SPTC_CUDA_LAUNCHED();
  }
  on_gpu.download(&memory);
}

const char* gpu_architecture() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    return "";
  }
  cudaDeviceProp properties{};
  SPTC_CUDA(cudaGetDeviceProperties(&properties, 0));
  return properties.major == 8 && properties.minor == 0   ? "A100"
         : properties.major == 9 && properties.minor == 0 ? "H100"
                                                          : "";
}

#define SPTC_INSTANTIATE(Kernel) template void run_on_gpu<Kernel>(Memory&);
SPTC_RIGHT_KERNELS(SPTC_INSTANTIATE)
SPTC_BROKEN_KERNELS(SPTC_INSTANTIATE)

}  // namespace sptc::hardware::broken
