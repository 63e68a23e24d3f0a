// SPDX-License-Identifier: Apache-2.0
//
// GEMM kernels of mma.sync. Claim: every element of D is the chain of `steps` instructions in
// increasing k that starts from zero, so the bits of an f32 or s32 D are those of the simulator's
// arithmetic. Multi-stage: cp.async fills stage s+S-1 while stage s is computed.
#include "tests/hardware/cuda/gemm_stage.cuh"
#include "tests/hardware/cuda/mma_operation.cuh"

namespace sptc::hardware {
namespace {

__device__ void ldmatrix_x4(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

template <class Op>
struct GemmKernel {
  static constexpr bool kSparse = Op::kSelectors > 0;
  using Tile = GemmTile<kSparse>;
  static constexpr int kFragmentsM = Tile::kWarpM / 16;
  static constexpr int kFragmentsN = Tile::kWarpN / 8;
  static constexpr int kRegistersB = kSparse ? 4 : 2;

  struct Fragments {
    std::uint32_t a[kFragmentsM][4];
    std::uint32_t b[kFragmentsN][kRegistersB];
    std::uint32_t metadata[kFragmentsM];
  };

  /// Fragments of step `step` of the stage at `place` bytes of shared memory.
  __device__ static void load(Fragments& f, const std::uint8_t* shared, int place, int step, int warp_row,
                              int warp_column) {
    const int lane = threadIdx.x % kLanes;
    const auto stage = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared + place));
    const auto* const metadata =
        reinterpret_cast<const std::uint32_t*>(shared + place + Tile::kBytesOfA + Tile::kBytesOfB);
    const LdmatrixPlace a = ldmatrix_a(lane);
    const SwizzledTile tile_a = Tile::kA;
    const SwizzledTile tile_b = Tile::kB;
    // Eight rows farther the chunks stand as here, so the distances are constants.
    const std::uint32_t from_a = stage + tile_a.offset(warp_row + a.row, 2 * step + a.chunk);
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
      ldmatrix_x4(f.a[i], from_a + 16 * i * tile_a.row_bytes);
      if constexpr (kSparse) {
        f.metadata[i] = metadata[((warp_row / 16 + i) * Tile::kStepsPerStage + step) * kLanes + lane];
      }
    }
    const LdmatrixPlace b = kSparse ? ldmatrix_b_sparse(lane) : ldmatrix_b_dense(lane);
    const std::uint32_t from_b =
        stage + Tile::kBytesOfA + tile_b.offset(warp_column + b.row, kRegistersB * step + b.chunk);
    // One ldmatrix brings one fragment of a sparse step, and two of a dense one.
#pragma unroll
    for (int j = 0; j < kFragmentsN; j += 4 / kRegistersB) {
      std::uint32_t words[4];
      ldmatrix_x4(words, from_b + 8 * j * tile_b.row_bytes);
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        f.b[j + w / kRegistersB][w % kRegistersB] = words[w];
      }
    }
  }

  __device__ static void store(const GemmLaunch& g, const std::uint32_t (&d)[kFragmentsM][kFragmentsN][4], int warp_row,
                               int warp_column) {
    const std::size_t row = static_cast<std::size_t>(blockIdx.y) * Tile::kTileM + warp_row;
    const std::size_t column = static_cast<std::size_t>(blockIdx.x) * Tile::kTileN + warp_column;
    with_result_type(g.d_type, [&](auto type) {
#pragma unroll
      for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
        for (int j = 0; j < kFragmentsN; ++j) {
          store_fragment<decltype(type)::value>(g, d[i][j], row + 16 * i, column + 8 * j);
        }
      }
    });
  }

  __device__ static void run(const GemmLaunch& g) {
    extern __shared__ __align__(128) std::uint8_t shared[];
    const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    const int warp = threadIdx.x / kLanes;
    const int warp_row = warp / Tile::kWarpsAlongN * Tile::kWarpM;
    const int warp_column = warp % Tile::kWarpsAlongN * Tile::kWarpN;
    const int stages = g.steps / Tile::kStepsPerStage;
    std::uint32_t d[kFragmentsM][kFragmentsN][4] = {};
    for (int s = 0; s < Tile::kStages - 1; ++s) {
      if (s < stages) {
        fetch_stage<Tile>(g, s, base + s * Tile::kStageBytes);
      }
      commit_copies();
    }
    for (int s = 0; s < stages; ++s) {
      // Every iteration commits one group, so all but the newest S-2 are those up to stage s. The
      // barrier also says that all warps have finished with stage s-1, whose place is filled next.
      wait_for_copies<Tile::kStages - 2>();
      __syncthreads();
      const int next = s + Tile::kStages - 1;
      if (next < stages) {
        fetch_stage<Tile>(g, next, base + next % Tile::kStages * Tile::kStageBytes);
      }
      commit_copies();
      const int place = s % Tile::kStages * Tile::kStageBytes;
#pragma unroll
      for (int step = 0; step < Tile::kStepsPerStage; ++step) {
        Fragments f;
        load(f, shared, place, step, warp_row, warp_column);
#pragma unroll
        for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
          for (int j = 0; j < kFragmentsN; ++j) {
            Op::template run<0>(d[i][j], f.a[i], f.b[j], d[i][j], kSparse ? f.metadata[i] : 0);
          }
        }
      }
    }
    store(g, d, warp_row, warp_column);
  }
};

template <class Op>
__global__ void __launch_bounds__(128, 2) gemm(GemmLaunch launch) {
  if constexpr (kAvailable<Op>) {
    GemmKernel<Op>::run(launch);
  }
}

template <class Op>
void launch_kernel(const GemmLaunch& g, cudaStream_t stream) {
  launch_tiles<typename GemmKernel<Op>::Tile>(gemm<Op>, g, stream);
}

template <class Op>
OwnKernel row(const char* dtype) {
  constexpr bool kSparse = Op::kSelectors > 0;
  return {"own",
          dtype,
          kSparse,
          Op::kPtx,
          "128x128, " + std::to_string(GemmTile<kSparse>::kStages) + " stages of 2 instructions, " + Op::kPtx,
          Op::kFirst / 10,
          Op::kLast / 10,
          launch_kernel<Op>};
}

}  // namespace

std::vector<OwnKernel> mma_kernels() {
  return {row<op::m16n8k16_f32_f16_f16_f32>("f16"),    row<op::sp_m16n8k32_f32_f16_f16_f32>("f16"),
          row<op::m16n8k16_f32_bf16_bf16_f32>("bf16"), row<op::sp_m16n8k32_f32_bf16_bf16_f32>("bf16"),
          row<op::m16n8k32_s32_s8_s8_s32>("s8"),       row<op::sp_m16n8k64_s32_s8_s8_s32>("s8"),
          row<op::m16n8k32_f32_e4m3_e4m3_f32>("e4m3"), row<op::sp_m16n8k64_f32_e4m3_e4m3_f32>("e4m3")};
}

}  // namespace sptc::hardware
