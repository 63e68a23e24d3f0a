// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/broken/tile_gemm.h"
#include "tests/hardware/cuda/gemm_stage.cuh"
#include "tests/hardware/cuda/mma_operation.cuh"
#include "tests/hardware/cuda/wgmma_operation.cuh"

#include <cuda_fp16.h>
#include <type_traits>

namespace sptc::hardware::broken {

/// The mma of a kernel.
template <class Kernel>
using MmaOf = std::conditional_t<Kernel::kSparse, op::sp_m16n8k32_f32_f16_f16_f32,
                                 std::conditional_t<Kernel::kHalfSums, op::m16n8k16_f16_f16_f16_f16,
                                                    op::m16n8k16_f32_f16_f16_f32>>;

/// One thread of a CTA on a GPU. Addresses are offsets into shared memory.
class GpuMachine {
 public:
  static constexpr int kSharedBytes = 36 << 10;

  __device__ explicit GpuMachine(std::uint8_t* shared)
      : memory_(shared), shared_(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))) {}

  template <class Lane>
  struct Threads {
    Lane lane;
    template <class Do>
    __device__ void each(Do&& act) {
      act(static_cast<int>(threadIdx.x), lane);
    }
  };

  __device__ int block_x() const { return static_cast<int>(blockIdx.x); }
  __device__ int block_y() const { return static_cast<int>(blockIdx.y); }
  __device__ int block_z() const { return static_cast<int>(blockIdx.z); }

  __device__ void copy(int, int to, const std::uint8_t* from) { copy_16(shared_ + to, from); }
  /// Zeros, as a copy of no bytes.
  __device__ void clear(int, int to) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 0;" ::"r"(shared_ + to), "l"(memory_)
                 : "memory");
  }
  __device__ void store(int, int to, std::uint16_t word) {
    *reinterpret_cast<std::uint16_t*>(memory_ + to) = word;
  }
  __device__ void commit() { commit_copies(); }
  template <int kNewest>
  __device__ void wait() {
    wait_for_copies<kNewest>();
  }
  __device__ void barrier() { __syncthreads(); }
  __device__ void fence() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  }

  template <bool kTranspose, class Lanes, class Address, class Target>
  __device__ void ldmatrix(Lanes& threads, Address address, Target target) {
    std::uint32_t r[4];
    const std::uint32_t from = shared_ + address(static_cast<int>(threadIdx.x));
#define SPTC_LDMATRIX(transposed)                                                            \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" transposed ".shared.b16 {%0,%1,%2,%3}, [%4];" \
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                              \
               : "r"(from)                                                                   \
               : "memory")
    if constexpr (kTranspose) {
      SPTC_LDMATRIX(".trans");
    } else {
      SPTC_LDMATRIX("");
    }
#undef SPTC_LDMATRIX
    for (int matrix = 0; matrix < 4; ++matrix) {
      target(threads.lane, matrix) = r[matrix];
    }
  }

  template <class Kernel, int kStep, class Lanes>
  __device__ void mma(Lanes& threads) {
    auto& lane = threads.lane;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 4; ++j) {
        MmaOf<Kernel>::template run<Kernel::selector(kStep)>(
            lane.d[i][j], lane.a[i], lane.b[j], lane.d[i][j],
            Kernel::kSparse ? lane.metadata[i] : 0);
      }
    }
  }

  /// The four instructions of a stage whose A and B stand at `a` and `b`, to their end.
  template <class Kernel, class Lanes>
  __device__ void wgmma(Lanes& threads, int a, int b) {
    using Op = std::conditional_t<Kernel::kFp8, wgmma_op::e4m3_n64, wgmma_op::f16_n64>;
    constexpr WgmmaTile kImage{kTile, 128};
    auto& d = threads.lane.d;
    pin(d);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      Op::run(d, kImage.descriptor(shared_ + a + 32 * step),
              kImage.descriptor(shared_ + b + 32 * step), 0);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    pin(d);
  }

  __device__ float float_of_bits(std::uint32_t bits) const {
    return __uint_as_float(bits);
  }
  __device__ std::uint16_t half_of(float value, bool toward_zero) const {
    return __half_as_ushort(toward_zero ? __float2half_rz(value) : __float2half_rn(value));
  }

 private:
  std::uint8_t* memory_;
  std::uint32_t shared_;
};

}  // namespace sptc::hardware::broken
