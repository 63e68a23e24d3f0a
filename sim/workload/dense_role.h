// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

namespace sptc::workload {

/// Whether NVIDIA's ASP would prune A of `op`, were it a weight: filters a multiple of 8, channels,
/// of a convolution those of a group, of 16 (apex/contrib/sparsity/asp.py).
bool asp_eligible(const Operation& op);

/// What the weight called `name`, a tensor of a checkpoint, a node of a graph or an operation, is
/// by its name where such weights stay dense by custom: "head", "embedding", "router", "state
/// matrix", "norm", "bias" or "scale". Empty: nothing speaks against pruning it.
std::string_view dense_role(const std::string& name);

/// Whether the values of the weight are there, and no four neighbours along k, from the first on,
/// have more than two that are not zero.
bool is_two_of_four(const Operation& op);

/// The same of the weight of `op`; empty also where it is 2:4 already, so that nothing is lost.
std::string_view dense_role(const Operation& op);

/// Lets the weights that have a dense_role() stay dense, but for those whose names `include`, a
/// regular expression, has; an empty one has none. Returns the sentence that says which, with the
/// option `include` of the caller; empty where there are none. Throws InputError for no expression.
std::string keep_dense_by_role(const std::string& include, std::vector<Operation>& operations);

}  // namespace sptc::workload
