// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

namespace sptc::workload {

/// `tokens` by `shares`, whose sum is 1: whole ones, what is left to those that lack most.
std::vector<std::int64_t> tokens_of_experts(std::int64_t tokens, const std::vector<double>& shares);

/// `op` itself, or, where the "expert_shares" of its file say how experts share its n tokens, one
/// operation for those with as many. Throws InputError.
std::vector<Operation> by_experts(const io::JsonObject& object, const Operation& op);

/// Whether the weight of `op` is that of experts: they share its tokens, or its name says so.
bool is_expert(const Operation& op);

}  // namespace sptc::workload
