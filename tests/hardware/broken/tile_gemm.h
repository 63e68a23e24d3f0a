// SPDX-License-Identifier: Apache-2.0
//
// A GEMM of mma.sync or mma.sp as authors of kernels write it, for the GPU and for its twin on the
// CPU. Four warps compute 64 x 64 of D; cp.async fills stages of K two ahead of the one that
// ldmatrix reads. `Kernel` is one of kernels.h, right or with a mistake. `Machine` executes:
// gpu_machine.cuh or host_machine.h.
#pragma once

#include "tests/hardware/cuda/gemm_tile.h"

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define SPTC_KERNEL_CODE __device__
#define SPTC_UNROLL _Pragma("unroll")
#else
#define SPTC_KERNEL_CODE
#define SPTC_UNROLL
#endif
/// A function of a kernel that a mistake may hide.
#define SPTC_HOOK SPTC_HOST_DEVICE static constexpr

namespace sptc::hardware::broken {

inline constexpr int kExtent = 128;   ///< rows and columns of D
inline constexpr int kTile = 64;      ///< of a CTA
inline constexpr int kWarpTile = 32;  ///< of a warp
inline constexpr int kThreads = 128;
inline constexpr int kWarp = 32;
inline constexpr int kPipeline = 3;  ///< stages of K in shared memory

/// All memory of a GEMM, which is copied to a GPU as it is.
struct Memory {
  alignas(16) std::uint8_t a[kExtent * 512 + 4096];  ///< [m][stored bytes along K], and zeros
  alignas(16) std::uint8_t b[kExtent * 512];         ///< [n][bytes along K]; RowMajorB: [k][n]
  std::uint32_t metadata[8 * 4 * 32];                ///< [m / 16][k / 64][lane]: Sparse
  std::uint32_t step_metadata[8 * 8 * 32];           ///< [m / 16][k / 32][lane]: OneStepMetadata
  float c[kExtent * kExtent];                        ///< [m][n]
  float bias[kExtent];                               ///< [n]
  float sums[4][kExtent * kExtent];                  ///< of the slices of split-K
  float d[kExtent * kExtent];                        ///< [m][n]
  std::uint16_t half_d[kExtent * kExtent];           ///< in its place where D is f16
};

/// Bytes along K of a column of B, and of a row of A as it is stored.
template <class Kernel>
inline constexpr int kBytesOfB = Kernel::kFp8 ? Kernel::kK : 2 * Kernel::kK;
template <class Kernel>
inline constexpr int kBytesOfA = kBytesOfB<Kernel> / (Kernel::kSparse ? 2 : 1);

/// A stage of shared memory: two instructions along K, rows of A and then columns of B.
template <class Kernel>
struct Stage {
  static constexpr int kRegistersOfB = Kernel::kSparse ? 4 : 2;  ///< of an instruction
  static constexpr SwizzledTile kA{64};
  static constexpr SwizzledTile kB{32 * kRegistersOfB};
  static constexpr int kBytesOfA = kTile * kA.row_bytes;
  static constexpr int kBytes = kBytesOfA + kTile * kB.row_bytes;
};

/// Registers of a thread. An instruction computes 16 x 8 of D.
template <class Kernel>
struct Lane {
  std::uint32_t d[2][4][Kernel::kHalfSums ? 2 : 4] = {};
  std::uint32_t a[2][4] = {};
  std::uint32_t b[4][Stage<Kernel>::kRegistersOfB] = {};
  std::uint32_t metadata[2] = {};
};

SPTC_HOST_DEVICE constexpr int warp_row(int thread) {
  return thread / kWarp / 2 * kWarpTile;
}
SPTC_HOST_DEVICE constexpr int warp_column(int thread) {
  return thread / kWarp % 2 * kWarpTile;
}

/// Copies stage `stage` of K into the place `place` of the pipeline: each thread a row or a column.
template <class Kernel, class Machine, class Threads>
SPTC_KERNEL_CODE void fetch(Machine& machine, Threads& threads, Memory& g, int stage, int place) {
  threads.each([&](int thread, auto&) {
    const bool of_a = thread < kTile;
    const SwizzledTile tile = of_a ? Stage<Kernel>::kA : Stage<Kernel>::kB;
    const int line = thread % kTile;
    const int column = Kernel::tile_of_b(machine.block_x()) * kTile + line;
    const int to = place * Stage<Kernel>::kBytes + (of_a ? 0 : Stage<Kernel>::kBytesOfA);
    if (!of_a && Kernel::kRowMajorB) {
      for (int i = 0; i < tile.row_bytes / 2; ++i) {
        const int from = Kernel::b_at(stage * tile.row_bytes / 2 + i, column);
        std::uint16_t element = 0;
        memcpy(&element, g.b + 2 * from, 2);
        machine.store(thread, to + tile.offset(line, i / 8) + i % 8 * 2, element);
      }
      return;
    }
    const int bytes = of_a ? kBytesOfA<Kernel> : kBytesOfB<Kernel>;
    const std::uint8_t* const from =
        of_a ? g.a + (machine.block_y() * kTile + line) * Kernel::pitch_of_a(bytes) : g.b + column * bytes;
    for (int chunk = 0; chunk < tile.chunks(); ++chunk) {
      const int at = stage * tile.row_bytes + chunk * 16;
      if (at < bytes) {
        machine.copy(thread, to + tile.offset(line, chunk), from + at);
      } else if (Kernel::kPads) {
        machine.clear(thread, to + tile.offset(line, chunk));
      }
    }
  });
}

/// Instruction `kStep` of stage `stage` of K, which stands at `place`.
template <class Kernel, int kStep, class Machine, class Threads>
SPTC_KERNEL_CODE void multiply(Machine& machine, Threads& threads, Memory& g, int stage, int place) {
  using Shared = Stage<Kernel>;
  constexpr int kRegistersOfB = Shared::kRegistersOfB;
  const int shared = place * Shared::kBytes;
  for (int i = 0; i < 2; ++i) {
    machine.template ldmatrix<false>(
        threads,
        [&](int thread) {
          const SwizzledTile tile = Shared::kA;
          const LdmatrixPlace from = Kernel::place_of_a(thread % kWarp);
          const int row = warp_row(thread) + 16 * i + from.row;
          return shared + tile.offset(row, 2 * kStep + from.chunk);
        },
        [&](auto& lane, int matrix) -> std::uint32_t& { return lane.a[i][matrix]; });
  }
  // One ldmatrix brings two fragments of B of a dense instruction, one of a sparse.
  for (int j = 0; j < 4; j += 4 / kRegistersOfB) {
    machine.template ldmatrix<Kernel::kTransposesB>(
        threads,
        [&](int thread) {
          const SwizzledTile tile = Shared::kB;
          const LdmatrixPlace from =
              Kernel::kSparse ? ldmatrix_b_sparse(thread % kWarp) : ldmatrix_b_dense(thread % kWarp);
          return shared + Shared::kBytesOfA +
                 tile.offset(warp_column(thread) + 8 * j + from.row, kRegistersOfB * kStep + from.chunk);
        },
        [&](auto& lane, int matrix) -> std::uint32_t& {
          return lane.b[j + matrix / kRegistersOfB][matrix % kRegistersOfB];
        });
  }
  if constexpr (Kernel::kSparse) {
    threads.each([&](int thread, auto& lane) {
      for (int i = 0; i < 2; ++i) {
        const int rows = (machine.block_y() * kTile + warp_row(thread)) / 16 + i;
        lane.metadata[i] = Kernel::metadata(g, rows, stage, kStep, thread % kWarp);
      }
    });
  }
  machine.template mma<Kernel, kStep>(threads);
}

/// The accumulators through the epilogue into D, or into the sums of a slice of K.
template <class Kernel, class Machine, class Threads>
SPTC_KERNEL_CODE void store(Machine& machine, Threads& threads, Memory& g) {
  threads.each([&](int thread, auto& lane) {
    const int lane_row = machine.block_y() * kTile + warp_row(thread) + thread % kWarp / 4;
    const int lane_column = machine.block_x() * kTile + warp_column(thread) + thread % 4 * 2;
    for (int value = 0; value < 2 * 4 * 4; ++value) {
      const int i = value / 16, j = value / 4 % 4, v = value % 4;
      const int column = lane_column + 8 * j + v % 2;
      const int at = (lane_row + 16 * i + v / 2 * 8) * kExtent + column;
      const std::uint32_t word = lane.d[i][j][Kernel::kHalfSums ? v / 2 : v];
      const float sum = machine.float_of_bits(word);
      if constexpr (Kernel::kSlices > 1) {
        g.sums[machine.block_z()][at] = sum;
      } else if constexpr (Kernel::kHalfSums) {
        g.half_d[at] = static_cast<std::uint16_t>(word >> v % 2 * 16);
      } else if constexpr (Kernel::kHalfD) {
        g.half_d[at] = machine.half_of(sum, Kernel::kTowardZero);
      } else {
        g.d[at] = Kernel::finished(g, at, column, sum);
      }
    }
  });
}

/// What one CTA does: the tile of its block, of slice block_z() of K.
template <class Kernel, class Machine>
SPTC_KERNEL_CODE void tile_gemm(Machine& machine, Memory& g) {
  typename Machine::template Threads<Lane<Kernel>> threads;
  constexpr int kRowBytes = Stage<Kernel>::kA.row_bytes;
  constexpr int kAll = (kBytesOfA<Kernel> + kRowBytes - 1) / kRowBytes;
  const int first = kAll / Kernel::kSlices * machine.block_z();
  const int stages = Kernel::stages(kAll / Kernel::kSlices);
  for (int s = 0; s < kPipeline - 1; ++s) {
    fetch<Kernel>(machine, threads, g, first + s, s);
    machine.commit();
  }
  for (int s = 0; s < stages; ++s) {
    // Every iteration commits a group, so all but the newest are those up to stage s.
    machine.template wait<kPipeline - 2>();
    if (Kernel::waits_for_others(s, stages)) {
      machine.barrier();
    }
    const int next = s + kPipeline - 1;
    if (next < stages) {
      fetch<Kernel>(machine, threads, g, Kernel::fetched(first + next, kAll), next % kPipeline);
    }
    if (Kernel::commits(next, stages)) {
      machine.commit();
    }
    multiply<Kernel, 0>(machine, threads, g, first + s, s % kPipeline);
    multiply<Kernel, 1>(machine, threads, g, first + s, s % kPipeline);
  }
  store<Kernel>(machine, threads, g);
}

/// Element `at` of D from the sums of the slices of K.
template <class Kernel>
SPTC_KERNEL_CODE void reduce(Memory& g, int at) {
  float sum = g.sums[Kernel::slice(0)][at];
  for (int i = 1; i < Kernel::slices(); ++i) {
    sum += g.sums[Kernel::slice(i)][at];
  }
  g.d[at] = sum;
}

// wgmma ------------------------------------------------------------------------------------------

/// Registers of a thread of a warpgroup: of 64 x 64 of D.
struct WgmmaLane {
  std::uint32_t d[32] = {};
  float sum[32] = {};  ///< that the accumulators are promoted into
};

/// The same of wgmma: one stage at a time, rows of 128 bytes along K, swizzled.
template <class Kernel, class Machine>
SPTC_KERNEL_CODE void wgmma_gemm(Machine& machine, Memory& g) {
  constexpr int kRowBytes = 128, kB = kTile * kRowBytes;
  typename Machine::template Threads<WgmmaLane> threads;
  const auto promote = [&](auto& lane) {
    SPTC_UNROLL
    for (int i = 0; i < 32; ++i) {
      lane.sum[i] += machine.float_of_bits(lane.d[i]);
      lane.d[i] = 0;
    }
  };
  for (int stage = 0; stage < kBytesOfA<Kernel> / kRowBytes; ++stage) {
    threads.each([&](int thread, auto&) {
      const bool of_a = thread < kTile;
      const int line = thread % kTile;
      const int row = (of_a ? machine.block_y() : machine.block_x()) * kTile + line;
      for (int chunk = 0; chunk < kRowBytes / 16; ++chunk) {
        const int at = of_a ? Kernel::chunk_of_a(line, chunk) : swizzled_chunk(kRowBytes, line, chunk);
        machine.copy(thread, (of_a ? 0 : kB) + line * kRowBytes + at * 16,
                     (of_a ? g.a : g.b) + row * kBytesOfA<Kernel> + stage * kRowBytes + chunk * 16);
      }
    });
    machine.commit();
    machine.template wait<0>();
    machine.fence();
    machine.barrier();
    machine.template wgmma<Kernel>(threads, 0, kB);
    if constexpr (Kernel::kPromotes) {
      threads.each([&](int thread, auto& lane) {
        if (Kernel::promotes(thread / kWarp)) {
          promote(lane);
        }
      });
    }
    machine.barrier();
  }
  threads.each([&](int thread, auto& lane) {
    promote(lane);
    const int row = machine.block_y() * kTile + thread / kWarp * 16 + thread % kWarp / 4;
    const int column = machine.block_x() * kTile + thread % 4 * 2;
    for (int i = 0; i < 32; ++i) {
      const int j = i / 4, v = i % 4;
      g.d[(row + v / 2 * 8) * kExtent + column + 8 * j + v % 2] = lane.sum[i];
    }
  });
}

/// Computes D in `memory` on the GPU, gallery.cu. Throws std::runtime_error.
template <class Kernel>
void run_on_gpu(Memory& memory);

/// The architecture whose arithmetic the GPU has, "A100" or "H100"; empty: no GPU of these.
const char* gpu_architecture();

}  // namespace sptc::hardware::broken
