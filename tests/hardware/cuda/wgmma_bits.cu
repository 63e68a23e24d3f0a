// SPDX-License-Identifier: Apache-2.0
//
// Claim: warpgroup c finds the tiles of A and B of case c in shared memory, gives C (and metadata)
// in registers to exactly one wgmma or wgmma.sp, and what the instruction returns is what stands in
// D afterwards.
#include "tests/hardware/capture/wgmma_tile.h"
#include "tests/hardware/cuda/bit_launch.cuh"
#include "tests/hardware/cuda/mma_bits.h"

namespace sptc::hardware {
namespace {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool kHasWgmma = true;
#else
constexpr bool kHasWgmma = false;
#endif

// Fence, instruction, commit and wait stand in one piece of text, so that the compiler cannot read
// D before the wait.
#define SPTC_WGMMA_TEXT(ptx, operands)                         \
  "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, 1, 0;\n" \
  "wgmma.fence.sync.aligned;\n" ptx " " operands               \
  ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n}\n"

#define SPTC_DENSE_4(ptx, tail)                                               \
  asm volatile(SPTC_WGMMA_TEXT(ptx, "{%0,%1,%2,%3}, %4, %5, accumulate" tail) \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])               \
               : "l"(a), "l"(b)                                               \
               : "memory")
#define SPTC_DENSE_2(ptx, tail)                                         \
  asm volatile(SPTC_WGMMA_TEXT(ptx, "{%0,%1}, %2, %3, accumulate" tail) \
               : "+r"(d[0]), "+r"(d[1])                                 \
               : "l"(a), "l"(b)                                         \
               : "memory")
#define SPTC_SPARSE_4(ptx, tail)                                                      \
  asm volatile(SPTC_WGMMA_TEXT(ptx, "{%0,%1,%2,%3}, %4, %5, %6, %7, accumulate" tail) \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                       \
               : "l"(a), "l"(b), "r"(metadata), "n"(kSelector)                        \
               : "memory")
#define SPTC_SPARSE_2(ptx, tail)                                                \
  asm volatile(SPTC_WGMMA_TEXT(ptx, "{%0,%1}, %2, %3, %4, %5, accumulate" tail) \
               : "+r"(d[0]), "+r"(d[1])                                         \
               : "l"(a), "l"(b), "r"(metadata), "n"(kSelector)                  \
               : "memory")
#define SPTC_KIND_32 SPTC_DENSE_
#define SPTC_KIND_64 SPTC_SPARSE_
#define SPTC_JOIN(x, y) x##y
#define SPTC_JOINED(x, y) SPTC_JOIN(x, y)

namespace op {
#define SPTC_WGMMA_OP(id, name, ptx, D, B, tail, selectors)                             \
  struct id {                                                                           \
    static constexpr const char* kName = name;                                          \
    static constexpr int kD = D, kRowBytesOfB = B, kSelectors = selectors;              \
    template <int kSelector>                                                            \
    __device__ static void run(std::uint32_t (&d)[D], std::uint64_t a, std::uint64_t b, \
                               [[maybe_unused]] std::uint32_t metadata) {               \
      SPTC_JOINED(SPTC_KIND_##B, D)(ptx, tail);                                         \
    }                                                                                   \
  };
#include "tests/hardware/cuda/wgmma_operations.inc"
}  // namespace op

template <typename Op, int kSelector>
__global__ void __launch_bounds__(kWgmmaLanes) execute_once(BitArrays arrays) {
  if constexpr (kHasWgmma) {
    constexpr WgmmaTile kTileA{kWgmmaRows, kWgmmaBytesOfA};
    constexpr WgmmaTile kTileB{kWgmmaColumns, Op::kRowBytesOfB};
    __shared__ alignas(1024) std::uint32_t tile_a[kTileA.bytes() / 4];
    __shared__ alignas(1024) std::uint32_t tile_b[kTileB.bytes() / 4];
    for (int i = threadIdx.x; i < kTileA.bytes() / 4; i += kWgmmaLanes) {
      tile_a[i] = arrays.a[blockIdx.x * (kTileA.bytes() / 4) + i];
    }
    for (int i = threadIdx.x; i < kTileB.bytes() / 4; i += kWgmmaLanes) {
      tile_b[i] = arrays.b[blockIdx.x * (kTileB.bytes() / 4) + i];
    }
    // wgmma reads shared memory through the asynchronous proxy.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    std::uint32_t d[Op::kD];
    for (int i = 0; i < Op::kD; ++i) {
      d[i] = arrays.c[(blockIdx.x * Op::kD + i) * kWgmmaLanes + threadIdx.x];
    }
    const std::uint32_t metadata = Op::kSelectors > 0 ? arrays.metadata[blockIdx.x * kWgmmaLanes + threadIdx.x] : 0;
    const auto address = [](const void* shared) {
      return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    };
    Op::template run<kSelector>(d, kTileA.descriptor(address(tile_a)), kTileB.descriptor(address(tile_b)), metadata);
    for (int i = 0; i < Op::kD; ++i) {
      arrays.d[(blockIdx.x * Op::kD + i) * kWgmmaLanes + threadIdx.x] = d[i];
    }
  }
}

template <typename Op, int kSelector>
void launch(unsigned cases, const BitArrays& arrays) {
  execute_once<Op, kSelector><<<cases, kWgmmaLanes>>>(arrays);  // run_bits() looks for its errors
}

template <typename Op>
void add(BitLaunchers& all) {
  std::vector<BitLauncher>& list = all[Op::kName];
  list.push_back(launch<Op, 0>);
  if constexpr (Op::kSelectors > 1) {
    list.push_back(launch<Op, 1>);
  }
}

const BitLaunchers& launchers() {
  static const BitLaunchers all = [] {
    BitLaunchers made;
#define SPTC_WGMMA_OP(id, ...) add<op::id>(made);
#include "tests/hardware/cuda/wgmma_operations.inc"
    return made;
  }();
  return all;
}

}  // namespace

bool has_wgmma_kernel(const std::string& ptx) {
  return launchers().contains(ptx);
}

std::vector<std::uint32_t> run_wgmma_kernel(const MmaLaunch& launch) {
  return run_bits(launchers(), launch);
}

}  // namespace sptc::hardware
