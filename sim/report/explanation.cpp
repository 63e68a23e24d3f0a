// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::sim {
namespace {

struct Resource {
  std::string_view name;
  double CycleBudget::*cycles;
};
constexpr std::array<Resource, 5> kResources{{{"tensor cores", &CycleBudget::tensor},
                                              {"shared memory", &CycleBudget::shared_memory},
                                              {"the SM's port to the L2", &CycleBudget::sm_port},
                                              {"the L2", &CycleBudget::l2},
                                              {"DRAM", &CycleBudget::dram}}};

const Resource& busiest_of(const CycleBudget& budget) {
  return *std::max_element(
      kResources.begin(), kResources.end(),
      [&](const Resource& a, const Resource& b) { return budget.*a.cycles < budget.*b.cycles; });
}

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

/// One row of the table. Fill: cycles in which not even the busiest resource works. Tail: multiply
/// cycles of the busiest SM that the mean SM does not have.
std::string row(std::string_view variant, const VariantResult& result) {
  const CycleBudget& b = result.budget;
  const double busiest = b.*busiest_of(b).cycles;
  const double us_per_cycle = 1 / result.clock_mhz;
  const double idle_us = result.time_us - result.launch_us - busiest * us_per_cycle;
  const auto share = [&](double of) { return percent(of * us_per_cycle, result.time_us); };
  return fmt::format(
      "  {:<7} {:>9.1f} us {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} "
      "{:>8.1f}\n",
      variant, result.time_us, share(b.tensor), share(b.tensor - b.tensor_mean),
      share(b.shared_memory), share(b.sm_port), share(b.l2), share(b.dram),
      percent(std::max(0.0, idle_us), result.time_us), percent(result.launch_us, result.time_us));
}

/// What the sparse launch would need to take half of the dense one.
std::string needs_for_two(const VariantResult& dense, const VariantResult& sparse) {
  const double half_us = dense.time_us / 2;
  const double cycles = (half_us - sparse.launch_us) * sparse.clock_mhz;
  if (cycles <= 0) {
    return fmt::format(
        "2x is out of reach: the launch alone takes {:.1f} us, and half of the dense "
        "time is {:.1f} us",
        sparse.launch_us, half_us);
  }
  std::vector<std::string> needs;
  for (const Resource& resource : kResources) {
    const double factor = sparse.budget.*resource.cycles / cycles;
    if (factor > 1) {
      needs.push_back(fmt::format("{} {:.2f} times as fast", resource.name, factor));
    }
  }
  if (needs.empty()) {
    const double busy = sparse.budget.*busiest_of(sparse.budget).cycles;
    return fmt::format(
        "for 2x no resource is too slow, but pipeline fill, barriers, waits and launch, {:.1f} us "
        "of "
        "{:.1f} us, would have to shrink to {:.1f} us",
        sparse.time_us - busy / sparse.clock_mhz, sparse.time_us,
        std::max(0.0, half_us - busy / sparse.clock_mhz));
  }
  std::string text = "for 2x it would need ";
  for (std::size_t i = 0; i < needs.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == needs.size() ? " and " : ", ") + needs[i];
  }
  return text;
}

std::string bound(const VariantResult& result) {
  const CycleBudget& budget = result.budget;
  const Resource& resource = busiest_of(budget);
  const double busy_us = budget.*resource.cycles / result.clock_mhz;
  const double share = percent(busy_us, result.time_us);
  if (result.launch_us > busy_us) {
    return fmt::format("by its launch, {:.0f} % of the time",
                       percent(result.launch_us, result.time_us));
  }
  if (result.bound_by == "latency") {
    return fmt::format("by waiting: no resource works more than {:.0f} % of the time", share);
  }
  return fmt::format("by {}, at work {:.0f} % of the time", resource.name, share);
}

}  // namespace

std::string bottleneck_sentence(const OperationResult& operation) {
  const auto& dense = operation.dense;
  const auto& sparse = operation.sparse;
  if (!dense && !sparse) {
    return "";
  }
  if (!dense || !sparse) {
    return fmt::format("{} is bound {}.", dense ? "dense" : "2:4", bound(dense ? *dense : *sparse));
  }
  const double speedup = *operation.speedup();
  std::string text = fmt::format("dense is bound {}; 2:4 {} {:.2f}x, bound {}", bound(*dense),
                                 speedup >= 1 ? "gains" : "loses:", speedup, bound(*sparse));
  return text + "; " + needs_for_two(*dense, *sparse) + ".";
}

std::string explain(const OperationResult& operation) {
  std::string out = fmt::format(
      "{} ({} x {} x {})\n  {:<7} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8} "
      "{:>8} {:>8} {:>8}\n",
      operation.name.substr(0, 60), operation.shape.m, operation.shape.n, operation.shape.k,
      "share %", "time", "tensor", "tail", "smem", "SM port", "L2", "DRAM", "wait", "launch");
  if (operation.dense) {
    out += row("dense", *operation.dense);
  }
  if (operation.sparse) {
    out += row("sparse", *operation.sparse);
  }
  return out + "  " + bottleneck_sentence(operation) + "\n";
}

}  // namespace sptc::sim
