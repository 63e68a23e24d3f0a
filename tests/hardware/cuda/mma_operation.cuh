// SPDX-License-Identifier: Apache-2.0
#pragma once

// One struct per mma and mma.sp instruction: names, registers, and run(), which executes exactly that instruction.

#include "tests/hardware/cuda/cuda_version.h"

#include <cstdint>
#include <type_traits>

namespace sptc::hardware {

#ifdef __CUDA_ARCH__
inline constexpr int kDeviceArch = __CUDA_ARCH__;
#else
inline constexpr int kDeviceArch = 0;
#endif

/// Whether the code that is being compiled runs on GPUs that have the instruction.
template <typename Op>
inline constexpr bool kAvailable = Op::kFirst <= kDeviceArch && kDeviceArch <= Op::kLast;

// The operands of inline PTX: D, A, B, C, and for mma.sp metadata and selector. The accumulator registers are handled as
// untyped bits, which PTX allows for every type of the same size.
#define SPTC_IN_1(x, l) #l(x[0])
#define SPTC_IN_2(x, l) #l(x[0]), #l(x[1])
#define SPTC_IN_4(x, l) #l(x[0]), #l(x[1]), #l(x[2]), #l(x[3])
#define SPTC_IN_8(x, l) \
  #l(x[0]), #l(x[1]), #l(x[2]), #l(x[3]), #l(x[4]), #l(x[5]), #l(x[6]), #l(x[7])
#define SPTC_OUT_2(x, l) "=" #l(x[0]), "=" #l(x[1])
#define SPTC_OUT_4(x, l) "=" #l(x[0]), "=" #l(x[1]), "=" #l(x[2]), "=" #l(x[3])
#define SPTC_OUT_8(x, l)                                                                        \
  "=" #l(x[0]), "=" #l(x[1]), "=" #l(x[2]), "=" #l(x[3]), "=" #l(x[4]), "=" #l(x[5]), "=" #l(x[6]), \
      "=" #l(x[7])

// SPTC_LIST_D_A_B_C: the register list of the PTX text; the names say how many registers each operand has.
#define SPTC_LIST_2_1_1_2 "{%0,%1}, {%2}, {%3}, {%4,%5}"
#define SPTC_LIST_2_2_1_2 "{%0,%1}, {%2,%3}, {%4}, {%5,%6}"
#define SPTC_LIST_2_2_2_2 "{%0,%1}, {%2,%3}, {%4,%5}, {%6,%7}"
#define SPTC_LIST_2_4_2_2 "{%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9}"
#define SPTC_LIST_2_4_4_2 "{%0,%1}, {%2,%3,%4,%5}, {%6,%7,%8,%9}, {%10,%11}"
#define SPTC_LIST_4_2_1_4 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10}"
#define SPTC_LIST_4_2_2_4 "{%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%8,%9,%10,%11}"
#define SPTC_LIST_4_4_2_4 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13}"
#define SPTC_LIST_4_4_4_4 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%12,%13,%14,%15}"
#define SPTC_LIST_4_8_4_4 \
  "{%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%16,%17,%18,%19}"
#define SPTC_LIST_8_2_2_8 \
  "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%12,%13,%14,%15,%16,%17,%18,%19}"
#define SPTC_LIST_8_2_2_4 "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%12,%13,%14,%15}"

#define SPTC_SELECT_2_2_2_2 ", %8, %9;"
#define SPTC_SELECT_2_4_4_2 ", %12, %13;"
#define SPTC_SELECT_4_2_2_4 ", %12, %13;"
#define SPTC_SELECT_4_4_4_4 ", %16, %17;"

#define SPTC_WORD_r std::uint32_t
#define SPTC_WORD_l std::uint64_t

#define SPTC_OP_BODY(ptx, D, A, B, C, letter, selectors, first, last) \
  static constexpr const char* kPtx = ptx;                            \
  using Word = SPTC_WORD_##letter;                                    \
  static constexpr int kD = D, kA = A, kB = B, kC = C;                \
  static constexpr int kSelectors = selectors; /* 0: dense */         \
  static constexpr int kFirst = first, kLast = last;

#define SPTC_DENSE_OP(id, ptx, D, A, B, C, letter, first, last)                                 \
  struct id {                                                                                   \
    SPTC_OP_BODY(ptx, D, A, B, C, letter, 0, first, last)                                       \
    template <int kSelector>                                                                    \
    __device__ static void run(Word (&d)[D], const Word (&a)[A], const Word (&b)[B],            \
                               const Word (&c)[C], std::uint32_t) {                             \
      asm volatile(ptx " " SPTC_LIST_##D##_##A##_##B##_##C ";"                                  \
                   : SPTC_OUT_##D(d, letter)                                                    \
                   : SPTC_IN_##A(a, letter), SPTC_IN_##B(b, letter), SPTC_IN_##C(c, letter));   \
    }                                                                                           \
  };
#define SPTC_SPARSE_OP(id, ptx, D, A, B, C, letter, selectors, first, last)                     \
  struct id {                                                                                   \
    SPTC_OP_BODY(ptx, D, A, B, C, letter, selectors, first, last)                               \
    template <int kSelector>                                                                    \
    __device__ static void run(Word (&d)[D], const Word (&a)[A], const Word (&b)[B],            \
                               const Word (&c)[C], std::uint32_t metadata) {                    \
      asm volatile(ptx " " SPTC_LIST_##D##_##A##_##B##_##C SPTC_SELECT_##D##_##A##_##B##_##C    \
                   : SPTC_OUT_##D(d, letter)                                                    \
                   : SPTC_IN_##A(a, letter), SPTC_IN_##B(b, letter), SPTC_IN_##C(c, letter),    \
                     "r"(metadata), "n"(kSelector));                                            \
    }                                                                                           \
  };

namespace op {
#include "tests/hardware/cuda/mma_operations.inc"
}  // namespace op

}  // namespace sptc::hardware
