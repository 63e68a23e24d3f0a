// SPDX-License-Identifier: Apache-2.0
//
// Claim: one block of W warps on one SM executes R rounds; in a round every warp issues I
// instructions that depend on those of the round before through their accumulators, and on nothing
// else. The difference between two R is free of start-up.
#include "tests/hardware/capture/capture_writer.h"  // AbsentError
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/mma_bench.h"
#include "tests/hardware/cuda/mma_operation.cuh"

#include <algorithm>
#include <array>
#include <map>

namespace sptc::hardware {
namespace {

constexpr int kLanes = 32;
constexpr int kMaxWarps = 16;
constexpr int kMaxIlp = 6;

/// [register][lane], the same for every warp.
struct BenchArrays {
  const std::uint32_t* a;
  const std::uint32_t* b;
  const std::uint32_t* c;
  const std::uint32_t* metadata;
  std::uint32_t* sink;  ///< keeps the results alive
  long long* cycles;    ///< start and end of every warp
};

template <typename Op, int kIlp>
__global__ void __launch_bounds__(kMaxWarps* kLanes) run_rounds(BenchArrays arrays, int rounds) {
  if constexpr (kAvailable<Op>) {
    using Word = typename Op::Word;
    const int lane = threadIdx.x % kLanes;
    Word a[Op::kA], b[Op::kB], d[kIlp][Op::kD];
    for (int i = 0; i < Op::kA; ++i) {
      a[i] = reinterpret_cast<const Word*>(arrays.a)[i * kLanes + lane];
    }
    for (int i = 0; i < Op::kB; ++i) {
      b[i] = reinterpret_cast<const Word*>(arrays.b)[i * kLanes + lane];
    }
    for (int j = 0; j < kIlp; ++j) {
      for (int i = 0; i < Op::kD; ++i) {
        d[j][i] = reinterpret_cast<const Word*>(arrays.c)[i * kLanes + lane];
      }
    }
    const std::uint32_t metadata = Op::kSelectors > 0 ? arrays.metadata[lane] : 0;
    __syncthreads();
    const long long start = clock64();
#pragma unroll 4
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int j = 0; j < kIlp; ++j) {
        Op::template run<0>(d[j], a, b, d[j], metadata);
      }
    }
    const long long end = clock64();
    Word sum = 0;
    for (int j = 0; j < kIlp; ++j) {
      for (int i = 0; i < Op::kD; ++i) {
        sum ^= d[j][i];
      }
    }
    arrays.sink[threadIdx.x] = static_cast<std::uint32_t>(sum);
    if (lane == 0) {
      arrays.cycles[threadIdx.x / kLanes * 2] = start;
      arrays.cycles[threadIdx.x / kLanes * 2 + 1] = end;
    }
  }
}

using Launcher = void (*)(const BenchArrays& arrays, int warps, int rounds);

template <typename Op, int kIlp>
void launch(const BenchArrays& arrays, int warps, int rounds) {
  run_rounds<Op, kIlp><<<1, warps * kLanes>>>(arrays, rounds);
}

using Launchers = std::map<std::string, std::array<Launcher, kMaxIlp>>;

template <typename Op>
void add(Launchers& all) {
  static_assert(Op::kC == Op::kD, "accumulators are chained");
  all[Op::kPtx] = {launch<Op, 1>, launch<Op, 2>, launch<Op, 3>, launch<Op, 4>, launch<Op, 5>, launch<Op, 6>};
}

const Launchers& launchers() {
  static const Launchers all = [] {
    Launchers made;
#define SPTC_TIMED(id) add<op::id>(made);
#include "tests/hardware/cuda/mma_bench_operations.inc"
    return made;
  }();
  return all;
}

}  // namespace

long long mma_cycles(const MmaLaunch& operands, int warps, int ilp, int rounds) {
  const DeviceArray<std::uint32_t> a(operands.a.data(), operands.a.size());
  const DeviceArray<std::uint32_t> b(operands.b.data(), operands.b.size());
  const DeviceArray<std::uint32_t> c(operands.c.data(), operands.c.size());
  const DeviceArray<std::uint32_t> metadata(operands.metadata.data(), operands.metadata.size());
  DeviceArray<std::uint32_t> sink(kMaxWarps * kLanes);
  std::array<long long, 2 * kMaxWarps> times{};
  times.fill(-1);
  const DeviceArray<long long> cycles(times.data(), times.size());
  const BenchArrays arrays{a.get(), b.get(), c.get(), metadata.get(), sink.get(), cycles.get()};
  const auto launcher = launchers().find(operands.ptx);
  if (launcher == launchers().end()) {
    throw AbsentError("CUDA " + std::to_string(SPTC_CUDA_VERSION / 100) + "." +
                      std::to_string(SPTC_CUDA_VERSION % 100) + " does not compile " + operands.ptx);
  }
  launcher->second[static_cast<std::size_t>(ilp - 1)](arrays, warps, rounds);
  SPTC_CUDA_LAUNCHED();
  cycles.download(times.data());
  long long first = times[0];
  long long last = times[1];
  for (int warp = 0; warp < warps; ++warp) {
    const auto at = static_cast<std::size_t>(2 * warp);
    if (times[at] < 0 || times[at + 1] < 0) {
      throw std::runtime_error(operands.ptx + ": a warp did not report its time");
    }
    first = std::min(first, times[at]);
    last = std::max(last, times[at + 1]);
  }
  return last - first;
}

}  // namespace sptc::hardware
