// SPDX-License-Identifier: Apache-2.0
//
// Claim: one thread computes one element of D in double precision, in the order of k, from the
// dense operands, and compares it with what stands there.
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/gemm_reference.h"

#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace sptc::hardware {
namespace {

using numerics::DataType;

/// Elements i * step + i % step of D, for i below `count`: every row and column gets some.
struct Sample {
  std::size_t count, step;
};

__device__ double element(const void* array, std::size_t index, DataType type) {
  switch (type) {
    case DataType::kF16:
      return __half2float(static_cast<const __half*>(array)[index]);
    case DataType::kBf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(array)[index]);
    case DataType::kE4m3:
      return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(array)[index]);
    case DataType::kS8:
      return static_cast<const std::int8_t*>(array)[index];
    case DataType::kS32:
      return static_cast<const std::int32_t*>(array)[index];
    default:
      return static_cast<const float*>(array)[index];
  }
}

/// What an accumulation in f32 and one rounding to the type of D may be off by.
__device__ double bound_of(const ComputedGemm& g, double sum, double magnitude) {
  // Hopper adds products of fp8 with 13 bits after the point.
  const double share = fmax(g.k * 0x1p-21, g.type == DataType::kE4m3 ? 0x1p-9 : 0.0);
  switch (g.d_type) {
    case DataType::kS32:
      return 0;
    case DataType::kS8:
      return 1;
    case DataType::kF16:
      return share * magnitude + 0x1p-11 * fabs(sum) + 0x1p-25;
    case DataType::kBf16:
      return share * magnitude + 0x1p-8 * fabs(sum);
    case DataType::kE4m3:
      return share * magnitude + 0x1p-4 * fabs(sum) + 0x1p-10;
    default:
      return share * magnitude + 0x1p-24 * fabs(sum);
  }
}

__global__ void compare(ComputedGemm g, Sample sample, unsigned long long* mismatches) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= sample.count) {
    return;
  }
  const std::size_t at = i * sample.step + i % sample.step;
  const std::size_t row = at / g.n;
  const std::size_t column = at % g.n;
  double sum = 0;
  double magnitude = 0;
  for (int k = 0; k < g.k; ++k) {
    const double product = element(g.a, row * g.k + k, g.type) * element(g.b, column * g.k + k, g.type);
    sum += product;
    magnitude += fabs(product);
  }
  if (g.d_type == DataType::kS8) {
    sum = fmin(fmax(sum * g.s8_scale, -128.0), 127.0);
  } else if (g.d_type == DataType::kE4m3) {
    sum = fmin(fmax(sum, -448.0), 448.0);
  }
  const double d = element(g.d, row * g.row_step + column * g.column_step, g.d_type);
  if (!(fabs(d - sum) <= bound_of(g, sum, magnitude))) {  // a NaN is a mismatch
    atomicAdd(mismatches, 1ULL);
  }
}

}  // namespace

GemmCheck check_on_device(const ComputedGemm& gemm) {
  constexpr std::size_t kMost = 1 << 20;
  constexpr unsigned kThreads = 256;
  const std::size_t all = static_cast<std::size_t>(gemm.m) * static_cast<std::size_t>(gemm.n);
  const std::size_t step = std::max<std::size_t>(1, all / kMost);
  const Sample sample{all / step, step};
  unsigned long long mismatches = 0;
  const DeviceArray<unsigned long long> counter(&mismatches, 1);
  const auto blocks = static_cast<unsigned>((sample.count + kThreads - 1) / kThreads);
  compare<<<blocks, kThreads>>>(gemm, sample, counter.get());
  SPTC_CUDA_LAUNCHED();
  counter.download(&mismatches);
  return {.mode = "device", .elements = sample.count, .mismatches = mismatches};
}

}  // namespace sptc::hardware
