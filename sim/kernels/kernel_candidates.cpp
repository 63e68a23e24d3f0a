// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_candidates.h"

#include "models/mma/stages.h"
#include "models/mma/step_rules.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/hardware/tensor_core/issue_interval.h"
#include "sim/hardware/tensor_core/register_banks.h"
#include "sim/kernels/kernel_target.h"
#include "sim/kernels/launch_spec.h"
#include "sim/kernels/register_allocation.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <type_traits>
#include <utility>

namespace sptc::kernels {
namespace {

double peak_bytes(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core) {
  const mma::MmaInstruction& instruction = kernel.instruction;
  return double{1} * core.units(instruction.accumulator, instruction.scales.has_value()) * core.dot_width_bytes;
}

/// The instruction on the fragment of A in the first row of a warp tile, and that of B in column
/// `col` of two.
isa::WarpInstruction issued_by(const GemmKernel& kernel, int col) {
  const RegisterAllocation registers(kernel.instruction, 1, 2);
  isa::WarpInstruction issued;
  issued.a = registers.a(0, 0);
  issued.b = registers.b(0, col);
  issued.c = registers.accumulator(0, col);
  issued.metadata = registers.metadata(0, 0);
  return issued;
}

/// Cycles in which the busiest register bank reads an instruction at the least: behind one of the
/// same warp on the same fragment of A. How often another warp comes between only the model knows.
double bank_cycles(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core) {
  tensor_core::RegisterBanks banks(core);
  const isa::WarpInstruction before = issued_by(kernel, 0);
  banks.keep(banks.demand(0, before));
  const isa::WarpInstruction issued = issued_by(kernel, 1);
  return static_cast<double>(banks.demand(0, issued).most_of_a_bank()) * static_cast<double>(isa::kRegisterBytes) /
         core.register_bank_bytes_per_cycle;
}

/// Cycles of an instruction of `kernel` that its products need at the peak rate.
double peak_cycles(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core) {
  const mma::MmaInstruction& instruction = kernel.instruction;
  const double operands = static_cast<double>(instruction.macs()) * numerics::storage_bits(instruction.a_type) / 8;
  return operands / peak_bytes(kernel, core);
}

/// The arguments that fitted_kernel() and issue_stretch() look at, but for K.
auto question_of(const GemmProblem& problem, std::optional<int> stages, const KernelTarget& target) {
  return std::tuple(problem.dtype, problem.sparse, problem.storage, problem.pattern, problem.vector_rows, stages,
                    target.sm, std::string(target.instruction_set), std::string(target.numerics),
                    tiles_for(problem, target.library), target.launch.cluster_ctas,
                    target.library.swizzle_for(problem.sparse), target.library.f16_reduction_scheme,
                    target.library.accumulation_for(problem.conditions));
}

using Question =
    std::invoke_result_t<decltype(question_of), const GemmProblem&, std::optional<int>, const KernelTarget&>;

/// One tile of the library as a kernel on a GPU: instruction, stages, registers, occupancy and
/// issue stretch are set; the sizes of `kernel->problem` are those of no GEMM in particular.
struct KernelCandidate {
  std::optional<GemmKernel> kernel;  ///< nothing where the tile does not fit
  std::string misfit;                ///< and why
};

/// An answer, and what it answers.
struct KeptCandidates {
  Question question;
  std::int64_t k;       ///< of the problem
  std::int64_t long_k;  ///< from which on there are as many k-tiles as stages, or more
  std::vector<KernelCandidate> candidates;
};

std::vector<KernelCandidate> fit(const GemmProblem& problem, std::optional<int> stages, const KernelTarget& target) {
  KernelOverrides overrides;
  overrides.stages = stages;
  std::vector<KernelCandidate> candidates;
  std::optional<double> stretch;  // all of mma.sync are made of one instruction
  for (const TileShape& tile : tiles_for(problem, target.library)) {
    KernelCandidate candidate;
    candidate.kernel = fitted_kernel(problem, tile, overrides, target, candidate.misfit);
    if (candidate.kernel && !candidate.kernel->executed.is_asynchronous()) {
      if (!stretch) {
        stretch = issue_stretch(*candidate.kernel, target.sm.tensor_core, target.numerics);
      }
      candidate.kernel->issue_stretch = *stretch;
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::int64_t long_k(const std::vector<KernelCandidate>& candidates) {
  std::int64_t deepest = 1;
  for (const KernelCandidate& candidate : candidates) {
    deepest = std::max(deepest, candidate.kernel ? candidate.kernel->cta_tile.k : 1);
  }
  return kMostStages * deepest;
}

/// The kernels of tiles_for(), in that order. Of the sizes of a GEMM they depend on K
/// alone, where it is too short for all stages: the latest ones are kept, and stay valid until this
/// thread calls again.
const std::vector<KernelCandidate>& kernel_candidates(const GemmProblem& problem, std::optional<int> stages,
                                                      const KernelTarget& target) {
  constexpr std::size_t kMostKept = 32;
  thread_local std::vector<KeptCandidates> kept;
  Question question = question_of(problem, stages, target);
  const std::int64_t k = problem.shape.k;
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const KeptCandidates& known) {
    return std::min(known.k, known.long_k) == std::min(k, known.long_k) && known.question == question;
  });
  if (found != kept.end()) {
    return found->candidates;
  }
  std::vector<KernelCandidate> candidates = fit(problem, stages, target);
  if (kept.size() == kMostKept) {
    kept.erase(kept.begin());
  }
  kept.push_back({std::move(question), k, long_k(candidates), std::move(candidates)});
  return kept.back().candidates;
}

// Slices of K that libraries try.
constexpr std::array kSplits{2, 3, 4, 5, 6, 8, 10, 12, 16};
// A slice shorter than this is not worth a CTA.
constexpr std::int64_t kShortestSlice = 256;

int rows(const TileShape& tile) {
  return tile.cta_m * tile.cta_group;
}

int columns(const TileShape& tile) {
  return tile.cta_n;
}

/// The smallest extent among the tiles of `family` for `problem` that covers `extent`, or the
/// largest of all.
int covering_extent(std::int64_t extent, int (*side)(const TileShape&), mma::MmaFamily family,
                    const GemmProblem& problem, const std::vector<TileShape>& tiles) {
  int covering = 0;
  for (const TileShape& candidate : tiles) {
    if (candidate.family != family || !candidate.is_for(problem.dtype)) {
      continue;
    }
    const int size = side(candidate);
    const bool better = covering < extent ? size > covering : size >= extent && size < covering;
    covering = better ? size : covering;
  }
  return covering;
}

}  // namespace

double issue_stretch(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core, std::string_view numerics) {
  const mma::MmaInstruction& instruction = kernel.instruction;
  if (kernel.executed.is_asynchronous() || !mma::find_step_rules(numerics, instruction)) {
    return 1;
  }
  const mma::StepContext context = tensor_core::timed_context(core, numerics, instruction);
  const double interval =
      std::max(tensor_core::issue_interval(core, context, issued_by(kernel, 0)), bank_cycles(kernel, core));
  const double of_selector = peak_bytes(kernel, core) / core.selector_bytes_per_cycle;
  return std::max({1.0, of_selector, interval / peak_cycles(kernel, core)});
}

bool takes_sparse_default(const GemmProblem& problem, const KernelLibrarySpec& library) {
  const LaunchConditions& conditions = problem.conditions;
  return problem.sparse && !problem.storage.weight && conditions.algorithm == Algorithm::kHeuristic &&
         library.sparse_default(problem.dtype, conditions.layout) != nullptr;
}

std::optional<GemmKernel> segmented(const GemmKernel& kernel, const KernelTarget& target) {
  const SegmentK& rule = target.library.segment_k;
  const std::int64_t places = target.sms * kernel.ctas_per_sm;
  const std::int64_t tiles = kernel.ctas(), k = kernel.problem.shape.k;
  if (rule.least_k == 0 || !kernel.problem.sparse || kernel.split_k > 1) {
    return std::nullopt;
  }
  const int least_k = numerics::storage_bits(kernel.problem.dtype) > 8 ? rule.least_k_of_16_bits : rule.least_k;
  const std::int64_t last = tiles % places;
  int parts = tiles > places ? 0 : 1;
  while (parts > 0 && 2 * parts * tiles <= places && k >= 2 * parts * least_k) {
    parts *= 2;
  }
  const bool poor_round =
      tiles > places && last > 0 && k >= least_k && 100 * last < rule.most_of_last_round_percent * places;
  if (!poor_round && parts <= 1) {
    return std::nullopt;
  }
  GemmKernel result = kernel;
  result.decomposition = Decomposition::kStreamK;
  result.parts_of_tile = parts;
  result.sum_bytes_per_cycle = rule.sum_bytes_per_cycle;
  return result;
}

const std::vector<TileShape>& tiles_for(const GemmProblem& problem, const KernelLibrarySpec& library) {
  // Marlin's: a CTA of 128 or 256 rows of the weight and at most 64 tokens (IST-DASLab/marlin,
  // marlin_cuda_kernel.cu, recalled). Those of 16 columns stand for its smallest.
  static const std::vector<TileShape> kOfQuantisedWeights{{256, 64, 64, 64}, {128, 64, 32, 64}, {256, 32, 64, 32},
                                                          {128, 32, 32, 32}, {256, 16, 64, 16}, {128, 16, 32, 16}};
  const LaunchConditions& conditions = problem.conditions;
  if (takes_sparse_default(problem, library)) {
    return library.sparse_default(problem.dtype, conditions.layout)->tile;
  }
  return problem.storage.weight ? kOfQuantisedWeights
                                : library.tiles_for(problem.sparse, problem.is_integer(), conditions.algorithm);
}

std::vector<GemmKernel> fitting_kernels(const GemmProblem& problem, const KernelOverrides& overrides,
                                        const KernelTarget& target, bool values, std::string& reason) {
  const std::vector<KernelCandidate>& candidates = kernel_candidates(problem, overrides.stages, target);
  const std::vector<TileShape>& tiles = tiles_for(problem, target.library);
  // A tile twice as high or wide as one that covers the GEMM would only add padding.
  std::map<mma::MmaFamily, std::pair<int, int>> least;
  for (const TileShape& tile : tiles) {
    if (!least.contains(tile.family)) {
      least[tile.family] = {covering_extent(problem.shape.m, rows, tile.family, problem, tiles),
                            covering_extent(problem.shape.n, columns, tile.family, problem, tiles)};
    }
  }
  std::vector<GemmKernel> fitting;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const TileShape& tile = tiles[i];
    if (!tile.is_for(problem.dtype)) {
      continue;
    }
    const auto& [least_m, least_n] = least.at(tile.family);
    if (rows(tile) >= 2 * least_m || columns(tile) >= 2 * least_n) {
      continue;
    }
    if (values && tile.family != mma::MmaFamily::kMma && target.sm.has(tile.family)) {
      continue;
    }
    if (!candidates[i].kernel) {
      reason = candidates[i].misfit;
      continue;
    }
    GemmKernel& kernel = fitting.emplace_back(*candidates[i].kernel);
    kernel.problem = tile.transposed ? problem.turned() : problem;
    kernel.decomposition = overrides.decomposition.value_or(Decomposition::kDataParallel);
  }
  return fitting;
}

std::vector<int> slices_of_k(const GemmKernel& kernel, const KernelOverrides& overrides, int most, bool values) {
  const std::int64_t k_tiles = kernel.all_k_tiles();
  if (overrides.split_k) {
    return *overrides.split_k <= k_tiles ? std::vector{*overrides.split_k} : std::vector<int>();
  }
  std::vector<int> slices{1};
  if (values || overrides.decomposition) {
    return slices;
  }
  for (const int split : kSplits) {
    if (split <= most && split <= k_tiles && kernel.problem.shape.k / split >= kShortestSlice) {
      slices.push_back(split);
    }
  }
  return slices;
}

}  // namespace sptc::kernels
