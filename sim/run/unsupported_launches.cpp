// SPDX-License-Identifier: Apache-2.0
#include "sim/run/unsupported_launches.h"

#include "models/base/error.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/io/text_file.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/run/asked_types.h"
#include "sim/run/run_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sptc::run {
namespace {

std::string type_text(const workload::Operation& op) {
  if (op.storage.block_scaled()) {
    return op.dtype == numerics::DataType::kE2m1 ? "nvfp4" : "mxfp8";
  }
  return std::string(numerics::name(op.dtype));
}

/// Whether the tensor cores of `gpu` multiply the operands of `op`, with the types that `options`
/// ask for.
bool multiplies(const gpu::GpuSpec& gpu, const SimulationOptions& options, workload::Operation op) {
  set_asked_type(options, op);
  kernels::GemmProblem problem{op.shape, op.batch, op.dtype};
  problem.storage = op.storage;
  try {
    gpu::require_instruction(kernels::kernel_instruction(problem, gpu.kernel_target()), gpu);
    return true;
  } catch (const base::InputError&) {
    return false;
  }
}

}  // namespace

void leave_unsupported(const gpu::GpuSpec& gpu, const SimulationOptions& options,
                       workload::Workload& workload) {
  if (workload.source.empty()) {
    return;
  }
  const std::size_t first = workload.not_taken.size();
  std::vector<workload::Operation> taken;
  std::vector<std::size_t> taken_before{0};
  for (workload::Operation& op : workload.operations) {
    const bool executed = multiplies(gpu, options, op);
    taken_before.push_back(taken_before.back() + (executed ? 1 : 0));
    if (executed) {
      taken.push_back(std::move(op));
      continue;
    }
    workload::Operation asked = op;
    set_asked_type(options, asked);
    workload.not_taken.push_back(
        {op.name, op.shape, op.batch, type_text(asked), op.count, op.recorded.time_us,
         fmt::format("the tensor cores of {} multiply no {}", gpu.name, type_text(asked))});
  }
  workload.operations = std::move(taken);
  for (workload::VectorOperation& op : workload.vectors) {
    op.after = taken_before[op.after];
  }
  if (workload.operations.empty()) {
    throw base::InputError(fmt::format("{}: no launch can be simulated on {}; the first: {}",
                                       io::printable(workload.file.string()), gpu.name,
                                       workload.not_taken[first].reason));
  }
}

std::optional<workload::Workload> without_unsupported(const gpu::GpuSpec& gpu,
                                                      const SimulationOptions& options,
                                                      const workload::Workload& workload) {
  const auto is_left = [&](const workload::Operation& op) { return !multiplies(gpu, options, op); };
  if (workload.source.empty() ||
      std::none_of(workload.operations.begin(), workload.operations.end(), is_left)) {
    return std::nullopt;
  }
  workload::Workload result = workload;
  leave_unsupported(gpu, options, result);
  return result;
}

void require_all_launches(const RunResult& result) {
  if (!result.left_out.empty()) {
    throw base::InputError(result.left_out);
  }
}

}  // namespace sptc::run
