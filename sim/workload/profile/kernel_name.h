// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"

#include <optional>
#include <string>
#include <string_view>

namespace sptc::workload::profile {

/// What the name of a GPU kernel says. Fields that it does not say are empty or 0.
struct KernelName {
  enum class Unit { kTensorCore, kSimt, kGemv, kHelper };

  std::string library;     ///< "cutlass", "cublas", "nvjet", "xmma", "cudnn", "magma"
  std::string generation;  ///< "sm80"; of SIMT kernels by their family: "volta", "ampere"
  Unit unit = Unit::kTensorCore;
  std::string operation = "gemm";  ///< gemm, fprop, dgrad, wgrad, gemv; of helpers what they do
  std::string a_type, d_type, accumulator;  ///< "f16", "bf16", "tf32", ..
  base::GemmShape tile{};                   ///< k 0: not said
  base::GemmShape mma{};
  int stages = 0;
  int cluster_m = 0, cluster_n = 0;
  bool sparse = false;
  bool split_k = false;
  std::string transposes;  ///< "tn": of A and B

  bool is_gemm() const { return unit == Unit::kTensorCore || unit == Unit::kSimt; }
  /// "cutlass sm80 bf16 128x64x64, 6 stages"
  std::string summary() const;
};

/// Decodes the name of a kernel of cuBLAS, cuBLASLt, cuSPARSELt, cuDNN or CUTLASS. Nothing for a
/// name of another kind.
std::optional<KernelName> decode_kernel_name(std::string_view name);

}  // namespace sptc::workload::profile
