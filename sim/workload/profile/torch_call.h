// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/launch_list.h"
#include "sim/workload/profile/kernel_name.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload::profile {

/// One call of a PyTorch operation, as profiles record it: per input its extents, strides and type.
/// What is no tensor has no extents.
struct TorchCall {
  std::string name;  ///< "aten::addmm"
  std::vector<std::vector<std::int64_t>> dims, strides;
  std::vector<std::string> types;   ///< "c10::BFloat16"
  std::vector<std::string> values;  ///< of what is no tensor: "[1, 1]"; may be absent

  void clear();
  /// All of it in one text: equal calls have the same.
  std::string signature() const;
};

/// Whether `name` is an operation that launches GEMMs itself: mm and not linear, which calls it.
bool is_leaf_gemm(std::string_view name);

/// What `call` launches, without time. A is the weight: m = N of PyTorch, n = M of PyTorch. Where
/// the recording does not say enough, `reason` says why. Throws InputError "`place`: ..." where the
/// shapes contradict each other.
RecordedLaunch launch_of(const TorchCall& call, const std::string& place);

/// Decides whether an f32 launch without a kernel's name runs as TF32, and why it is not taken.
void apply_no_kernel(const TorchCall& call, bool tf32, RecordedLaunch& launch);

/// What the kernel says of the launch: whether it ran on tensor cores, and f32 as TF32.
void apply_kernel(const KernelName* kernel, std::string_view name, RecordedLaunch& launch);

/// How launch_of() knows which operand is the weight, a sentence.
inline constexpr std::string_view kTorchWeightGround =
    "A is taken for a weight in addmm with a bias, _scaled_mm, sparse operations and convolutions, "
    "and in mm where its second operand is stored as [out, in]; PyTorch's M is n here, its N is m";

}  // namespace sptc::workload::profile
