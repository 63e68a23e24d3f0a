// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/kernel_library_spec.h"
#include "sim/kernels/kernel_overrides.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::tensor_core {
struct TensorCoreSpec;
}  // namespace sptc::tensor_core

namespace sptc::kernels {

/// How much longer a tensor core takes for the instructions of `kernel` than their products need at
/// the peak rate: 1, or more where a register-file port or bank, the metadata, the selector or the
/// width of a rounding step is in the way. Warpgroups read shared memory, not the ports: 1.
double issue_stretch(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core, std::string_view numerics);

/// Whether the library takes a kernel of 2:4 weights for `problem` without a search, and which one
/// is known.
bool takes_sparse_default(const GemmProblem& problem, const KernelLibrarySpec& library);

/// A kernel of 2:4 weights with its tiles divided by SegmentK; nothing where the library has no
/// such kernel, or would not take it.
std::optional<GemmKernel> segmented(const GemmKernel& kernel, const KernelTarget& target);

/// The tiles of kernels for `problem`: those of the library, or Marlin's for quantised weights.
const std::vector<TileShape>& tiles_for(const GemmProblem& problem, const KernelLibrarySpec& library);

/// Kernels with tiles_for() `problem` that are no larger than it takes, not cut along K,
/// and `reason` why the last one does not fit that does not. With `values`, mma.sync alone.
/// Throws InputError for a type without matrix instruction.
std::vector<GemmKernel> fitting_kernels(const GemmProblem& problem, const KernelOverrides& overrides,
                                        const KernelTarget& target, bool values, std::string& reason);

/// Numbers of slices of K into which `kernel` may be cut, `most` at most: those that are asked for,
/// or those that are worth a CTA each. Values travel through kernels that do not cut K.
std::vector<int> slices_of_k(const GemmKernel& kernel, const KernelOverrides& overrides, int most, bool values);

}  // namespace sptc::kernels
