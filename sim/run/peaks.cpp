// SPDX-License-Identifier: Apache-2.0
#include "sim/run/peaks.h"

#include "models/base/error.h"
#include "models/sparsity/pattern.h"
#include "sim/config/architecture.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/run/estimate.h"
#include "sim/run/run_options.h"

#include <algorithm>
#include <cstdint>

namespace sptc::run {
namespace {

using kernels::OperandFormat;
using numerics::DataType;

constexpr std::int64_t kExtent = 8192;

/// Operands and sums that a board may have. `if_other`: told only where their rate is not that of
/// the same type in the row before.
struct Candidate {
  OperandFormat operands;
  std::optional<DataType> sums = std::nullopt;
  bool if_other = false;
};

constexpr Candidate kCandidates[] = {
    {{DataType::kF16, 0}},
    {{DataType::kF16, 0}, DataType::kF16, true},
    {{DataType::kBf16, 0}},
    {{DataType::kTf32, 0}},
    {{DataType::kS8, 0}},
    {{DataType::kE4m3, 0}},
    {{DataType::kE4m3, 0}, DataType::kF16, true},
    {{DataType::kE4m3, 32}, std::nullopt, true},
    {{DataType::kE2m1, 16}},
    {{DataType::kS4, 0}},
    {{DataType::kF64, 0}},
};

bool multiplies(const gpu::GpuSpec& gpu, const OperandFormat& operands, bool sparse) {
  if (operands.type == DataType::kF64) {
    return !sparse && gpu.sm.tensor_core.f64_multipliers > 0;
  }
  kernels::GemmProblem problem{{1, 1, 1}, 1, operands.type, sparse};
  problem.storage.scale_block = operands.scale_block;
  try {
    gpu::require_selector(problem, gpu);
    gpu::require_instruction(kernels::kernel_instruction(problem, gpu.kernel_target()), gpu);
    return true;
  } catch (const base::InputError&) {
    return false;
  }
}

/// Adds the clocks at which the power limit holds a large GEMM; leaves them away where there is no
/// kernel for it.
void add_clocks(const config::Architecture& architecture, SimulationOptions options, const SimulationHooks& hooks,
                Peak& peak) {
  const DataType type = peak.operands.type;
  if (type == DataType::kF64 || peak.sums != numerics::accumulator_type(type)) {
    return;  // no GEMM kernel has them
  }
  workload::Operation op;
  op.name = "gemm";
  op.shape = {kExtent, kExtent, kExtent};
  op.dtype = type;
  op.storage.scale_block = peak.operands.scale_block;
  op.prunable = peak.sparse_tflops.has_value();
  workload::Workload workload;
  workload.name = "peak";
  workload.operations.push_back(op);
  options.variants = op.prunable ? Variants::kBoth : Variants::kDense;
  try {
    const OperationResult row = estimate(workload, architecture, options, hooks).operations.front();
    if (row.dense) {
      peak.dense_clock_mhz = row.dense->timing.clock_mhz;
    }
    if (row.sparse) {
      peak.sparse_clock_mhz = row.sparse->timing.clock_mhz;
    }
  } catch (const base::InputError&) {
    return;  // a design without a kernel that fits
  }
}

}  // namespace

double peak_macs_per_sm_and_cycle(const gpu::GpuSpec& gpu, const OperandFormat& operands,
                                  std::optional<DataType> sums) {
  if (operands.type == DataType::kF64) {
    return 1.0 * gpu.sm.sub_partitions * gpu.sm.tensor_core.f64_multipliers;
  }
  const DataType accumulators = sums.value_or(numerics::accumulator_type(operands.type));
  return gpu.sm.macs_per_cycle(numerics::storage_bits(operands.type), accumulators, operands.scale_block > 0);
}

double peak_tflops(const gpu::GpuSpec& gpu, const OperandFormat& operands, std::optional<DataType> sums) {
  return 2 * peak_macs_per_sm_and_cycle(gpu, operands, sums) * gpu.sms * gpu.boost_clock_mhz * 1e-6;
}

std::optional<Peak> peak_of(const gpu::GpuSpec& gpu, const OperandFormat& operands, std::optional<DataType> sums) {
  if (!multiplies(gpu, operands, false)) {
    return std::nullopt;
  }
  Peak peak{operands, sums.value_or(numerics::accumulator_type(operands.type)), peak_tflops(gpu, operands, sums)};
  if (multiplies(gpu, operands, true)) {
    const sparsity::Pattern pattern = sparsity::hardware_pattern(operands.type);
    peak.sparse_tflops = peak.dense_tflops * pattern.group / pattern.kept;
  }
  return peak;
}

std::vector<Peak> peaks_of(const gpu::GpuSpec& gpu) {
  std::vector<Peak> peaks;
  for (const Candidate& candidate : kCandidates) {
    const std::optional<Peak> peak = peak_of(gpu, candidate.operands, candidate.sums);
    const auto usual =
        std::ranges::find_if(peaks, [&](const Peak& known) { return known.operands.type == candidate.operands.type; });
    const bool same = usual != peaks.end() && peak && usual->dense_tflops == peak->dense_tflops;
    if (peak && !(candidate.if_other && same)) {
      peaks.push_back(*peak);
    }
  }
  return peaks;
}

BoardPeaks board_peaks(const config::Architecture& architecture) {
  BoardPeaks board{peaks_of(architecture.gpu), architecture.gpu.boost_clock_mhz, {}};
  SimulationOptions options;
  options.fidelity = Fidelity::kAnalytic;
  options.check = CheckMode::kNone;
  options.clock = {ClockChoice::Kind::kLimited};
  options.kernels = KernelsFrom::kLibrary;
  options.what_ifs = false;
  SimulationCaches caches;
  SimulationHooks hooks;
  hooks.caches = &caches;
  try {
    board.power_limit_w = resolved(options, architecture, caches.energies()).power->power_limit_w;
  } catch (const base::InputError&) {
    return board;  // no energies, or none that fit the design
  }
  for (Peak& peak : board.peaks) {
    add_clocks(architecture, options, hooks, peak);
  }
  return board;
}

}  // namespace sptc::run
