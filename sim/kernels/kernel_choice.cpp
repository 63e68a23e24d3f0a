// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_choice.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"
#include "sim/kernels/kernel_candidates.h"
#include "sim/kernels/kernel_estimate.h"
#include "sim/kernels/kernel_library_spec.h"
#include "sim/kernels/kernel_search.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace sptc::kernels {
namespace {

/// The time of an estimate, `us`, with the bytes that are counted.
double counted_us(const GemmKernel& kernel, const KernelEstimate& form, double us, const KernelTarget& target) {
  return target.counted_dram_us == nullptr
             ? us
             : std::max(us, target.counted_dram_us(kernel, target) - form.drained_us() + form.outside_us());
}

/// The kernels of a library, weighed at a fixed clock. A bound of each comes first, and none is
/// looked at closer than it takes to see that another one is chosen.
class Choice {
 public:
  /// `all_stages`: kernels with all stages that they may have, instead of a number that is asked
  /// for.
  Choice(const KernelTarget& target, Algorithm algorithm, bool all_stages)
      : target_(target), by_heuristic_(algorithm == Algorithm::kHeuristic), all_stages_(all_stages) {}

  /// Adds `uncut`, which stays where it is, cut along K.
  void add(const GemmKernel& uncut, int slices) {
    Weighed& one = kernels_.emplace_back(Weighed{&uncut, slices});
    one.us = one.weight = least_us(kernel_of(one), target_);
  }

  /// The fastest; of several that are as good, the one that was added first.
  std::optional<GemmKernel> best() {
    if (kernels_.empty()) {
      return std::nullopt;
    }
    const Weighed& fastest = find_fastest();
    return kernel_of(by_heuristic_ ? find_lightest(kMostLost * fastest.us) : fastest);
  }

 private:
  /// The loss of a heuristic at the most, as fitted to the GPU that it is for. Of the GEMMs of
  /// Vidur's profiles 3 to 10 % are a tenth slower than larger ones of the same library.
  static constexpr double kMostLost = 1.1;

  /// Each takes longer to find than the one before.
  enum class Known { kBound, kForm, kBytes };
  struct Weighed {
    const GemmKernel* uncut;
    int slices;
    double us = 0;  ///< in closed form, or a bound of it: with the bytes that are counted, none less
    /// The key by which a heuristic takes the least of those that are fast enough, or a bound of
    /// it: an estimate without DRAM, since it knows tiles and rounds, not what the L2 keeps.
    double weight = 0;
    Known known = Known::kBound;
    KernelEstimate form{};
  };

  GemmKernel kernel_of(const Weighed& one) const {
    GemmKernel kernel = *one.uncut;
    kernel.cut_k(one.slices);
    if (all_stages_) {
      use_all_stages(kernel, target_);
    }
    return kernel;
  }

  void look_closer(Weighed& one) {
    if (one.known == Known::kBound) {
      one.form = estimate(kernel_of(one), target_);
      one.us = one.form.time_us(1);
      one.weight = by_heuristic_ ? one.form.without_dram().time_us(1) : one.us;
      one.known = Known::kForm;
    } else {
      one.us = counted_us(kernel_of(one), one.form, one.us, target_);
      one.known = Known::kBytes;
    }
  }

  /// The kernels, to be taken in the order of the least of `key`.
  auto queue_by(double Weighed::*key) {
    const auto later = [key](const Weighed* a, const Weighed* b) {
      return a->*key != b->*key ? a->*key > b->*key : a > b;
    };
    std::vector<Weighed*> all;
    for (Weighed& one : kernels_) {
      all.push_back(&one);
    }
    return std::priority_queue(later, std::move(all));
  }

  const Weighed& find_fastest() {
    auto queue = queue_by(&Weighed::us);
    while (queue.top()->known < Known::kBytes) {
      Weighed* const one = queue.top();
      queue.pop();
      look_closer(*one);
      queue.push(one);
    }
    return *queue.top();
  }

