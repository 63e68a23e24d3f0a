// SPDX-License-Identifier: Apache-2.0
//
// Convolutions, and operations that libraries add to PyTorch: vLLM, SGLang, TensorRT-LLM, FBGEMM,
// bitsandbytes, and the templates of Inductor.
#pragma once

#include "sim/workload/profile/torch_call.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sptc::workload::profile {

/// The integers of "[1, 1]"; nothing where it is none.
std::optional<std::vector<std::int64_t>> integers_of(std::string_view text);

/// What a convolution launches whose inputs are x, w, and, where these places say, its padding and
/// stride; dilation and groups follow them.
void read_convolution(const TorchCall& call, std::size_t pad_input, std::size_t stride_input,
                      RecordedLaunch& launch);

/// Whether `name` is a product of such a library whose inputs are known.
bool is_library_product(std::string_view name);

/// Which of its inputs is the first operand.
std::size_t first_of_library_product(std::string_view name);

/// What `call` launches; `launch` has the type of its first operand already. Where the inputs do
/// not tell a GEMM, as of another version of the library, `launch` gets a reason.
void read_library_product(const TorchCall& call, RecordedLaunch& launch);

/// Whether `name` runs the two products of experts, each in a kernel of its own.
bool is_fused_experts(std::string_view name);

/// The launches of such a call, in their order.
std::vector<RecordedLaunch> read_fused_experts(const TorchCall& call);

/// The type of input `index` as PyTorch calls it: "c10::Half"; empty where it is not recorded.
std::string_view type_of(const TorchCall& call, std::size_t index);

}  // namespace sptc::workload::profile
