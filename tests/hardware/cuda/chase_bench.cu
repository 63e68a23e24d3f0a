// SPDX-License-Identifier: Apache-2.0
//
// Latency and bandwidth of the memory system beyond shared memory. The claim of each kernel stands
// above it.
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/memory_bench.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace sptc::hardware {
namespace {

/// Claim: each load's address is the word that the load before returned; the ring visits every slot
/// once in random order, so no prefetcher and no open DRAM page helps. One thread of the GPU runs.
template <bool kThroughL1>
__global__ void chase(const std::uint64_t* start, int loads, int warm_up, long long* cycles,
                      std::uint64_t* sink) {
  std::uint64_t address = reinterpret_cast<std::uint64_t>(start);
  const auto step = [&] {
    if constexpr (kThroughL1) {
      asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(address)::"memory");
    } else {
      asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(address)::"memory");
    }
  };
  for (int i = 0; i < warm_up; ++i) {
    step();
  }
  const long long begin = clock64();
  for (int i = 0; i < loads; ++i) {
    step();
  }
  *cycles = clock64() - begin;
  *sink = address;
}

/// Claim: thread 0 of each block loads each line through L2 only, waits for the word,
/// and keeps the least time of `repeats`; the line lies in L2 after the first.
__global__ void time_lines(const std::uint64_t* base, std::size_t words_apart, int lines,
                           int repeats, int* sm_of_block, float* least) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  sm_of_block[blockIdx.x] = static_cast<int>(sm);
  for (int line = 0; line < lines; ++line) {
    const std::uint64_t* const place = base + static_cast<std::size_t>(line) * words_apart;
    float best = 1e9F;
    for (int i = 0; i < repeats; ++i) {
      std::uint64_t word;
      const long long begin = clock64();
      asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(word) : "l"(place) : "memory");
      if (word != 0) {  // never; but the clock below has to wait for the load
        return;
      }
      best = fminf(best, static_cast<float>(clock64() - begin));
    }
    least[blockIdx.x * lines + line] = best;
  }
}

/// Where the threads of all SMs are while they walk over `count` words of 16 bytes together, round
/// and round: at any moment at a window of as many words as there are threads.
struct Walk {
  std::size_t at, step, count;

  __device__ Walk(std::size_t words)
      : at((static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) % words),
        step(static_cast<std::size_t>(gridDim.x) * blockDim.x % words),
        count(words) {}
  __device__ std::size_t next() {
    const std::size_t here = at;
    at += step;
    at -= at >= count ? count : 0;
    return here;
  }
};

// The L1 takes no part: .cg.
__device__ uint4 load(const uint4* from) {
  uint4 word;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
               : "l"(from));
  return word;
}
__device__ void store(uint4* to, uint4 word) {
  asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(word.x), "r"(word.y),
               "r"(word.z), "r"(word.w)
               : "memory");
}

/// Claim: every thread makes `accesses` accesses of 16 bytes along a Walk over `count` words:
/// reads, or writes, or reads each followed by a write to the other half.
__global__ void stream_read(const uint4* from, std::size_t count, int accesses, uint4* sink) {
  Walk walk(count);
  uint4 sum{0, 0, 0, 0};
#pragma unroll 8
  for (int i = 0; i < accesses; ++i) {
    const uint4 word = load(from + walk.next());
    sum.x ^= word.x;
    sum.y ^= word.y;
    sum.z ^= word.z;
    sum.w ^= word.w;
  }
  if ((sum.x | sum.y | sum.z | sum.w) != 0) {  // never: the memory holds zeros
    *sink = sum;
  }
}
__global__ void stream_write(uint4* to, std::size_t count, int accesses) {
  Walk walk(count);
#pragma unroll 8
  for (int i = 0; i < accesses; ++i) {
    store(to + walk.next(), uint4{1, 2, 3, 4});
  }
}
__global__ void stream_copy(const uint4* from, uint4* to, std::size_t count, int accesses) {
  Walk walk(count);
#pragma unroll 4
  for (int i = 0; i < accesses; i += 2) {
    const std::size_t at = walk.next();
    store(to + at, load(from + at));
  }
}

int sm_count() {
  int device = 0;
  int count = 0;
  SPTC_CUDA(cudaGetDevice(&device));
  SPTC_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

}  // namespace

