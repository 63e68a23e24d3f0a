// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"

#include <optional>
#include <string>
#include <vector>

namespace sptc::kernels {

/// One tile of the library as a kernel on a GPU: instruction, stages, registers, occupancy and
/// issue stretch are set; the sizes of `kernel->problem` are those of no GEMM in particular.
struct KernelCandidate {
  std::optional<GemmKernel> kernel;  ///< nothing where the tile does not fit
  std::string misfit;                ///< and why
};

/// The tiles of kernels for `problem`: those of the library, or of quantised weights Marlin's.
const std::vector<TileShape>& tiles_for(const GemmProblem& problem,
                                        const KernelLibrarySpec& library);

/// The kernels of tiles_for(), in that order. Of the sizes of a GEMM they depend on K
/// alone, where it is too short for all stages: the latest ones are kept, and stay valid until this
/// thread calls again. Throws InputError for a type without matrix instruction.
const std::vector<KernelCandidate>& kernel_candidates(const GemmProblem& problem,
                                                      std::optional<int> stages,
                                                      const KernelTarget& target);

}  // namespace sptc::kernels