  /// The lightest of those that take no longer than `most_us`.
  const Weighed& find_lightest(double most_us) {
    auto queue = queue_by(&Weighed::weight);
    while (true) {
      Weighed* const one = queue.top();
      queue.pop();
      if (one->known == Known::kBound) {
        look_closer(*one);
        queue.push(one);
        continue;
      }
      if (one->us <= most_us && one->known == Known::kForm) {
        look_closer(*one);
      }
      if (one->us <= most_us) {
        return *one;
      }
    }
  }

  const KernelTarget& target_;
  bool by_heuristic_, all_stages_;
  std::vector<Weighed> kernels_;
};

/// What the user asks for of how the chosen kernel cuts the GEMM.
void check_cut(const KernelOverrides& overrides, bool values) {
  const auto check = [](const std::string& what, std::optional<int> value, int most) {
    if (value && (*value < 1 || *value > most)) {
      throw base::InputError(what + std::to_string(*value) + " is not in 1.." + std::to_string(most));
    }
  };
  check("stages ", overrides.stages, kMaxStages);
  check("split-k ", overrides.split_k, kMaxSplitK);
  const bool stream_k = overrides.decomposition == Decomposition::kStreamK;
  const int slices = overrides.split_k.value_or(1);
  if (stream_k && slices > 1) {
    throw base::InputError("a stream-K kernel cuts K by itself: leave split-k " + std::to_string(slices) + " out");
  }
  if (values && (stream_k || slices > 1)) {
    throw base::InputError(std::string("--fidelity datapath computes no kernels that cut K: use ") +
                           (stream_k ? "stream-K" : "split-k") + " with --fidelity timing or analytic");
  }
}

/// The kernel with one of `tiles` that has these rows and columns, and `fits`, if one has: of
/// several, whose instructions run on one SM or a pair, the fastest one.
template <typename Fits>
std::optional<GemmKernel> kernel_among(const std::vector<TileShape>& tiles, const GemmProblem& problem,
                                       const KernelOverrides& overrides, const KernelTarget& target, bool values,
                                       const Fits& fits) {
  std::string reason;
  std::optional<GemmKernel> best;
  for (const TileShape& tile : tiles) {
    if (tile.cta_m != overrides.cta_tile->m || tile.cta_n != overrides.cta_tile->n ||
        overrides.cta_group.value_or(tile.cta_group) != tile.cta_group) {
      continue;
    }
    const auto kernel = fitted_kernel(problem, tile, overrides, target, reason);
    const bool in_vain = tile.cta_group > 1 && problem.shape.m <= tile.cta_m;
    const bool asked = kernel && (kernel->executed.family == overrides.family || !overrides.family ||
                                  !target.sm.has(*overrides.family));
    if (asked && !in_vain && fits(*kernel) && !(values && kernel->executed.is_asynchronous()) &&
        (!best || closed_form_us(*kernel, target) < closed_form_us(*best, target))) {
      best = kernel;
    }
  }
  return best;
}

/// The same of the library: of those that it takes by default, else of those that a search finds.
template <typename Fits>
std::optional<GemmKernel> library_kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                                         const KernelTarget& target, bool values, const Fits& fits) {
  GemmProblem searched = problem;
  searched.conditions.algorithm = Algorithm::kBest;
  const std::vector<TileShape>& tiles = tiles_for(problem, target.library);
  const std::vector<TileShape>& all = tiles_for(searched, target.library);
  const auto known = kernel_among(tiles, problem, overrides, target, values, fits);
  return known || &tiles == &all ? known : kernel_among(all, problem, overrides, target, values, fits);
}

/// The kernel with the tile of `overrides`: of the library where it has one, else of mma.sync.
GemmKernel kernel_as_asked(const GemmProblem& problem, const KernelOverrides& overrides, const KernelTarget& target,
                           bool values) {
  const auto known = library_kernel(problem, overrides, target, values, [&](const GemmKernel& kernel) {
    return kernel.problem.as_asked(kernel.cta_tile) == *overrides.cta_tile;
  });
  return known ? *known : forced_kernel(problem, overrides, target);
}

