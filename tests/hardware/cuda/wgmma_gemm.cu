// SPDX-License-Identifier: Apache-2.0
//
// GEMM kernels of wgmma (sm_90a). Claim: every element of D is the chain of `steps` instructions in
// increasing k that starts from zero, A and B in shared memory. Multi-stage: cp.async fills stage
// s+S-2 while the tensor cores compute stages s-1 and s. ptxas must not report that it serialised
// the wgmma (C7515).
#include "tests/hardware/cuda/gemm_stage.cuh"
#include "tests/hardware/cuda/wgmma_operation.cuh"

namespace sptc::hardware {
namespace {

template <class Op>
struct WgmmaGemm {
  using Tile = WgmmaGemmTile<Op::kSparse>;
  static constexpr int kParts = Tile::kParts;
  static constexpr int kSteps = Tile::kStepsPerStage;
  using Accumulators = std::uint32_t[kParts][Op::kRegisters];

  /// Waits until all but the newest `kNewest` groups of wgmma have finished.
  template <int kNewest>
  __device__ static void wait_for_wgmma() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kNewest) : "memory");
  }

  /// All wgmma of the stage at `place` bytes of shared memory, as one group that runs on by itself.
  __device__ static void issue(Accumulators& d, const std::uint8_t* shared, int place) {
    constexpr WgmmaTile kA{Tile::kRows, Tile::kA.row_bytes};
    constexpr WgmmaTile kB{Tile::kTileN, Tile::kB.row_bytes};
    const auto a = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)) + place;
    const std::uint32_t b = a + Tile::kBytesOfA;
    std::uint32_t metadata[kParts][kSteps] = {};
    if constexpr (Op::kSparse) {
      // The tensor cores read the words while they work, so those of the stage before must stay in
      // their registers until it has finished; ptxas does not see to that (found on an H100).
      wait_for_wgmma<0>();
      // [16 rows][step][lane], one word of which is this lane's for each part and step.
      const auto* const words =
          reinterpret_cast<const std::uint32_t*>(shared + place + Tile::kBytesOfA + Tile::kBytesOfB);
      const int warp = threadIdx.x / kLanes;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          metadata[part][step] =
              words[((part * Tile::kRows / 16 + warp) * kSteps + step) * kLanes + threadIdx.x % kLanes];
        }
      }
    }
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        Op::run(d[part], kA.descriptor(a + part * kA.bytes() + step * Tile::kStepBytesOfA),
                kB.descriptor(b + step * Tile::kStepBytesOfB), metadata[part][step]);
      }
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }

  __device__ static void store(const GemmLaunch& g, const Accumulators& d) {
    const std::size_t row = static_cast<std::size_t>(blockIdx.y) * Tile::kTileM + threadIdx.x / kLanes * 16;
    const std::size_t column = static_cast<std::size_t>(blockIdx.x) * Tile::kTileN;
    with_result_type(g.d_type, [&](auto type) {
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
#pragma unroll
        for (int j = 0; j < Op::kN / 8; ++j) {
          store_fragment<decltype(type)::value>(g, d[part] + 4 * j, row + part * Tile::kRows, column + 8 * j);
        }
      }
    });
  }

  __device__ static void run(const GemmLaunch& g) {
    extern __shared__ __align__(1024) std::uint8_t shared_stages[];
    const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_stages));
    const int stages = g.steps / kSteps;
    constexpr int kAhead = Tile::kStages - 2;
    Accumulators d = {};
    for (int s = 0; s < kAhead; ++s) {
      if (s < stages) {
        fetch_stage<Tile>(g, s, base + s * Tile::kStageBytes);
      }
      commit_copies();
    }
    for (int part = 0; part < kParts; ++part) {
      pin(d[part]);  // the accumulators are set before the first fence
    }
    for (int s = 0; s < stages; ++s) {
      // What cp.async of this thread wrote becomes visible to wgmma, and at the barrier that of
      // all. The barrier also says that the wgmma of stage s-2 have finished for all warps.
      wait_for_copies<kAhead - 1>();
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      issue(d, shared_stages, s % Tile::kStages * Tile::kStageBytes);
      const int next = s + kAhead;
      if (next < stages) {
        fetch_stage<Tile>(g, next, base + next % Tile::kStages * Tile::kStageBytes);
      }
      commit_copies();
      wait_for_wgmma<1>();
    }
    wait_for_wgmma<0>();
    for (int part = 0; part < kParts; ++part) {
      pin(d[part]);
    }
    store(g, d);
  }
};

template <class Op>
__global__ void __launch_bounds__(128, 2) wgmma_gemm(GemmLaunch launch) {
  if constexpr (kHasWgmma) {
    WgmmaGemm<Op>::run(launch);
  }
}

template <class Op>
void launch_kernel(const GemmLaunch& g, cudaStream_t stream) {
  launch_tiles<typename WgmmaGemm<Op>::Tile>(wgmma_gemm<Op>, g, stream);
}

template <class Op>
OwnKernel row(const char* dtype) {
  static_assert(Op::kN == WgmmaGemm<Op>::Tile::kTileN);
  return {"wgmma",
          dtype,
          Op::kSparse,
          Op::kPtx,
          "128x128, " + std::to_string(WgmmaGemm<Op>::Tile::kStages) + " stages of 2 instructions, " + Op::kPtx,
          90,
          90,
          launch_kernel<Op>};
}

}  // namespace

std::vector<OwnKernel> wgmma_kernels() {
  using namespace wgmma_op;
  return {row<f16_n128>("f16"), row<sp_f16_n128>("f16"), row<bf16_n128>("bf16"), row<sp_bf16_n128>("bf16"),
          row<s8_n128>("s8"),   row<sp_s8_n128>("s8"),   row<e4m3_n128>("e4m3"), row<sp_e4m3_n128>("e4m3")};
}

}  // namespace sptc::hardware
