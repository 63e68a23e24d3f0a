// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/refusal.h"

#include "models/mma/catalogue.h"
#include "sim/prune/legality.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace sptc::plan {
namespace {

/// Engines whose 2:4 weights go through PyTorch or cuSPARSELt itself, by the beginning of their
/// names. TensorRT says no more than what the importer of a workload holds weights to.
constexpr std::string_view kOnCusparselt[] = {"gemms", "pytorch", "inductor", "compiled",
                                              "fastertransformer"};
/// In this order: the first that has a rule for the type.
constexpr std::string_view kLibraries[] = {"PyTorch, cuSPARSELt", "PyTorch, CUTLASS"};

/// 80 of "sm_80", 90 of "sm_90a".
int compute_capability(const gpu::GpuSpec& gpu) {
  const mma::Target& target = mma::target_of_gpu(gpu.name, gpu.instruction_set);
  int sm = 0;
  const std::string_view digits = target.name.substr(target.name.find('_') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), sm);
  return sm;
}

}  // namespace

std::string kernel_refusal(const workload::Operation& op, std::string_view engine,
                           const gpu::GpuSpec& gpu) {
  if (gpu.sm.tensor_core.selector_inputs == 1) {
    return gpu.name + " has no sparse instructions";
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
  const std::vector<prune::Legality> rules = prune::legality_of(
      {op.name, op.shape.m, op.shape.n, op.shape.k, op.dtype}, compute_capability(gpu));
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
