// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/launch_list.h"
#include "sim/workload/profile/kernel_name.h"

#include <cstddef>
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

  /// Extents of an input; none where there is no such input.
  const std::vector<std::int64_t>& input(std::size_t index) const;
  /// The type of an input as PyTorch calls it; empty where it is not recorded.
  std::string_view type(std::size_t index) const;
  /// All of it in one text: equal calls have the same.
  std::string signature() const;
};

/// Whether `name` is an operation that launches GEMMs itself: mm and not linear, which calls it.
bool is_leaf_gemm(std::string_view name);

/// What `call` launches, one after the other, without time. A is the weight: m = N of PyTorch, n =
/// M of PyTorch. Where the recording does not say enough, `reason` says why. Throws InputError
/// "`place`: ..." where the shapes contradict each other.
std::vector<RecordedLaunch> launches_of(const TorchCall& call, const std::string& place);

/// Decides whether an f32 launch without a kernel's name runs as TF32, and why it is not taken.
void apply_no_kernel(const TorchCall& call, bool tf32, RecordedLaunch& launch);

/// What the kernel says of the launch: whether it ran on tensor cores, and f32 as TF32.
void apply_kernel(const KernelName* kernel, std::string_view name, RecordedLaunch& launch);

/// On what launches_of() took `operations`, a sentence each: which operand is the weight, and how
/// experts share tokens where they are among them.
std::vector<std::string> grounds_of(const std::vector<Operation>& operations);

}  // namespace sptc::workload::profile
