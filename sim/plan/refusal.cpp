// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/refusal.h"

#include "models/mma/catalogue.h"
#include "sim/prune/legality.h"
#include "sim/workload/asp_rule.h"
#include "sim/workload/dense_role.h"

#include <fmt/format.h>

#include <algorithm>

namespace sptc::plan {
namespace {

/// Engines whose 2:4 weights go through PyTorch or cuSPARSELt itself, by the beginning of their
/// names. TensorRT says no more than what the importer of a workload holds weights to.
constexpr std::string_view kOnCusparselt[] = {"gemms", "pytorch", "inductor", "compiled",
                                              "fastertransformer"};
/// In this order: the first that has a rule for the type.
constexpr std::string_view kLibraries[] = {"PyTorch, cuSPARSELt", "PyTorch, CUTLASS"};

}  // namespace

std::string kernel_refusal(const workload::Operation& op, std::string_view engine,
                           const gpu::GpuSpec& gpu) {
  if (gpu.sm.tensor_core.selector_inputs == 1) {
    return gpu.name + " has no sparse instructions";
  }
  if (const std::string_view role = workload::dense_role(op);
      !op.prunable && !role.empty() && workload::asp_eligible(op)) {
    return fmt::format("{}: stays dense by its name (--include prunes it)", role);
  }
  if (!op.prunable) {
    return fmt::format("rows and k, {} x {}, are no multiples of 8 and 16",
                       op.conv ? op.conv->k : op.shape.m,
                       op.conv ? op.conv->c / op.conv->groups : op.shape.k);
  }
  const bool bound = std::any_of(std::begin(kOnCusparselt), std::end(kOnCusparselt),
                                 [&](std::string_view name) { return engine.starts_with(name); });
  if (!bound) {
    return {};
  }
  const std::vector<prune::Legality> rules =
      prune::legality_of({op.name, op.shape.m, op.shape.n, op.shape.k, op.dtype},
                         prune::sm_of(mma::target_of_gpu(gpu.name, gpu.instruction_set)));
  for (const std::string_view library : kLibraries) {
    for (const prune::Legality& legality : rules) {
      if (legality.rule->library == library) {
        return legality.accepts ? "" : fmt::format("{}: {}", library, legality.reason);
      }
    }
  }
  return {};
}

}  // namespace sptc::plan
