// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::kernels {

/// How a launch cuts a GEMM into CTAs, in CUTLASS's words; slices of K ("split-K") go with the
/// first.
enum class Decomposition {
  kDataParallel,  ///< an output tile, or a slice of it, is the work of one CTA
  kStreamK,       ///< all CTAs have as many k-tiles, whichever output tiles those belong to
};

/// The type in which the partial sums of split-K pass memory, in cuBLAS's words.
enum class ReductionScheme {
  kComputeType,  ///< that of the accumulators
  kOutputType,   ///< that of D
};

}  // namespace sptc::kernels
