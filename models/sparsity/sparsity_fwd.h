// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::sparsity {

struct PatternExecution;
struct WeightPattern;

}  // namespace sptc::sparsity
