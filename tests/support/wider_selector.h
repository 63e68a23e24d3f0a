// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/kernels/gemm_problem.h"

#include <string_view>
#include <utility>

namespace sptc::support {

struct Selecting {
  gpu::GpuSpec gpu;
  kernels::GemmProblem problem;
};

/// A GEMM of f16 at `pattern` on `gpu` with a metadata port of `port_bytes` a cycle: where a
/// selector reaches the whole group, and where there is that of 2:4 alone.
inline std::pair<Selecting, Selecting> with_selector_and_without(gpu::GpuSpec gpu,
                                                                 std::string_view pattern,
                                                                 double port_bytes,
                                                                 const base::GemmShape& shape) {
  const sparsity::WeightPattern weights = sparsity::parse_weight_pattern(pattern);
  const auto on = [&](const sparsity::SelectorWidth& selector) {
    const numerics::DataType type = numerics::DataType::kF16;
    const sparsity::PatternExecution how = sparsity::pattern_execution(weights, type, selector);
    kernels::GemmProblem problem{shape, 1, type, true};
    problem.shape.k = how.executed_k(shape.k);
    problem.source_k = base::round_up(shape.k, how.group);
    if (how.instruction != sparsity::hardware_pattern(type)) {
      problem.pattern = how.instruction;
    }
    gpu.sm.tensor_core.selector_inputs = selector.inputs;
    gpu.sm.tensor_core.metadata_port_bytes_per_cycle = port_bytes;
    return Selecting{gpu, problem};
  };
  return {on({weights.pattern.group, 2}), on({})};
}

}  // namespace sptc::support
