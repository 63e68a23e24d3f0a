// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/base/units.h"
#include "models/mma/instruction.h"

#include <cstdint>
#include <string_view>

namespace sptc::kernels {

/// The kernel that ran, in CUTLASS terms.
struct KernelResult {
  base::GemmShape cta_tile;  ///< k is logical
  base::GemmShape warp_tile;
  mma::MmaInstruction instruction{};
  int metadata_registers = 0;  ///< that are read for one instruction; 0: dense
  int stages = 0;
  int split_k = 1;
  bool stream_k = false;
  bool persistent = false;
  int cluster_ctas = 1;              ///< 1: no clusters
  int cta_group = 1;                 ///< of them, CTAs that share an instruction
  int swizzle = 1;                   ///< columns of tiles in a group of the rasterisation
  bool searched = false;             ///< among all that fit, not those of a library
  std::int64_t output_tiles = 0;     ///< batch included, slices of K not
  std::int64_t ctas = 0;             ///< that are launched, batch included
  std::int64_t ctas_per_sm = 0;      ///< resident at once
  std::string_view occupancy_limit;  ///< registers, shared memory, warps or CTAs
  base::Bytes carve_out;             ///< of an SM's memory, for shared memory
  std::int64_t waves = 0;            ///< ceil(ctas / (SMs * ctas_per_sm))
  std::int64_t promotions = 0;       ///< of each accumulator: see Fp8Accumulation
  bool transposed = false;           ///< see TileShape
};

/// The kernel of a search that came second.
struct RunnerUp {
  KernelResult kernel;
  double us = 0;  ///< of its launch, as that of the first one is told
};

/// What was simulated of a launch; nothing in closed form.
struct SimulatedCycles {
  bool extrapolated = false;  ///< main loop or rounds of CTAs were carried on
  std::int64_t cycles = 0;    ///< without those that were
};

}  // namespace sptc::kernels
