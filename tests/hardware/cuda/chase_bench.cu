// SPDX-License-Identifier: Apache-2.0
//
// Latency and bandwidth of the memory system beyond shared memory. The claim of each kernel stands
// above it.
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/hold_stream.h"
#include "tests/hardware/cuda/memory_bench.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>

namespace sptc::hardware {
namespace {

/// Nanoseconds since some moment, in steps of a microsecond or less.
__device__ long long nanoseconds() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

struct ChaseTimes {
  long long cycles, nanoseconds;
};

/// Claim: each load's address is the word that the load before returned; the ring visits every slot
/// once in random order, so no prefetcher and no open DRAM page helps. One thread of the GPU runs.
template <bool kThroughL1>
__global__ void chase(const std::uint64_t* start, int loads, int warm_up, ChaseTimes* times, std::uint64_t* sink) {
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
  const long long since = nanoseconds();
  const long long begin = clock64();
  for (int i = 0; i < loads; ++i) {
    step();
  }
  times->cycles = clock64() - begin;
  times->nanoseconds = nanoseconds() - since;
  *sink = address;
}

constexpr int kLineBytes = 65536 + 128;  // from one timed line to the next
constexpr int kNeighbourBytes = 2048;    // from a timed line to another one of its page

struct LineArrays {
  int* sm;       ///< of the block
  float* first;  ///< cycles of the first load, [block][line]
  float* least;  ///< cycles per load of the fastest chain
};

/// Claim: the blocks take turns, so one thread of the GPU loads at a time, through L2 only. It
/// reads a neighbour of the line, so that the page is known; then the line once; then in chains,
/// each of whose addresses is the word that the load before returned, its own address. A store to
/// shared memory that waits for the word stands before each reading of the clock.
__global__ void time_lines(const char* base, int lines, unsigned* tickets, LineArrays to) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  constexpr int kChain = 8;
  constexpr int kChains = 4;
  __shared__ volatile std::uint64_t arrived;
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  to.sm[blockIdx.x] = static_cast<int>(sm);
  const unsigned ticket = atomicAdd(&tickets[0], 1U);
  while (*static_cast<volatile unsigned*>(&tickets[1]) != ticket) {
    __nanosleep(20'000);  // so rarely that it does not disturb whose turn it is
  }
  const auto load = [](std::uint64_t address) {
    std::uint64_t word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(address) : "memory");
    return word;
  };
  for (int line = 0; line < lines; ++line) {
    const std::uint64_t place = reinterpret_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(line) * kLineBytes;
    arrived = load(place + kNeighbourBytes);
    long long begin = clock64();
    std::uint64_t address = load(place);
    arrived = address;
    to.first[blockIdx.x * lines + line] = static_cast<float>(clock64() - begin);
    float best = 1e9F;
    for (int chain = 0; chain < kChains; ++chain) {
      begin = clock64();
#pragma unroll
      for (int i = 0; i < kChain; ++i) {
        address = load(address);
      }
      arrived = address;
      best = fminf(best, static_cast<float>(clock64() - begin) / kChain);
    }
    to.least[blockIdx.x * lines + line] = best;
  }
  __threadfence();
  atomicAdd(&tickets[1], 1U);
#endif
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
  asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(word.x), "r"(word.y), "r"(word.z),
               "r"(word.w)
               : "memory");
}

/// Claim: every thread reads `accesses` words of 16 bytes along a Walk over `count` words.
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

/// Claim: every thread writes `accesses` words of 16 bytes along a Walk over `count` words.
__global__ void stream_write(uint4* to, std::size_t count, int accesses) {
  Walk walk(count);
#pragma unroll 8
  for (int i = 0; i < accesses; ++i) {
    store(to + walk.next(), uint4{1, 2, 3, 4});
  }
}

/// Claim: every thread reads half as many words as `accesses` says along a Walk over `count` words
/// and writes each to the same place of another array.
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

