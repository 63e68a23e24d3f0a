// SPDX-License-Identifier: Apache-2.0
//
// Claim: lane l of warp c gives registers A, B, C (and metadata) of case c to exactly one mma or
// mma.sp, and what the instruction returns is what stands in D afterwards.
#include "tests/hardware/cuda/bit_launch.cuh"
#include "tests/hardware/cuda/mma_bits.h"
#include "tests/hardware/cuda/mma_operation.cuh"

namespace sptc::hardware {
namespace {

constexpr int kLanes = 32;

template <int kCount, typename Word>
__device__ void load(const Word* from, Word (&to)[kCount]) {
  for (int i = 0; i < kCount; ++i) {
    to[i] = from[(blockIdx.x * kCount + i) * kLanes + threadIdx.x];
  }
}

template <typename Op, int kSelector>
__global__ void execute_once(BitArrays arrays) {
  if constexpr (kAvailable<Op>) {
    using Word = typename Op::Word;
    Word a[Op::kA], b[Op::kB], c[Op::kC], d[Op::kD];
    load(reinterpret_cast<const Word*>(arrays.a), a);
    load(reinterpret_cast<const Word*>(arrays.b), b);
    load(reinterpret_cast<const Word*>(arrays.c), c);
    const std::uint32_t metadata = Op::kSelectors > 0 ? arrays.metadata[blockIdx.x * kLanes + threadIdx.x] : 0;
    Op::template run<kSelector>(d, a, b, c, metadata);
    for (int i = 0; i < Op::kD; ++i) {
      reinterpret_cast<Word*>(arrays.d)[(blockIdx.x * Op::kD + i) * kLanes + threadIdx.x] = d[i];
    }
  }
}

template <typename Op, int kSelector>
void launch(unsigned cases, const BitArrays& arrays) {
  execute_once<Op, kSelector><<<cases, kLanes>>>(arrays);  // run_bits() looks for its errors
}

template <typename Op>
void add(BitLaunchers& all) {
  std::vector<BitLauncher>& list = all[Op::kPtx];
  list.push_back(launch<Op, 0>);
  if constexpr (Op::kSelectors > 1) {
    list.push_back(launch<Op, 1>);
  }
  if constexpr (Op::kSelectors > 2) {
    list.push_back(launch<Op, 2>);
    list.push_back(launch<Op, 3>);
  }
}

const BitLaunchers& launchers() {
  static const BitLaunchers all = [] {
    BitLaunchers made;
#define SPTC_DENSE_OP(id, ...) add<op::id>(made);
#define SPTC_SPARSE_OP(id, ...) add<op::id>(made);
#include "tests/hardware/cuda/mma_operations.inc"
    return made;
  }();
  return all;
}

}  // namespace

bool has_mma_kernel(const std::string& ptx) {
  return launchers().contains(ptx);
}

std::vector<std::uint32_t> run_mma_kernel(const MmaLaunch& launch) {
  return run_bits(launchers(), launch);
}

}  // namespace sptc::hardware
