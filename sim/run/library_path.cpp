// SPDX-License-Identifier: Apache-2.0
#include "sim/run/library_path.h"

#include "sim/run/estimate.h"
#include "sim/run/run_options.h"

#include <algorithm>

namespace sptc::run {
namespace {

kernels::Algorithm other_than(kernels::Algorithm algorithm) {
  return algorithm == kernels::Algorithm::kBest ? kernels::Algorithm::kHeuristic
                                                : kernels::Algorithm::kBest;
}

std::optional<double> gain_of(const RunResult& result) {
  const auto& inference = result.inference;
  return inference && inference->dense && inference->sparse
             ? std::optional(inference->dense->latency_us / inference->sparse->latency_us)
             : result.totals.speedup;
}

}  // namespace

std::optional<LibraryPath> library_path(const workload::Workload& workload,
                                        const config::Architecture& architecture,
                                        const SimulationOptions& options, const RunResult& result) {
  const bool own_kernels =
      options.pattern || options.kernel.cta_tile || searches_kernels(options, architecture);
  if (!gain_of(result) || own_kernels) {
    return std::nullopt;
  }
  const kernels::KernelLibrarySpec& library = architecture.gpu.kernels;
  LibraryPath path;
  path.layout = options.conditions.layout;
  const std::optional<network::EngineSpec> engine = asked_engine(options);
  path.algorithm = options.sparse_algorithm.value_or(
      engine && !engine->gemms_only ? engine->algorithm : options.conditions.algorithm);
  path.default_known = std::any_of(
      result.operations.begin(), result.operations.end(), [&](const OperationResult& op) {
        return op.sparse && library.sparse_default(op.dtype, path.layout) != nullptr;
      });
  if (!path.default_known) {
    return path;
  }
  SimulationOptions other = options;
  other.sparse_algorithm = other_than(path.algorithm);
  other.what_ifs = false;
  other.check = CheckMode::kNone;
  other.data = "";
  other.save_d = other.save_operands = "";
  other.memory = other.memory_config = "";
  path.other_gain = gain_of(estimate(workload, architecture, other));
  return path;
}

}  // namespace sptc::run