double chase_cycles(std::size_t footprint, std::size_t stride, bool through_l1) {
  const std::size_t slots = footprint / stride;
  const std::size_t words = stride / sizeof(std::uint64_t);
  DeviceArray<std::uint64_t> ring(slots * words);
  std::vector<std::size_t> order(slots);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(42);
  std::shuffle(order.begin() + 1, order.end(), random);
  std::vector<std::uint64_t> host(slots * words, 0);
  for (std::size_t i = 0; i < slots; ++i) {
    host[order[i] * words] =
        reinterpret_cast<std::uint64_t>(ring.get() + order[(i + 1) % slots] * words);
  }
  ring.upload(host.data());
  // One whole round first: what the caches hold of the footprint afterwards is their steady state.
  const int warm_up = static_cast<int>(std::min<std::size_t>(slots, 1U << 20));
  const int loads =
      static_cast<int>(std::min<std::size_t>(std::max<std::size_t>(slots, 4096), 1U << 16));
  long long poison = -1;
  const DeviceArray<long long> cycles(&poison, 1);
  const DeviceArray<std::uint64_t> sink(1);
  (through_l1 ? chase<true> : chase<false>)<<<1, 1>>>(ring.get() + order[0] * words, loads, warm_up,
                                                      cycles.get(), sink.get());
  SPTC_CUDA_LAUNCHED();
  cycles.download(&poison);
  if (poison < 0) {
    throw std::runtime_error("the chase did not report its time");
  }
  return static_cast<double>(poison) / loads;
}

std::vector<L2Line> l2_line_cycles(int lines) {
  constexpr std::size_t kWordsApart = (65536 + 128) / sizeof(std::uint64_t);
  constexpr int kRepeats = 32;
  const int blocks = sm_count();
  const auto count = static_cast<std::size_t>(blocks * lines);
  DeviceArray<std::uint64_t> data(kWordsApart * static_cast<std::size_t>(lines) + 16);
  data.fill(0);
  std::vector<int> sm(static_cast<std::size_t>(blocks), -1);
  std::vector<float> least(count, -1.0F);
  const DeviceArray<int> sm_of_block(sm.data(), sm.size());
  const DeviceArray<float> device_least(least.data(), least.size());
  time_lines<<<blocks, 1>>>(data.get(), kWordsApart, lines, kRepeats, sm_of_block.get(),
                            device_least.get());
  SPTC_CUDA_LAUNCHED();
  sm_of_block.download(sm.data());
  device_least.download(least.data());
  std::vector<L2Line> result;
  for (int block = 0; block < blocks; ++block) {
    for (int line = 0; line < lines; ++line) {
      result.push_back({sm[static_cast<std::size_t>(block)], line,
                        least[static_cast<std::size_t>(block * lines + line)]});
    }
  }
  return result;
}

std::vector<double> bandwidth_gb_per_s(BandwidthOperation operation, std::size_t footprint,
                                       int launches) {
  // So much that the launch takes no part of the time that counts.
  constexpr std::size_t kBytesPerLaunch = std::size_t{2} << 30;
  constexpr int kThreads = 256;
  const std::size_t count =
      footprint / sizeof(uint4) / (operation == BandwidthOperation::kCopy ? 2 : 1);
  const bool reads = operation != BandwidthOperation::kWrite;
  const bool writes = operation != BandwidthOperation::kRead;
  DeviceArray<uint4> from(reads ? count : 1);
  DeviceArray<uint4> to(writes ? count : 1);
  from.fill(0);
  to.fill(0);
  const int blocks = 8 * sm_count();
  const std::size_t threads = static_cast<std::size_t>(blocks) * kThreads;
  const int accesses = static_cast<int>((kBytesPerLaunch / sizeof(uint4) / threads + 1) / 2 * 2);
  const double bytes = static_cast<double>(accesses) * static_cast<double>(threads) * sizeof(uint4);
  const Event start;
  const Event stop;
  std::vector<double> rates;
  for (int i = -2; i < launches; ++i) {  // two launches warm up
    start.record();
    switch (operation) {
      case BandwidthOperation::kRead:
        stream_read<<<blocks, kThreads>>>(from.get(), count, accesses, to.get());
        break;
      case BandwidthOperation::kWrite:
        stream_write<<<blocks, kThreads>>>(to.get(), count, accesses);
        break;
      case BandwidthOperation::kCopy:
        stream_copy<<<blocks, kThreads>>>(from.get(), to.get(), count, accesses);
        break;
    }
    SPTC_CUDA(cudaGetLastError());
    stop.record();
    const double microseconds = start.microseconds_to(stop);
    if (i >= 0) {
      rates.push_back(bytes / microseconds * 1e-3);
    }
  }
  return rates;
}

}  // namespace sptc::hardware
