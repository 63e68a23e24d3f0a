// SPDX-License-Identifier: Apache-2.0
//
// Shared memory and asynchronous copies of one SM. The claim of each kernel stands above it.
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/memory_bench.h"
#include "tests/hardware/cuda/shared_chain.h"

#include <algorithm>

namespace sptc::hardware {
namespace {

constexpr int kLanes = 32;
constexpr int kSharedWords = 1024;  // 32 words of each bank

__device__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

template <int kMatrices>
__device__ void ldmatrix(std::uint32_t (&r)[kMatrices], std::uint32_t address) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
  if constexpr (kMatrices == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address));
  } else if constexpr (kMatrices == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
  }
#endif
}

/// Claim: `kIlp` chains per warp; the address of each ldmatrix is the word that the one before
/// loaded (shared_chain.h), and nothing else stands between the two.
template <int kMatrices, int kIlp>
__global__ void ldmatrix_rounds(int rounds, std::uint32_t* sink, long long* cycles) {
  constexpr LdmatrixChain kChain{kMatrices};
  __shared__ __align__(128) std::uint32_t data[kIlp * LdmatrixChain::kBytes / 4];
  const int lane = threadIdx.x % kLanes;
  std::uint32_t address[kIlp];
  for (int j = 0; j < kIlp; ++j) {
    const int first = j * LdmatrixChain::kBytes;
    address[j] = shared_address(data) + first + kChain.row_offset(lane);
    data[first / 4 + kChain.loaded_word(lane)] = address[j];  // all warps write the same
  }
  __syncthreads();
  const long long start = clock64();
#pragma unroll 4
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int j = 0; j < kIlp; ++j) {
      std::uint32_t r[kMatrices] = {};
      ldmatrix<kMatrices>(r, address[j]);
      address[j] = r[kMatrices - 1];
    }
  }
  const long long end = clock64();
  std::uint32_t sum = 0;
  for (int j = 0; j < kIlp; ++j) {
    sum ^= address[j];
  }
  sink[threadIdx.x] = sum;
  if (lane == 0) {
    cycles[threadIdx.x / kLanes * 2] = start;
    cycles[threadIdx.x / kLanes * 2 + 1] = end;
  }
}

/// Claim: each load's address is the word that the load before returned, its own address; `ways`
/// lanes meet in every bank (shared_chain.h).
__global__ void ld_shared_rounds(int ways, int rounds, std::uint32_t* sink, long long* cycles) {
  __shared__ __align__(128) std::uint32_t data[kSharedWords];
  for (int i = threadIdx.x; i < kSharedWords; i += blockDim.x) {
    data[i] = shared_address(data + i);
  }
  __syncthreads();
  const int lane = threadIdx.x;
  std::uint32_t address = shared_address(data + conflicting_word(lane, ways));
  const long long start = clock64();
#pragma unroll 8
  for (int round = 0; round < rounds; ++round) {
    asm volatile("ld.shared.u32 %0, [%0];" : "+r"(address));
  }
  const long long end = clock64();
  sink[lane] = address;
  if (lane == 0) {
    cycles[0] = start;
    cycles[1] = end;
  }
}

/// Claim: a round issues `in_flight` copies per thread, consecutive threads consecutive addresses,
/// and waits for all of them. The addresses are those of the round before: 16 bytes (.cg) come from
/// the L2, 4 and 8 bytes (.ca, the only form they have) from the L1.
template <int kBytes>
__global__ void cp_async_rounds(const char* from, int in_flight, int rounds, long long* cycles) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) char shared[];
  const std::uint32_t to = shared_address(shared) + threadIdx.x * kBytes;
  const char* const source = from + threadIdx.x * kBytes;
  const int step = blockDim.x * kBytes;
  __syncthreads();
  const long long start = clock64();
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < in_flight; ++i) {
      if constexpr (kBytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i * step), "l"(source + i * step)
                     : "memory");
      } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to + i * step), "l"(source + i * step),
                     "n"(kBytes)
                     : "memory");
      }
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
  }
  __syncthreads();
  const long long end = clock64();
  if (threadIdx.x == 0) {
    cycles[0] = start;
    cycles[1] = end;
  }
#endif
}

