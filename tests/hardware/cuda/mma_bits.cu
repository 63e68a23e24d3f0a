// SPDX-License-Identifier: Apache-2.0
//
// Claim: lane l of warp c gives registers A, B, C (and metadata) of case c to exactly one mma or
// mma.sp, and what the instruction returns is what stands in D afterwards.
#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/mma_bits.h"
#include "tests/hardware/cuda/mma_operation.cuh"

#include <iterator>
#include <map>

namespace sptc::hardware {
namespace {

constexpr int kLanes = 32;

/// Registers in memory: [case][register][lane]; metadata [case][lane].
template <typename Word>
struct RegisterArrays {
  const Word* a;
  const Word* b;
  const Word* c;
  const std::uint32_t* metadata;
  Word* d;
};

template <int kCount, typename Word>
__device__ void load(const Word* from, Word (&to)[kCount]) {
  for (int i = 0; i < kCount; ++i) {
    to[i] = from[(blockIdx.x * kCount + i) * kLanes + threadIdx.x];
  }
}

template <typename Op, int kSelector>
__global__ void execute_once(RegisterArrays<typename Op::Word> arrays) {
  if constexpr (kAvailable<Op>) {
    typename Op::Word a[Op::kA], b[Op::kB], c[Op::kC], d[Op::kD];
    load(arrays.a, a);
    load(arrays.b, b);
    load(arrays.c, c);
    const std::uint32_t metadata =
        Op::kSelectors > 0 ? arrays.metadata[blockIdx.x * kLanes + threadIdx.x] : 0;
    Op::template run<kSelector>(d, a, b, c, metadata);
    for (int i = 0; i < Op::kD; ++i) {
      arrays.d[(blockIdx.x * Op::kD + i) * kLanes + threadIdx.x] = d[i];
    }
  }
}

using Launcher = void (*)(unsigned cases, const std::uint32_t* a, const std::uint32_t* b,
                          const std::uint32_t* c, const std::uint32_t* metadata, std::uint32_t* d);

template <typename Op, int kSelector>
void launch(unsigned cases, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
            const std::uint32_t* metadata, std::uint32_t* d) {
  using Word = typename Op::Word;
  execute_once<Op, kSelector>
      <<<cases, kLanes>>>({reinterpret_cast<const Word*>(a), reinterpret_cast<const Word*>(b),
                           reinterpret_cast<const Word*>(c), metadata, reinterpret_cast<Word*>(d)});
}

/// By PTX name: one launcher per selector.
using Launchers = std::map<std::string, std::vector<Launcher>>;

template <typename Op>
void add(Launchers& all) {
  std::vector<Launcher>& list = all[Op::kPtx];
  list.push_back(launch<Op, 0>);
  if constexpr (Op::kSelectors > 1) {
    list.push_back(launch<Op, 1>);
  }
  if constexpr (Op::kSelectors > 2) {
    list.push_back(launch<Op, 2>);
    list.push_back(launch<Op, 3>);
  }
}

const Launchers& launchers() {
  static const Launchers all = [] {
    Launchers made;
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
  const auto found = launchers().find(launch.ptx);
  if (found == launchers().end() ||
      static_cast<std::size_t>(launch.selector) >= found->second.size()) {
    throw std::runtime_error("no kernel for " + launch.ptx + " with selector " +
                             std::to_string(launch.selector));
  }
  const DeviceArray<std::uint32_t> a(launch.a.data(), launch.a.size());
  const DeviceArray<std::uint32_t> b(launch.b.data(), launch.b.size());
  const DeviceArray<std::uint32_t> c(launch.c.data(), launch.c.size());
  const DeviceArray<std::uint32_t> metadata(launch.metadata.data(), launch.metadata.size());
  std::vector<std::uint32_t> result(launch.d_words, launch.poison);
  const DeviceArray<std::uint32_t> d(result.data(), result.size());
  found->second[static_cast<std::size_t>(launch.selector)](
      static_cast<unsigned>(launch.cases), a.get(), b.get(), c.get(), metadata.get(), d.get());
  SPTC_CUDA_LAUNCHED();
  d.download(result.data());
  return result;
}

}  // namespace sptc::hardware
