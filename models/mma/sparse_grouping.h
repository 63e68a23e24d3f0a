// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::mma {

/// What a step of a sparse instruction counts. Measured on H100, H200 and B200: kCompressed.
enum class SparseGrouping {
  kCompressed,  ///< hypothesis H1: L elements of A as stored, the width of the dense step
  kLogical,     ///< hypothesis H2: L logical k, hence L/2 products
};

}  // namespace sptc::mma
