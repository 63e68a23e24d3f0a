// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the own GEMM kernels have in common: stages of operands on their way into shared memory, and results on their way
// out.

#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/gemm.h"
#include "tests/hardware/cuda/gemm_tile.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace sptc::hardware {

inline constexpr int kLanes = 32;

__device__ inline void copy_16(std::uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until all but the newest `kNewest` groups of copies of this thread have arrived.
template <int kNewest>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
}

/// `kRows` rows of `kTile` from global memory with `pitch` bytes from row to row. The exchange of chunks repeats every eight
/// rows, so what a thread copies stands at fixed distances. A loop over places would compute every address anew, and the
/// tensor cores would wait for that.
template <SwizzledTile kTile, int kRows, int kThreads>
__device__ void copy_tile(std::uint32_t to, const std::uint8_t* from, std::size_t pitch) {
  constexpr int kRowsAtOnce = kThreads / kTile.chunks();
  static_assert(kRowsAtOnce % 8 == 0 && kRows % kRowsAtOnce == 0);
  const int row = static_cast<int>(threadIdx.x) / kTile.chunks();
  const int chunk = static_cast<int>(threadIdx.x) % kTile.chunks();
  to += kTile.offset(row, chunk);
  from += row * pitch + chunk * 16;
#pragma unroll
  for (int first = 0; first < kRows; first += kRowsAtOnce) {
    copy_16(to + first * kTile.row_bytes, from + first * pitch);
  }
}

/// Stage number `stage` of K into shared memory at `to`: A, B and metadata of this CTA.
template <class Tile>
__device__ void fetch_stage(const GemmLaunch& g, int stage, std::uint32_t to) {
  const std::size_t pitch_a = static_cast<std::size_t>(g.steps) * Tile::kStepBytesOfA;
  const std::size_t pitch_b = static_cast<std::size_t>(g.steps) * Tile::kStepBytesOfB;
  const std::size_t row = static_cast<std::size_t>(blockIdx.y) * Tile::kTileM;
  const std::size_t column = static_cast<std::size_t>(blockIdx.x) * Tile::kTileN;
  copy_tile<Tile::kA, Tile::kTileM, Tile::kThreads>(
      to, g.a + row * pitch_a + stage * Tile::kA.row_bytes, pitch_a);
  copy_tile<Tile::kB, Tile::kTileN, Tile::kThreads>(
      to + Tile::kBytesOfA, g.b + column * pitch_b + stage * Tile::kB.row_bytes, pitch_b);
  if constexpr (Tile::kMetadataBytes > 0) {
    // [16 rows][step of the stage][lane]: the steps of a stage follow each other in memory.
    constexpr int kChunks = Tile::kStepsPerStage * 128 / 16;
    static_assert(Tile::kMetadataBytes == Tile::kThreads * 16);
    const std::size_t word =
        ((row / 16 + threadIdx.x / kChunks) * g.steps + stage * Tile::kStepsPerStage) * kLanes +
        threadIdx.x % kChunks * 4;
    copy_16(to + Tile::kBytesOfA + Tile::kBytesOfB + threadIdx.x * 16, g.metadata + word);
  }
}

/// The words x and y, s32 where the operands are integers, else f32, as elements `at` and `at` + 1
/// of D; `at` is even.
template <numerics::DataType kType>
__device__ void store_two(const GemmLaunch& g, std::size_t at, std::uint32_t x, std::uint32_t y) {
  using numerics::DataType;
  const float2 values{__uint_as_float(x), __uint_as_float(y)};
  if constexpr (kType == DataType::kF16) {
    static_cast<__half2*>(g.d)[at / 2] = __float22half2_rn(values);
  } else if constexpr (kType == DataType::kBf16) {
    static_cast<__nv_bfloat162*>(g.d)[at / 2] = __float22bfloat162_rn(values);
  } else if constexpr (kType == DataType::kE4m3) {
    static_cast<__nv_fp8x2_storage_t*>(g.d)[at / 2] =
        __nv_cvt_float2_to_fp8x2(values, __NV_SATFINITE, __NV_E4M3);
  } else if constexpr (kType == DataType::kS8) {
    const auto rounded = [&](std::uint32_t word) {
      const int value = __float2int_rn(static_cast<float>(static_cast<int>(word)) * g.s8_scale);
      return static_cast<signed char>(max(-128, min(127, value)));
    };
    static_cast<char2*>(g.d)[at / 2] = {rounded(x), rounded(y)};
  } else {
    static_cast<uint2*>(g.d)[at / 2] = {x, y};
  }
}

/// A fragment of accumulators of 16 rows and 8 columns, of which this lane holds d[0 .. 3], to D at
/// `row` and `column`.
template <numerics::DataType kType>
__device__ void store_fragment(const GemmLaunch& g, const std::uint32_t* d, std::size_t row,
                               std::size_t column) {
  const int lane = threadIdx.x % kLanes;
  const std::size_t at = (row + lane / 4) * g.n + column + lane % 4 * 2;
  store_two<kType>(g, at, d[0], d[1]);
  store_two<kType>(g, at + 8 * static_cast<std::size_t>(g.n), d[2], d[3]);
}

/// Calls `store` with the type of D as a constant: decided once, not for every element.
template <class Store>
__device__ void with_result_type(numerics::DataType type, Store store) {
  using numerics::DataType;
  switch (type) {
    case DataType::kF16:
      return store(std::integral_constant<DataType, DataType::kF16>());
    case DataType::kBf16:
      return store(std::integral_constant<DataType, DataType::kBf16>());
    case DataType::kE4m3:
      return store(std::integral_constant<DataType, DataType::kE4m3>());
    case DataType::kS8:
      return store(std::integral_constant<DataType, DataType::kS8>());
    default:
      return store(std::integral_constant<DataType, DataType::kF32>());
  }
}

/// Launches `kernel` over all tiles of D.
template <class Tile>
void launch_tiles(void (*kernel)(GemmLaunch), const GemmLaunch& g, cudaStream_t stream) {
  static_assert(Tile::kTileM == kGemmTile && Tile::kTileN == kGemmTile);
  static_assert(Tile::kStepsPerStage == kGemmStepsAtOnce && Tile::kThreads == 128);
  SPTC_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 Tile::kSharedBytes));
  const dim3 grid(static_cast<unsigned>(g.n / Tile::kTileN),
                  static_cast<unsigned>(g.m / Tile::kTileM));
  kernel<<<grid, Tile::kThreads, Tile::kSharedBytes, stream>>>(g);
  SPTC_CUDA(cudaGetLastError());
}

}  // namespace sptc::hardware
