// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explanation.h"

#include "sim/report/fitted_name.h"
#include "sim/run/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace sptc::sim {
namespace {

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

/// `cycles` of a launch, in percent of its time.
double share_of_time(double cycles, const VariantResult& result) {
  return percent(cycles / result.clock_mhz, result.time_us);
}

/// Cycles in which the busiest resource works.
double busiest(const CycleBudget& b) {
  return std::max({b.tensor + b.operand_fetch, b.shared_memory, b.sm_port, b.l2, b.dram});
}

constexpr std::array kRates{Resource::kTensor, Resource::kSharedMemory, Resource::kL2,
                            Resource::kDram};

double busy(const CycleBudget& budget, Resource resource) {
  switch (resource) {
    case Resource::kTensor:
      return budget.tensor + budget.operand_fetch;
    case Resource::kSharedMemory:
      return budget.shared_memory;
    case Resource::kL2:
      return budget.l2;
    case Resource::kDram:
      return budget.dram;
    default:
      return 0;
  }
}

std::string_view words_for(Resource resource, const CycleBudget& budget) {
  // Held back by their ports for more than this share of the time that they multiply.
  constexpr double kFetchShare = 0.02;
  switch (resource) {
    case Resource::kTensor:
      return budget.operand_fetch > kFetchShare * budget.tensor
                 ? "operand fetch of the tensor cores"
                 : "tensor cores";
    case Resource::kSharedMemory:
      return "shared memory";
    case Resource::kL2:
      return "the L2";
    case Resource::kDram:
      return "DRAM";
    case Resource::kWaits:
      return "latency, barriers and pipeline fill";
    case Resource::kLaunch:
      return "launch";
    case Resource::kRates:
      return "tensor cores, shared memory, the L2 and DRAM";
  }
  return "";
}

/// Two rows of the table: how long each resource works, and what goes if it is twice as fast. Tail:
/// multiply cycles of the busiest SM that the mean SM does not have. Wait: cycles in which not even
/// the busiest resource works. Calibration: what is added to the cycles. The share of the busiest
/// resource, wait, calibration and launch are the whole time.
std::string rows(std::string_view variant, const VariantResult& result) {
  const CycleBudget& b = result.budget;
  const double idle_us = result.time_us - result.launch_us - result.calibration_us -
                         busiest(b) / result.clock_mhz;
  const auto share = [&](double cycles) { return share_of_time(cycles, result); };
  const Bottleneck bottleneck(result);
  const auto saved = [&](Resource resource) {
    return 100 * bottleneck.saved_by_doubling({resource});
  };
  return fmt::format(
             "  {:<7} {:>9.1f} us {:>7.1f} {:>7.1f} {:>7.1f} {:>7.1f} {:>7.1f} {:>7.1f} {:>7.1f} "
             "{:>7.1f} {:>7.1f} {:>7.1f}\n",
             variant, result.time_us, share(b.tensor), share(b.tensor - b.tensor_mean),
             share(b.operand_fetch), share(b.shared_memory), share(b.sm_port), share(b.l2),
             share(b.dram), percent(std::max(0.0, idle_us), result.time_us),
             percent(result.calibration_us, result.time_us),
             percent(result.launch_us, result.time_us)) +
         fmt::format("  {:<20} {:>7.1f} {:>7} {:>7} {:>7.1f} {:>7} {:>7.1f} {:>7.1f} {:>7.1f} "
                     "{:>7} {:>7.1f}\n",
                     "  saved if 2x as fast", saved(Resource::kTensor), "", "",
                     saved(Resource::kSharedMemory), "", saved(Resource::kL2),
                     saved(Resource::kDram), saved(Resource::kWaits), "", saved(Resource::kLaunch));
}

/// The sparse launch with tensor cores, shared memory, L2 and DRAM twice as fast, over the dense.
double speedup_at_twice_the_rates(const VariantResult& dense, const VariantResult& sparse) {
  const double saved = Bottleneck(sparse).saved_by_doubling({Resource::kRates});
  return dense.time_us / (sparse.time_us * (1 - saved));
}

std::string why_not_two(const VariantResult& dense, const VariantResult& sparse) {
  if (sparse.saved) {
    return fmt::format(
        "2x is out of reach: with {} all twice as fast 2:4 would gain {:.2f}x, for launch, "
        "latency, barriers and pipeline fill stay",
        words_for(Resource::kRates, sparse.budget), speedup_at_twice_the_rates(dense, sparse));
  }
  return fmt::format(
      "2x is out of reach: launch, latency, barriers and pipeline fill alone take {:.1f} us, and "
      "half of the dense time is {:.1f} us",
      Bottleneck(sparse).waits_us(), dense.time_us / 2);
}

/// What the sparse launch would need to take half of the dense one.
std::string needs_for_two(const VariantResult& dense, const VariantResult& sparse) {
  const auto speeds = Bottleneck(sparse).speeds_for(dense.time_us / 2);
  const bool in_reach = !sparse.saved || speedup_at_twice_the_rates(dense, sparse) >= 2;
  if (!speeds || !in_reach) {
    return why_not_two(dense, sparse);
  }
  std::vector<std::string> needs;
  for (const Resource resource : kResources) {
    if ((*speeds)[resource] >= 1.005) {
      needs.push_back(fmt::format("{} {:.2f} times as fast", words_for(resource, sparse.budget),
                                  (*speeds)[resource]));
    }
  }
  if (needs.empty()) {
    return "that is 2x";
  }
  std::string text =
      sparse.saved ? "for 2x it would need, in closed form, " : "for 2x it would need ";
  for (std::size_t i = 0; i < needs.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == needs.size() ? " and " : ", ") + needs[i];
  }
  if (sparse.saved) {
    text += fmt::format(" (simulated, all rates twice as fast: {:.2f}x)",
                        speedup_at_twice_the_rates(dense, sparse));
  }
  return text;
}