/// The same where the tile stands for a pair of kernels: its k may be that of the other one. An
/// asynchronous kernel has one depth, which fills the swizzle of a copy; those of mma.sync take
/// any depth that their instruction divides, and the sparse one is as deep as asked if it can.
GemmKernel kernel_of_pair(const GemmProblem& problem, const KernelOverrides& overrides, const KernelTarget& target,
                          bool values) {
  const mma::MmaInstruction instruction = kernel_instruction(problem, target);
  const std::int64_t asked = overrides.cta_tile->k;
  const sparsity::Pattern pattern = instruction.sparse_pattern();
  const auto asynchronous_of = [&](const auto& has_depth) {
    return library_kernel(problem, overrides, target, values, [&](const GemmKernel& kernel) {
      return kernel.executed.is_asynchronous() && has_depth(kernel);
    });
  };
  auto paired = asynchronous_of([&](const GemmKernel& kernel) { return kernel.cta_tile.k == asked; });
  if (!paired) {
    paired = asynchronous_of([&](const GemmKernel& kernel) {
      const std::int64_t k = kernel.cta_tile.k;
      return problem.sparse ? kernel.compressed_k(k) == asked : k * pattern.group == asked * pattern.kept;
    });
  }
  if (paired) {
    return *paired;
  }
  KernelOverrides deeper = overrides;
  if (problem.sparse && asked % shortest_depth(instruction) != 0) {
    deeper.cta_tile->k = asked * pattern.group / pattern.kept;
  }
  const bool divides = deeper.cta_tile->k % shortest_depth(instruction) == 0;
  return kernel_as_asked(problem, divides ? deeper : overrides, target, values);
}

/// The kernel that `overrides` names by its tile.
GemmKernel named_kernel(const GemmProblem& problem, const KernelOverrides& overrides, const KernelTarget& target,
                        bool values) {
  GemmKernel kernel = overrides.tile_of_pair ? kernel_of_pair(problem, overrides, target, values)
                                             : kernel_as_asked(problem, overrides, target, values);
  require_slices(overrides, problem, kernel.all_k_tiles());
  cut_as_asked(kernel, overrides, target);
  if (!overrides.stages) {
    use_all_stages(kernel, target);
  }
  return kernel;
}

/// The kernels of 2:4 weights among `kernels` that segment K, where the library has such; with them
/// what they are made of, where the library does not segment K by rule (`default_kernels`).
std::vector<GemmKernel> with_segment_k(std::vector<GemmKernel> kernels, const KernelOverrides& overrides,
                                       const KernelTarget& target, bool values, bool default_kernels) {
  if (values || overrides.split_k || overrides.decomposition) {
    return kernels;
  }
  std::vector<GemmKernel> others;
  for (GemmKernel& kernel : kernels) {
    if (const std::optional<GemmKernel> other = segmented(kernel, target)) {
      (default_kernels ? kernel : others.emplace_back()) = *other;
    }
  }
  kernels.insert(kernels.end(), others.begin(), others.end());
  return kernels;
}

}  // namespace

void require_slices(const KernelOverrides& overrides, const GemmProblem& problem, std::int64_t most) {
  if (overrides.split_k.value_or(1) > most) {
    const base::GemmShape& shape = problem.shape;
    throw base::InputError("split-k " + std::to_string(*overrides.split_k) + " is not in 1.." + std::to_string(most) +
                           ": a slice of K has a k-tile at least, and " + std::to_string(shape.m) + " x " +
                           std::to_string(shape.n) + " x " + std::to_string(shape.k) +
                           (problem.sparse ? ", sparse," : ", dense,") + " has no more");
  }
}

void refuse_all(const GemmProblem& problem, const KernelOverrides& overrides, const std::vector<GemmKernel>& fitting,
                const std::string& reason) {
  std::int64_t most_slices = 0;
  for (const GemmKernel& kernel : fitting) {
    most_slices = std::max(most_slices, kernel.all_k_tiles());
  }
  if (!fitting.empty()) {
    require_slices(overrides, problem, most_slices);
  }
  throw base::InputError("no GEMM kernel for " + std::string(numerics::name(problem.dtype)) +
                         " fits this SM: the last one " + reason);
}

