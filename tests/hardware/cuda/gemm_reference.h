// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "tests/hardware/capture/gemm_data.h"

#include <cstddef>
#include <cstdint>

namespace sptc::hardware {

/// A GEMM that has been computed: its dense operands and its result, in memory of the GPU.
struct ComputedGemm {
  const std::uint8_t* a = nullptr;  ///< [m][k], with its zeros
  const std::uint8_t* b = nullptr;  ///< [n][k]
  const void* d = nullptr;
  int m = 0, n = 0, k = 0;
  numerics::DataType type = numerics::DataType::kF16, d_type = numerics::DataType::kF32;
  std::size_t row_step = 0, column_step = 0;  ///< of D, in elements
  float s8_scale = 1;                         ///< what sums are multiplied with that become s8
};

/// Up to 2^20 elements all over D against a plain kernel that adds in double precision: the bound
/// is that of check_bound; floats of eight bits saturate, and s8 may be off by one.
GemmCheck check_on_device(const ComputedGemm& gemm);

}  // namespace sptc::hardware
