// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_search.h"

#include "models/base/error.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/kernels/kernel_candidates.h"
#include "sim/kernels/kernel_choice.h"
#include "sim/kernels/kernel_estimate.h"
#include "sim/kernels/kernel_library_spec.h"

#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

namespace sptc::kernels {
namespace {

// Sides of tiles: what CUTLASS's generators make, and beyond.
constexpr std::array kCtaSides{32, 64, 128, 256};
constexpr std::array kWarpSides{32, 64};
constexpr std::array kAsynchronousColumns{16, 32, 64, 96, 128, 160, 192, 256};
constexpr int kMostWarps = 16;
// What fits up to four, and others.
constexpr std::array<std::optional<int>, 5> kStages{std::nullopt, 2, 3, 4, 6};
constexpr std::array kClusters{1, 2, 4};
constexpr std::array kSwizzles{1, 2, 4, 8, 16};
constexpr int kMostSlices = 16;
constexpr int kWarpsOfGroup = mma::kWarpsPerWarpgroup;

void add_registers_tiles(std::vector<TileShape>& tiles) {
  for (const int m : kCtaSides) {
    for (const int n : kCtaSides) {
      for (const int warp_m : kWarpSides) {
        for (const int warp_n : kWarpSides) {
          const int warps = m / warp_m * (n / warp_n);
          if (warp_m <= m && warp_n <= n && warps <= kMostWarps) {
            tiles.push_back({m, n, warp_m, warp_n});
          }
        }
      }
    }
  }
}

void add_asynchronous_tiles(mma::MmaFamily family, std::vector<TileShape>& tiles) {
  const int rows = asynchronous_rows(family);
  const bool in_tensor_memory = family == mma::MmaFamily::kTcgen05;
  for (const int instructions : {1, 2}) {
    for (const int n : kAsynchronousColumns) {
      TileShape tile{rows, n, rows / kWarpsOfGroup, n, family};
      (in_tensor_memory ? tile.cta_group : tile.cta_m) *= instructions;
      tiles.push_back(tile);
    }
  }
}

KernelLibrarySpec everything(const KernelTarget& target) {
  KernelLibrarySpec library = target.library;
  std::vector<TileShape> tiles;
  add_registers_tiles(tiles);
  for (const mma::MmaFamily family : {mma::MmaFamily::kWgmma, mma::MmaFamily::kTcgen05}) {
    if (target.sm.has(family)) {
      add_asynchronous_tiles(family, tiles);
    }
  }
  for (const std::vector<TileShape>* const known :
       {&library.tiles, &library.integer_tiles, &library.integer_best_tiles, &library.sparse_tiles}) {
    for (const TileShape& tile : *known) {
      if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) {
        tiles.push_back(tile);
      }
    }
  }
  library.tiles = std::move(tiles);
  library.integer_tiles.clear();
  library.integer_best_tiles.clear();
  library.sparse_tiles.clear();
  return library;
}

/// CTAs of a cluster: of tcgen05.mma by a pair of SMs, and of mma.sync, one number. What a library
/// has is among them.
std::vector<int> clusters_of(const GemmKernel& kernel) {
  if (!kernel.persistent() || kernel.cta_group > 1) {
    return {kernel.cluster_ctas};
  }
  std::vector<int> clusters(kClusters.begin(), kClusters.end());
  if (std::find(clusters.begin(), clusters.end(), kernel.cluster_ctas) == clusters.end()) {
    clusters.push_back(kernel.cluster_ctas);
  }
  return clusters;
}

/// A kernel of a few thousand, by what tells it from others: it is made where it may be taken.
struct Weighed {
  std::size_t fitted = 0;  ///< place among the kernels that are not cut
  int slices = 1, cluster_ctas = 1, ctas_per_sm = 1;
  double us = 0;  ///< that it takes at the least: without the bytes that are counted
  bool estimated = false;

  /// The order of kernels: of several that take as long, that of the first tile, with the fewest
  /// slices, comes first.
  auto rank() const { return std::tuple(us, estimated, fitted, slices, cluster_ctas, -ctas_per_sm); }
};

struct Ordered {
  GemmKernel kernel;
  double us = 0;  ///< in closed form
};

bool faster(const Ordered& left, const Ordered& right) {
  return left.us < right.us;
}

GemmKernel kernel_of(const Weighed& weighed, const std::vector<GemmKernel>& fitted) {
  GemmKernel kernel = fitted[weighed.fitted];
  if (weighed.ctas_per_sm < kernel.ctas_per_sm) {
    kernel.occupancy_limit = "choice";
  }
  kernel.cut_k(weighed.slices);
  kernel.cluster_ctas = weighed.cluster_ctas;
  kernel.ctas_per_sm = weighed.ctas_per_sm;
  return kernel;
}

std::vector<GemmKernel> fitted_kernels(const GemmProblem& problem, const KernelOverrides& overrides,
                                       const KernelTarget& target, bool values, std::string& reason) {
  std::vector<GemmKernel> result;
  for (const std::optional<int>& stages : kStages) {
    KernelOverrides with_stages = overrides;
    with_stages.stages = overrides.stages ? overrides.stages : stages;
    for (GemmKernel& kernel : fitting_kernels(problem, with_stages, target, values, reason)) {
      const bool numbered = *kStages[1] <= kernel.stages && kernel.stages <= *kStages.back();
      if (with_stages.stages || !numbered) {  // others come by their number
        result.push_back(kernel);
      }
    }
    if (overrides.stages) {
      break;
    }
  }
  return result;
}

/// Each of `fitted` cut along K, in clusters, and with as many CTAs side by side as an SM holds, or
/// fewer: more shared memory than it needs keeps others away. Three and two may take less time than
/// four and one.
std::vector<Weighed> weighed_kernels(const std::vector<GemmKernel>& fitted, const KernelOverrides& overrides,
                                     const KernelTarget& target, bool values) {
  std::vector<Weighed> result;
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    GemmKernel kernel = fitted[i];
    const int most = kernel.ctas_per_sm, least = kernel.tensor_memory() ? most : 1;
    for (const int slices : slices_of_k(kernel, overrides, kMostSlices, values)) {
      kernel.cut_k(slices);
      for (const int cluster : clusters_of(fitted[i])) {
        kernel.cluster_ctas = cluster;
        for (kernel.ctas_per_sm = most; kernel.ctas_per_sm >= least; --kernel.ctas_per_sm) {
          result.push_back({i, slices, cluster, kernel.ctas_per_sm, least_us(kernel, target)});
        }
        kernel.ctas_per_sm = most;
      }
    }
  }
  return result;
}