/// Claim: a round arms one barrier with the bytes of `in_flight` bulk copies, issues them from one
/// thread, and waits for the barrier's phase. A phase that does not come within `patience` cycles
/// ends the kernel without an answer.
__global__ void tma_rounds(const char* from, int bytes, int in_flight, int rounds, long long patience,
                           long long* cycles) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char shared[];
  __shared__ __align__(8) std::uint64_t barrier;
  const std::uint32_t bar = shared_address(&barrier);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const long long start = clock64();
  for (int round = 0; round < rounds; ++round) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes * in_flight)
                 : "memory");
    for (int i = 0; i < in_flight; ++i) {
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
          "[%3];" ::"r"(shared_address(shared) + i * bytes),
          "l"(from + i * bytes), "r"(bytes), "r"(bar)
          : "memory");
    }
    std::uint32_t done = 0;
    while (done == 0) {
      asm volatile(
          "{\n.reg .pred done;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\nselp.b32 %0, 1, 0, done;\n}"
          : "=r"(done)
          : "r"(bar), "r"(round & 1)
          : "memory");
      if (clock64() - start > patience) {
        return;
      }
    }
  }
  const long long end = clock64();
  cycles[0] = start;
  cycles[1] = end;
#endif
}

/// From the first start to the last end of `count` warps; -1 marks what did not run.
class CycleReport {
 public:
  explicit CycleReport(int count)
      : times_(static_cast<std::size_t>(2 * count), -1), device_(times_.data(), times_.size()) {}
  long long* get() const { return device_.get(); }
  long long span() {
    SPTC_CUDA_LAUNCHED();
    device_.download(times_.data());
    long long first = times_[0];
    long long last = times_[1];
    for (std::size_t i = 0; i < times_.size(); i += 2) {
      if (times_[i] < 0 || times_[i + 1] < 0) {
        throw std::runtime_error("a warp did not report its time");
      }
      first = std::min(first, times_[i]);
      last = std::max(last, times_[i + 1]);
    }
    return last - first;
  }

 private:
  std::vector<long long> times_;
  DeviceArray<long long> device_;
};

}  // namespace

long long ldmatrix_cycles(int matrices, int warps, int ilp, int rounds) {
  using Kernel = void (*)(int rounds, std::uint32_t* sink, long long* cycles);
  constexpr Kernel kKernels[3][3] = {{ldmatrix_rounds<1, 1>, ldmatrix_rounds<1, 2>, ldmatrix_rounds<1, 4>},
                                     {ldmatrix_rounds<2, 1>, ldmatrix_rounds<2, 2>, ldmatrix_rounds<2, 4>},
                                     {ldmatrix_rounds<4, 1>, ldmatrix_rounds<4, 2>, ldmatrix_rounds<4, 4>}};
  const auto place = [](int count) { return count == 4 ? 2 : count - 1; };
  CycleReport report(warps);
  DeviceArray<std::uint32_t> sink(static_cast<std::size_t>(warps * kLanes));
  kKernels[place(matrices)][place(ilp)]<<<1, warps * kLanes>>>(rounds, sink.get(), report.get());
  return report.span();
}

long long ld_shared_cycles(int ways, int rounds) {
  CycleReport report(1);
  DeviceArray<std::uint32_t> sink(kLanes);
  ld_shared_rounds<<<1, kLanes>>>(ways, rounds, sink.get(), report.get());
  return report.span();
}

long long cp_async_cycles(int bytes, int threads, int in_flight, int rounds) {
  CycleReport report(1);
  const std::size_t total = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(threads * in_flight);
  DeviceArray<char> data(total);
  data.fill(0);
  const auto kernel = bytes == 4 ? cp_async_rounds<4> : bytes == 8 ? cp_async_rounds<8> : cp_async_rounds<16>;
  kernel<<<1, threads, total>>>(data.get(), in_flight, rounds, report.get());
  return report.span();
}

long long tma_cycles(int bytes, int in_flight, int rounds) {
  CycleReport report(1);
  const std::size_t total = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(in_flight);
  DeviceArray<char> data(total);
  data.fill(0);
  constexpr long long kPatience = 1'000'000'000;  // about a second
  tma_rounds<<<1, 1, total>>>(data.get(), bytes, in_flight, rounds, kPatience, report.get());
  return report.span();
}

}  // namespace sptc::hardware