/// What stands right behind `first`: the resource whose doubling saves nearly as much, or that with
/// which a doubled `first` saves a lot more, or nothing.
std::string right_behind(const VariantResult& result, Resource first) {
  constexpr double kNearly = 0.5;
  constexpr double kALot = 0.1;  // of the time
  const Bottleneck bottleneck(result);
  const double alone = bottleneck.saved_by_doubling({first});
  std::string text;
  double most = kNearly * alone;
  double most_together = 2 * alone + kALot;
  for (const Resource second : kRates) {
    const double too = bottleneck.saved_by_doubling({second});
    // Two at once are not simulated.
    const double together = result.saved ? 0 : bottleneck.saved_by_doubling({first, second});
    if (second == first) {
      continue;
    }
    if (together > most_together) {
      most_together = together;
      most = 1;
      text =
          fmt::format("; {} as well: -{:.0f} %", words_for(second, result.budget), 100 * together);
    } else if (too > most) {
      most = too;
      text = fmt::format("; {}: -{:.0f} %", words_for(second, result.budget), 100 * too);
    }
  }
  return text;
}

/// What works most, the ports of the SMs included, which are not made faster alone.
struct Busiest {
  std::string_view words;
  double percent = 0;  ///< of the time
};

Busiest busiest_of(const VariantResult& result) {
  const CycleBudget& budget = result.budget;
  const Resource rate = *std::max_element(
      kRates.begin(), kRates.end(),
      [&](Resource left, Resource right) { return busy(budget, left) < busy(budget, right); });
  if (budget.sm_port > busy(budget, rate)) {
    return {"the SMs' ports to the L2", share_of_time(budget.sm_port, result)};
  }
  return {words_for(rate, budget), share_of_time(busy(budget, rate), result)};
}

/// "beside DRAM, at work 70 % of the time", or that nothing works for long.
std::string busiest_words(const VariantResult& result) {
  constexpr double kMost = 50;  // percent
  const Busiest most = busiest_of(result);
  if (most.percent > kMost) {
    return fmt::format("beside {}, at work {:.0f} % of the time", most.words, most.percent);
  }
  return fmt::format("no resource works more than {:.0f} % of the time", most.percent);
}

std::string bound(const VariantResult& result) {
  const CycleBudget& budget = result.budget;
  const Bottleneck bottleneck(result);
  const Resource first = bottleneck.bound();
  const double saved = std::max(0.0, 100 * bottleneck.saved_by_doubling({first}));
  if (first == Resource::kLaunch) {
    return fmt::format("by its launch, {:.0f} % of the time",
                       percent(result.launch_us, result.time_us));
  }
  if (first == Resource::kWaits) {
    return fmt::format("by latency, barriers and pipeline fill (half as long: -{:.0f} %), {}",
                       saved, busiest_words(result));
  }
  constexpr double kLittle = 5;  // percent
  const std::string text =
      fmt::format("by {}{}, at work {:.0f} % of the time (twice as fast: -{:.0f} %",
                  saved < kLittle ? "nothing alone, soonest by " : "", words_for(first, budget),
                  share_of_time(busy(budget, first), result), saved);
  return text + right_behind(result, first) + ")";
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
      "{} ({} x {} x {})\n  {:<7} {:>12} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
      fitted_name(operation.name, 60), operation.shape.m, operation.shape.n, operation.shape.k,
      "share %", "time", "tensor", "tail", "fetch", "smem", "SM port", "L2", "DRAM", "wait",
      "calibr", "launch");
  if (operation.dense) {
    out += rows("dense", *operation.dense);
  }
  if (operation.sparse) {
    out += rows("sparse", *operation.sparse);
  }
  return out + "  " + bottleneck_sentence(operation) + "\n";
}

}  // namespace sptc::sim