/// The kernel in the order of tiles in which it takes least.
Ordered in_best_order(const GemmKernel& kernel, double least_us, const KernelTarget& target) {
  Ordered best{kernel, 0};
  best.us = closed_form_us(best.kernel, target);
  for (const int swizzle : kSwizzles) {
    if (best.us <= least_us) {
      break;
    }
    GemmKernel other = best.kernel;
    other.swizzle = swizzle;
    const double us = closed_form_us(other, target);
    if (us < best.us) {
      best = {other, us};
    }
  }
  return best;
}

}  // namespace

std::vector<GemmKernel> search_kernels(const GemmProblem& problem, const KernelOverrides& overrides,
                                       const KernelTarget& target, bool values, int most) {
  const KernelLibrarySpec library = everything(target);
  KernelTarget searched{target.sm,
                        target.memory,
                        library,
                        target.launch,
                        target.sms,
                        target.boost_clock_mhz,
                        target.instruction_set,
                        target.numerics,
                        target.counted_dram_us};
  std::string reason;
  const std::vector<GemmKernel> fitted = fitted_kernels(problem, overrides, searched, values, reason);
  const auto later = [](const Weighed& left, const Weighed& right) { return left.rank() > right.rank(); };
  std::priority_queue kernels(later, weighed_kernels(fitted, overrides, searched, values));
  if (kernels.empty()) {
    refuse_all(problem, overrides, fitted, reason);
  }
  std::vector<Ordered> fastest;
  while (!kernels.empty()) {
    Weighed kernel = kernels.top();
    kernels.pop();
    const bool full = fastest.size() == static_cast<std::size_t>(most);
    if (full && kernel.us >= fastest.back().us) {
      break;  // the others take longer even without the bytes that are counted
    }
    if (!kernel.estimated) {
      kernel.us = estimate(kernel_of(kernel, fitted), searched).time_us(1);
      kernel.estimated = true;
      kernels.push(kernel);
      continue;
    }
    const Ordered ordered = in_best_order(kernel_of(kernel, fitted), kernel.us, searched);
    if (full && ordered.us >= fastest.back().us) {
      continue;
    }
    if (full) {
      fastest.pop_back();
    }
    fastest.insert(std::upper_bound(fastest.begin(), fastest.end(), ordered, faster), ordered);
  }
  std::vector<GemmKernel> result;
  for (Ordered& kernel : fastest) {
    kernel.kernel.searched = true;
    result.push_back(kernel.kernel);
  }
  return result;
}

GemmKernel found_kernel(const GemmProblem& problem, const KernelOverrides& overrides, const KernelTarget& target) {
  const base::GemmShape& cta = *overrides.cta_tile;
  const base::GemmShape& warp = overrides.warp_tile;
  const TileShape tile{static_cast<int>(cta.m),
                       static_cast<int>(cta.n),
                       static_cast<int>(warp.m),
                       static_cast<int>(warp.n),
                       overrides.family.value_or(mma::MmaFamily::kMma),
                       overrides.cta_group.value_or(1),
                       0,
                       static_cast<int>(cta.k),
                       overrides.cluster_ctas,
                       overrides.transposed};
  std::string reason;
  std::optional<GemmKernel> kernel = fitted_kernel(problem, tile, overrides, target, reason);
  if (!kernel) {
    throw base::InputError("the kernel that was found " + reason);
  }
  if (overrides.ctas_per_sm > 0) {
    kernel->ctas_per_sm = std::min(kernel->ctas_per_sm, overrides.ctas_per_sm);
  }
  if (overrides.cluster_ctas > 0) {
    kernel->cluster_ctas = overrides.cluster_ctas;
  }
  if (overrides.swizzle > 0) {
    kernel->swizzle = overrides.swizzle;
  }
  cut_as_asked(*kernel, overrides, target);
  kernel->searched = true;
  return *kernel;
}

}  // namespace sptc::kernels
