// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sptc::workload::profile {

/// What the name of a GPU kernel says of its operands. Types that it does not say are empty.
struct KernelName {
  enum class Unit { kTensorCore, kSimt, kGemv, kHelper };

  Unit unit = Unit::kTensorCore;
  std::string a_type, d_type;  ///< "f16", "bf16", "tf32", ..
  bool sparse = false;

  bool is_gemm() const { return unit == Unit::kTensorCore || unit == Unit::kSimt; }
};

/// Decodes the name of a kernel of cuBLAS, cuBLASLt, cuSPARSELt, cuDNN or CUTLASS. Nothing for a
/// name of another kind.
std::optional<KernelName> decode_kernel_name(std::string_view name);

}  // namespace sptc::workload::profile