void cut_as_asked(GemmKernel& kernel, const KernelOverrides& overrides, const KernelTarget& target) {
  kernel.cut_k(overrides.split_k.value_or(1));
  kernel.decomposition = overrides.decomposition.value_or(Decomposition::kDataParallel);
  if (kernel.stream_k()) {
    kernel = segmented(kernel, target).value_or(kernel);
  }
  kernel.issue_stretch = issue_stretch(kernel, target.sm.tensor_core, target.numerics);
}

double closed_form_us(const GemmKernel& kernel, const KernelTarget& target) {
  const KernelEstimate form = estimate(kernel, target);
  return counted_us(kernel, form, form.time_us(1), target);
}

GemmKernel choose_kernel(const GemmProblem& problem, const KernelOverrides& overrides, const KernelTarget& target,
                         bool values) {
  check_cut(overrides, values);
  if (overrides.cta_tile && overrides.search) {
    return found_kernel(problem, overrides, target);
  }
  if (overrides.cta_tile) {
    return named_kernel(problem, overrides, target, values);
  }
  std::string reason;
  Choice choice(target, problem.conditions.algorithm, !overrides.stages);
  // Kernels of quantised weights cut K whatever the library does with sparse ones.
  const bool as_sparse = problem.sparse && !problem.storage.weight;
  const int most_split_k = target.library.most_split_k_for(as_sparse, problem.is_integer());
  const std::vector<GemmKernel> uncut =
      with_segment_k(fitting_kernels(problem, overrides, target, values, reason), overrides, target, values,
                     takes_sparse_default(problem, target.library));
  for (const GemmKernel& kernel : uncut) {
    if (kernel.stream_k()) {
      choice.add(kernel, 1);
      continue;
    }
    for (const int slices : slices_of_k(kernel, overrides, most_split_k, values)) {
      choice.add(kernel, slices);
    }
  }
  const std::optional<GemmKernel> best = choice.best();
  if (!best && uncut.empty() && reason.empty()) {
    // A library whose kernels multiply in shared memory. Values travel through mma.sync, whose
    // kernels run on every generation.
    const std::int64_t depth = shortest_depth(kernel_instruction(problem, target));
    KernelOverrides of_registers = overrides;
    of_registers.cta_tile = base::GemmShape{64, 64, depth};
    return choose_kernel(problem, of_registers, target, values);
  }
  if (!best) {
    refuse_all(problem, overrides, uncut, reason);
  }
  return *best;
}

std::optional<GemmProblem> without_wide_selector(const GemmProblem& problem) {
  const sparsity::Pattern hardware = sparsity::hardware_pattern(problem.dtype);
  if (!problem.sparse || !problem.pattern || problem.vector_rows > 0 ||
      problem.pattern->candidates() < hardware.candidates()) {
    return std::nullopt;
  }
  sparsity::PatternExecution execution;
  try {
    execution = sparsity::pattern_execution({*problem.pattern}, problem.dtype, {});
  } catch (const base::InputError&) {
    return std::nullopt;
  }
  if (execution.instruction == *problem.pattern) {
    return std::nullopt;
  }
  GemmProblem result = problem;
  result.shape.k = execution.executed_k(problem.shape.k);
  result.source_k = base::round_up(problem.shape.k, execution.group);
  result.pattern.reset();
  if (execution.instruction != hardware) {
    result.pattern = execution.instruction;
  }
  return result;
}

std::vector<GemmKernel> candidate_kernels(const GemmProblem& problem, const KernelOverrides& overrides,
                                          const KernelTarget& target, bool values, int most) {
  if (overrides.search && !overrides.cta_tile) {
    check_cut(overrides, values);
    return search_kernels(problem, overrides, target, values, most);
  }
  return {choose_kernel(problem, overrides, target, values)};
}

}  // namespace sptc::kernels