ChaseResult chase_cycles(std::size_t footprint, std::size_t stride, bool through_l1) {
  const std::size_t slots = footprint / stride;
  const std::size_t words = stride / sizeof(std::uint64_t);
  DeviceArray<std::uint64_t> ring(slots * words);
  std::vector<std::size_t> order(slots);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(42);
  std::shuffle(order.begin() + 1, order.end(), random);
  std::vector<std::uint64_t> host(slots * words, 0);
  for (std::size_t i = 0; i < slots; ++i) {
    host[order[i] * words] = reinterpret_cast<std::uint64_t>(ring.get() + order[(i + 1) % slots] * words);
  }
  ring.upload(host.data());
  // One whole round first: what the caches hold of the footprint afterwards is their steady state.
  const int warm_up = static_cast<int>(std::min<std::size_t>(slots, 1U << 20));
  const int loads = static_cast<int>(std::min<std::size_t>(std::max<std::size_t>(slots, 4096), 1U << 16));
  ChaseTimes result{-1, -1};
  const DeviceArray<ChaseTimes> times(&result, 1);
  const DeviceArray<std::uint64_t> sink(1);
  (through_l1 ? chase<true> : chase<false>)<<<1, 1>>>(ring.get() + order[0] * words, loads, warm_up, times.get(),
                                                      sink.get());
  SPTC_CUDA_LAUNCHED();
  times.download(&result);
  if (result.cycles < 0 || result.nanoseconds <= 0) {
    throw std::runtime_error("the chase did not report its time");
  }
  const auto cycles = static_cast<double>(result.cycles);
  return {cycles / loads, cycles * 1e3 / static_cast<double>(result.nanoseconds)};
}

std::vector<L2Line> l2_line_cycles(int lines) {
  const int blocks = sm_count();
  const auto count = static_cast<std::size_t>(blocks * lines);
  const auto of_host = [](std::size_t size) { return std::vector<float>(size, -1.0F); };
  // Every line holds its own address.
  DeviceArray<char> data(static_cast<std::size_t>(kLineBytes) * static_cast<std::size_t>(lines));
  std::vector<char> host(data.count(), 0);
  for (std::size_t at = 0; at < host.size(); at += kLineBytes) {
    const auto address = reinterpret_cast<std::uint64_t>(data.get() + at);
    std::memcpy(host.data() + at, &address, sizeof(address));
  }
  data.upload(host.data());
  std::vector<int> sm(static_cast<std::size_t>(blocks), -1);
  std::vector<float> first = of_host(count);
  std::vector<float> least = of_host(count);
  const std::array<unsigned, 2> zeros{};
  const DeviceArray<unsigned> tickets(zeros.data(), zeros.size());
  const DeviceArray<int> device_sm(sm.data(), sm.size());
  const DeviceArray<float> device_first(first.data(), first.size());
  const DeviceArray<float> device_least(least.data(), least.size());
  time_lines<<<blocks, 1>>>(data.get(), lines, tickets.get(),
                            {device_sm.get(), device_first.get(), device_least.get()});
  SPTC_CUDA_LAUNCHED();
  device_sm.download(sm.data());
  device_first.download(first.data());
  device_least.download(least.data());
  std::vector<L2Line> result;
  for (int block = 0; block < blocks; ++block) {
    for (int line = 0; line < lines; ++line) {
      const auto at = static_cast<std::size_t>(block * lines + line);
      if (first[at] <= 0 || least[at] <= 0) {
        throw std::runtime_error("an SM did not report its times");
      }
      result.push_back({sm[static_cast<std::size_t>(block)], line, first[at], least[at]});
    }
  }
  return result;
}

std::vector<double> bandwidth_gb_per_s(BandwidthOperation operation, std::size_t footprint, int launches) {
  // So much that the launch takes no part of the time that counts.
  constexpr std::size_t kBytesPerLaunch = std::size_t{2} << 30;
  constexpr int kThreads = 256;
  const std::size_t count = footprint / sizeof(uint4) / (operation == BandwidthOperation::kCopy ? 2 : 1);
  const bool reads = operation != BandwidthOperation::kWrite;
  const bool writes = operation != BandwidthOperation::kRead;
  DeviceArray<uint4> from(reads ? count : 1);
  DeviceArray<uint4> to(writes ? count : 1);
  from.fill(0);
  to.fill(writes ? 0xFF : 0);  // poison
  const int blocks = 8 * sm_count();
  const std::size_t threads = static_cast<std::size_t>(blocks) * kThreads;
  const int accesses = static_cast<int>((kBytesPerLaunch / sizeof(uint4) / threads + 1) / 2 * 2);
  const double bytes = static_cast<double>(accesses) * static_cast<double>(threads) * sizeof(uint4);
  const Event start;
  const Event stop;
  std::vector<double> rates;
  for (int i = -2; i < launches; ++i) {  // two launches warm up
    hold_stream();                       // so that the host has queued all three meanwhile
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
  for (const std::size_t place : {std::size_t{0}, count / 2, count - 1}) {
    uint4 word{};
    SPTC_CUDA(cudaMemcpy(&word, to.get() + (writes ? place : 0), sizeof(word), cudaMemcpyDeviceToHost));
    if (word.x == 0xFFFFFFFF) {
      throw std::runtime_error("the walk left words out");
    }
  }
  return rates;
}

}  // namespace sptc::hardware
