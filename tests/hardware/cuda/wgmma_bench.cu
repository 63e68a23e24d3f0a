// SPDX-License-Identifier: Apache-2.0
//
// Claim: one block of G warpgroups on one SM executes R wgmma per warpgroup (R a multiple of four),
// each accumulating onto the one before, A and B in shared memory. Accumulating wgmma run in order
// without a wait between them, so the time per instruction is the time that it occupies the tensor
// cores. ptxas must not report that it serialised them (C7515).
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/mma_bench.h"

#include <algorithm>
#include <array>

namespace sptc::hardware {
namespace {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool kHasWgmma = true;
#else
constexpr bool kHasWgmma = false;
#endif

constexpr int kGroupLanes = 128;
constexpr int kAtOnce = 4;             // instructions between two fences
constexpr int kMaxGroups = 2;          // four would leave too few registers for n = 256
constexpr int kTileBytes = 32 * 1024;  // B at n = 256 with rows of 64 bytes is 16 KiB

#define SPTC_R4(x) "+r"(d[x]), "+r"(d[x + 1]), "+r"(d[x + 2]), "+r"(d[x + 3])
#define SPTC_R16(x) SPTC_R4(x), SPTC_R4(x + 4), SPTC_R4(x + 8), SPTC_R4(x + 12)
#define SPTC_R32(x) SPTC_R16(x), SPTC_R16(x + 16)
#define SPTC_R64(x) SPTC_R32(x), SPTC_R32(x + 32)
#define SPTC_R128(x) SPTC_R64(x), SPTC_R64(x + 64)

// clang-format off
#define SPTC_T32                                                                              \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,"     \
  "%24,%25,%26,%27,%28,%29,%30,%31"
#define SPTC_T64 SPTC_T32                                                                     \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,"  \
  "%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define SPTC_T128 SPTC_T64                                                                    \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,"  \
  "%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,"     \
  "%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,"      \
  "%123,%124,%125,%126,%127"
// clang-format on

#define SPTC_SET_P "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, 1, 0;\n"
#define SPTC_TEXT_DENSE_32 ", %32, %33, accumulate"
#define SPTC_TEXT_DENSE_64 ", %64, %65, accumulate"
#define SPTC_TEXT_DENSE_128 ", %128, %129, accumulate"
#define SPTC_TEXT_SPARSE_32 ", %32, %33, %34, 0, accumulate"
#define SPTC_TEXT_SPARSE_64 ", %64, %65, %66, 0, accumulate"
#define SPTC_TEXT_SPARSE_128 ", %128, %129, %130, 0, accumulate"

/// Instruction, logical k, sparsity; run() issues one instruction.
#define SPTC_TIMED_WGMMA(id, name, N, R, K, kind, is_sparse, tail, ...)                  \
  struct id {                                                                            \
    static constexpr const char* kPtx = name;                                            \
    static constexpr int kN = N, kRegisters = R, kK = K;                                 \
    static constexpr bool kSparse = is_sparse;                                           \
    __device__ static void run(std::uint32_t (&d)[R], std::uint64_t a, std::uint64_t b,  \
                               [[maybe_unused]] std::uint32_t metadata) {                \
      asm volatile(SPTC_SET_P name " {" SPTC_T##R "}" SPTC_TEXT_##kind##_##R tail ";\n}" \
                   : SPTC_R##R(0)                                                        \
                   : "l"(a), "l"(b)__VA_ARGS__);                                         \
    }                                                                                    \
  };
#define SPTC_DENSE_N(type, N, R, k, d, a, b, tail)                                              \
  SPTC_TIMED_WGMMA(type##_n##N,                                                                 \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k" #k "." #d "." #a "." #b, N, R, k, \
                   DENSE, false, tail)
#define SPTC_SPARSE_N(type, N, R, k, d, a, b, tail)                                                \
  SPTC_TIMED_WGMMA(sp_##type##_n##N,                                                               \
                   "wgmma.mma_async.sp.sync.aligned.m64n" #N "k" #k "." #d "." #a "." #b, N, R, k, \
                   SPARSE, true, tail, , "r"(metadata))
#define SPTC_ALL_N(type, k, sparse_k, d, a, b, tail)    \
  SPTC_DENSE_N(type, 64, 32, k, d, a, b, tail)          \
  SPTC_DENSE_N(type, 128, 64, k, d, a, b, tail)         \
  SPTC_DENSE_N(type, 256, 128, k, d, a, b, tail)        \
  SPTC_SPARSE_N(type, 64, 32, sparse_k, d, a, b, tail)  \
  SPTC_SPARSE_N(type, 128, 64, sparse_k, d, a, b, tail) \
  SPTC_SPARSE_N(type, 256, 128, sparse_k, d, a, b, tail)

namespace op {
SPTC_ALL_N(f16, 16, 32, f32, f16, f16, ", 1, 1, 0, 0")
SPTC_ALL_N(bf16, 16, 32, f32, bf16, bf16, ", 1, 1, 0, 0")
SPTC_ALL_N(tf32, 8, 16, f32, tf32, tf32, ", 1, 1")
SPTC_ALL_N(e4m3, 32, 64, f32, e4m3, e4m3, ", 1, 1")
SPTC_ALL_N(s8, 32, 64, s32, s8, s8, "")
}  // namespace op

/// Layout without swizzle: what stands where does not matter for the time, only that all of the
/// descriptor's addresses lie in the tile.
__device__ std::uint64_t descriptor(const void* shared, int row_bytes) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  return ((address & 0x3FFFF) >> 4) | (128ULL >> 4) << 16 |
         static_cast<std::uint64_t>(8 * row_bytes >> 4) << 32;
}

/// Makes the compiler have the registers as they are here.
template <int kCount>
__device__ void pin(std::uint32_t (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    asm volatile("" : "+r"(d[i])::"memory");
  }
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
    pin(d);  // the accumulators are set before the fence, and not between two wgmma
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

using Launcher = void (*)(const std::uint32_t* tiles, int groups, int rounds, std::uint32_t* sink,
                          long long* cycles);

template <typename Op>
void launch(const std::uint32_t* tiles, int groups, int rounds, std::uint32_t* sink,
            long long* cycles) {
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
#define SPTC_ROWS(type)                                                  \
  row<op::type##_n64>(), row<op::type##_n128>(), row<op::type##_n256>(), \
      row<op::sp_##type##_n64>(), row<op::sp_##type##_n128>(), row<op::sp_##type##_n256>()
  static const std::vector<Row> all{SPTC_ROWS(f16), SPTC_ROWS(bf16), SPTC_ROWS(tf32),
                                    SPTC_ROWS(e4m3), SPTC_ROWS(s8)};
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
