// SPDX-License-Identifier: Apache-2.0
//
// Claim: one block of G warpgroups on one SM executes R wgmma per warpgroup (R a multiple of four),
// each accumulating onto the one before, A and B in shared memory. Accumulating wgmma run in order
// without a wait between them, so the time per instruction is the time that it occupies the tensor
// cores. ptxas must not report that it serialised them (C7515).
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/mma_bench.h"
#include "tests/hardware/cuda/wgmma_operation.cuh"

#include <algorithm>
#include <array>

namespace sptc::hardware {
namespace {

constexpr int kGroupLanes = 128;
constexpr int kAtOnce = 4;             // instructions between two fences
constexpr int kMaxGroups = 2;          // four would leave too few registers for n = 256
constexpr int kTileBytes = 32 * 1024;  // B at n = 256 with rows of 64 bytes is 16 KiB

/// Layout without swizzle: what stands where does not matter for the time, only that all of the
/// descriptor's addresses lie in the tile.
__device__ std::uint64_t descriptor(const void* shared, int row_bytes) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  return ((address & 0x3FFFF) >> 4) | (128ULL >> 4) << 16 | static_cast<std::uint64_t>(8 * row_bytes >> 4) << 32;
}

template <typename Op>
__global__ void __launch_bounds__(kGroupLanes* kMaxGroups)
    run_rounds(const std::uint32_t* tiles, int rounds, std::uint32_t* sink, long long* cycles) {
  if constexpr (kHasWgmma) {
    extern __shared__ __align__(1024) std::uint32_t shared[];
    for (int i = threadIdx.x; i < kTileBytes / 4; i += blockDim.x) {
      shared[i] = tiles[i];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    std::uint32_t d[Op::kRegisters];
#pragma unroll
    for (int i = 0; i < Op::kRegisters; ++i) {
      d[i] = 0;
    }
    const std::uint64_t a = descriptor(shared, 32);
    const std::uint64_t b = descriptor(shared + 1024, Op::kSparse ? 64 : 32);
    const std::uint32_t metadata = 0x44444444;  // legal for every type
    pin(d);                                     // the accumulators are set before the fence, and not between two wgmma
    const long long start = clock64();
    for (int round = 0; round < rounds; round += kAtOnce) {
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        Op::run(d, a, b, metadata);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    const long long end = clock64();
    pin(d);
    std::uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < Op::kRegisters; ++i) {
      sum ^= d[i];
    }
    sink[threadIdx.x] = sum;
    if (threadIdx.x % kGroupLanes == 0) {
      cycles[threadIdx.x / kGroupLanes * 2] = start;
      cycles[threadIdx.x / kGroupLanes * 2 + 1] = end;
    }
  }
}

using Launcher = void (*)(const std::uint32_t* tiles, int groups, int rounds, std::uint32_t* sink, long long* cycles);

template <typename Op>
void launch(const std::uint32_t* tiles, int groups, int rounds, std::uint32_t* sink, long long* cycles) {
  run_rounds<Op><<<1, groups * kGroupLanes, kTileBytes>>>(tiles, rounds, sink, cycles);
}

struct Row {
  TimedWgmma what;
  Launcher launcher;
};

template <typename Op>
Row row() {
  return {{Op::kPtx, Op::kN, Op::kK, Op::kSparse}, launch<Op>};
}

const std::vector<Row>& rows() {
#define SPTC_ROWS(type)                                                                    \
  row<wgmma_op::type##_n64>(), row<wgmma_op::type##_n128>(), row<wgmma_op::type##_n256>(), \
      row<wgmma_op::sp_##type##_n64>(), row<wgmma_op::sp_##type##_n128>(), row<wgmma_op::sp_##type##_n256>()
  static const std::vector<Row> all{SPTC_ROWS(f16), SPTC_ROWS(bf16), SPTC_ROWS(tf32), SPTC_ROWS(e4m3), SPTC_ROWS(s8)};
  return all;
}

}  // namespace

std::vector<TimedWgmma> wgmma_list() {
  std::vector<TimedWgmma> list;
  for (const Row& row : rows()) {
    list.push_back(row.what);
  }
  return list;
}

long long wgmma_cycles(std::size_t index, int warpgroups, int rounds, bool random) {
  // Random bytes 0x30..0x3F with random signs: moderate numbers of every type.
  std::vector<std::uint32_t> tile(kTileBytes / 4, 0);
  std::uint32_t state = 12345;
  for (std::uint32_t& word : tile) {
    state = state * 1664525U + 1013904223U;
    word = random ? (state & 0x8F8F8F8FU) | 0x30303030U : 0;
  }
  const DeviceArray<std::uint32_t> tiles(tile.data(), tile.size());
  DeviceArray<std::uint32_t> sink(kGroupLanes * kMaxGroups);
  std::array<long long, 2 * kMaxGroups> times{};
  times.fill(-1);
  const DeviceArray<long long> cycles(times.data(), times.size());
  rows().at(index).launcher(tiles.get(), warpgroups, rounds, sink.get(), cycles.get());
  SPTC_CUDA_LAUNCHED();
  cycles.download(times.data());
  long long first = times[0];
  long long last = times[1];
  for (int group = 0; group < warpgroups; ++group) {
    const auto at = static_cast<std::size_t>(2 * group);
    if (times[at] < 0 || times[at + 1] < 0) {
      throw std::runtime_error(rows()[index].what.ptx + ": a warpgroup did not report its time");
    }
    first = std::min(first, times[at]);
    last = std::max(last, times[at + 1]);
  }
  return last - first;
}

}  // namespace sptc::hardware
