// SPDX-License-Identifier: Apache-2.0
#pragma once

// One struct per wgmma and wgmma.sp instruction of n = 64, 128 and 256, A and B in shared memory: names, registers, and
// run(), which issues exactly that instruction onto its accumulators.

#include <cstdint>

namespace sptc::hardware {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool kHasWgmma = true;
#else
inline constexpr bool kHasWgmma = false;
#endif

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

namespace wgmma_op {
SPTC_ALL_N(f16, 16, 32, f32, f16, f16, ", 1, 1, 0, 0")
SPTC_ALL_N(bf16, 16, 32, f32, bf16, bf16, ", 1, 1, 0, 0")
SPTC_ALL_N(tf32, 8, 16, f32, tf32, tf32, ", 1, 1")
SPTC_ALL_N(e4m3, 32, 64, f32, e4m3, e4m3, ", 1, 1")
SPTC_ALL_N(s8, 32, 64, s32, s8, s8, "")
}  // namespace wgmma_op

/// Makes the compiler have the registers as they are here.
template <int kCount>
__device__ void pin(std::uint32_t (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    asm volatile("" : "+r"(d[i])::"memory");
  }
}

}  // namespace sptc::hardware
