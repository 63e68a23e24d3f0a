// SPDX-License-Identifier: Apache-2.0
//
// The part of a mixture of experts that one of several GPUs computes where experts are shared out.
#pragma once

#include "sim/run/network/tensor_parallel.h"

#include <cstdint>
#include <vector>

namespace sptc::run::network {

/// Shares the experts out over `gpus` (Lepikhin et al., GShard, arXiv 2006.16668): each GPU has as
/// many of them, and all other weights. It has `inputs` / `gpus` sequences, whose tokens pass
/// attention, routers, shared experts and dense layers on it alone. Behind the router they are sent
/// to the GPUs of their experts, a copy to each expert, and the results come back: two kernels
/// all_to_all around the experts of a layer.
///
/// Routing is uniform: every expert gets as many tokens, also where the file says shares. Throws
/// InputError where `gpus` does not divide the sequences or the experts, and where there are none.
GpuPart share_out_experts(const std::vector<workload::Operation>& gemms,
                          const std::vector<workload::VectorOperation>& vectors, int gpus, std::int64_t inputs);

}  // namespace sptc::run::network
