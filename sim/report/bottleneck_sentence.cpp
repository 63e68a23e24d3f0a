// SPDX-License-Identifier: Apache-2.0
#include "sim/report/bottleneck_sentence.h"

#include "sim/run/bottleneck.h"
#include "sim/run/explain_thresholds.h"
#include "sim/run/faster_design.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::sim {
namespace {

/// In percent of the time of a launch, how long `resource` works.
double at_work(Resource resource, const VariantResult& result) {
  return 100 * Bottleneck(result).share(resource);
}

/// "-47 %", what goes where `resource` is twice as fast; where less would without another order of
/// CTAs, "-47 %, of which busy cycles explain 10 %".
std::string saved_words(const Bottleneck& bottleneck, Resource resource) {
  const std::string text =
      fmt::format("-{:.0f} %", 100 * std::max(0.0, bottleneck.saved_by_doubling({resource})));
  return bottleneck.saves_more_than_its_own(resource)
             ? text + fmt::format(", of which busy cycles explain {:.0f} %",
                                  100 * bottleneck.own_saving({resource}))
             : text;
}

/// What the tensor cores of a launch wait for, with the parameter of the architecture file.
std::string_view words_for_tensor_cores(const VariantResult& result) {
  constexpr std::string_view kBanks =
      "the register banks of the tensor cores (register_bank_bytes_per_cycle)";
  if (Bottleneck(result).waits_for_register_banks()) {
    return kBanks;
  }
  if (result.budget.operand_fetch <= threshold::kFeedShare * result.budget.tensor) {
    return "tensor cores";
  }
  switch (result.budget.feed) {
    case OperandFeed::kMultipliers:
      return "tensor cores, whose steps leave dot units idle";
    case OperandFeed::kOperandA:
      return "the port of the tensor cores for A (operand_a_port_bytes_per_cycle)";
    case OperandFeed::kOperandB:
      return "the port of the tensor cores for B (operand_b_port_bytes_per_cycle)";
    case OperandFeed::kAccumulator:
      return "the accumulator port of the tensor cores (accumulator_port_bytes_per_cycle)";
    case OperandFeed::kMetadata:
      return "the metadata port of the tensor cores (metadata_port_bytes_per_cycle)";
    case OperandFeed::kRegisterBanks:
      return kBanks;
    case OperandFeed::kSelector:
      return "the selector of the tensor cores (selector_bytes_per_cycle)";
  }
  return "";
}

std::string_view words_for(Resource resource, const VariantResult& result) {
  switch (resource) {
    case Resource::kTensor:
      return words_for_tensor_cores(result);
    case Resource::kSharedMemory:
      return "shared memory";
    case Resource::kSmPort:
      return "the SMs' ports to the L2";
    case Resource::kL2:
      return "the L2";
    case Resource::kDram:
      return "DRAM";
    case Resource::kWaits:
      return "latency, barriers and pipeline fill";
    case Resource::kLaunch:
      return "its launch";
    case Resource::kRegisterBanks:
      return "register banks";
    case Resource::kRates:
      return "tensor cores, shared memory, the SMs' ports, the L2 and DRAM";
  }
  return "";
}

/// The sparse launch with all rates twice as fast, over the dense.
double speedup_at_twice_the_rates(const VariantResult& dense, const VariantResult& sparse) {
  const double saved = Bottleneck(sparse).saved_by_doubling({Resource::kRates});
  return dense.time_us / (sparse.time_us * (1 - saved));
}

/// What is left of the sparse launch with its kernel where no rate takes time.
double least_us(const VariantResult& sparse) {
  return sparse.without_rates_us.value_or(Bottleneck(sparse).waits_us());
}

std::string kernel_words(const GemmShape& tile, int stages, int split_k) {
  return fmt::format("{}x{}x{}, {} stages{}", tile.m, tile.n, tile.k, stages,
                     split_k > 1 ? fmt::format(", split-k {}", split_k) : "");
}

/// Where half of the dense time is less than that: whether the kernel of a faster design takes no
/// more.
std::string needs_another_kernel(const VariantResult& dense, const VariantResult& sparse) {
  const std::string_view found = sparse.saved ? "simulated" : "in closed form";
  const auto& retuned = sparse.retuned;
  if (retuned && dense.time_us / retuned->us >= threshold::kAsGoodAsTwo) {
    const KernelResult& own = sparse.kernel;
    if (retuned->cta_tile == own.cta_tile && retuned->stages == own.stages &&
        retuned->split_k == own.split_k) {
      return fmt::format("for 2x it would need all rates {:.0f} times as fast ({}: {:.2f}x)",
                         retuned->times_as_fast, found, dense.time_us / retuned->us);
    }
    return fmt::format(
        "for 2x it would need all rates {:.0f} times as fast and the kernel of that design, {} "
        "({}: {:.2f}x); with the kernel of this one, {}, launch, latency, barriers and pipeline "
        "fill alone take {:.1f} us, and half of the dense time is {:.1f} us",
        retuned->times_as_fast, kernel_words(retuned->cta_tile, retuned->stages, retuned->split_k),
        found, dense.time_us / retuned->us, kernel_words(own.cta_tile, own.stages, own.split_k),
        least_us(sparse), dense.time_us / 2);
  }
  const std::string how =
      retuned ? fmt::format(
                    " ({}: all rates {:.0f} to {:.0f} times as fast, each with the kernel "
                    "of such a design)",
                    found, kRetunedRates.front(), threshold::kBeyondAllRates)
      : sparse.without_rates_us
          ? fmt::format(" (simulated: all rates {:.0f} times as fast)", threshold::kBeyondAllRates)
          : "";
  return fmt::format(
      "2x is out of reach: launch, latency, barriers and pipeline fill alone take {:.1f} us{}, and "
      "half of the dense time is {:.1f} us",
      std::min(least_us(sparse), retuned ? retuned->us : least_us(sparse)), how, dense.time_us / 2);
}

/// What becomes faster: of tensor cores all rates, also those of selector, ports and register
/// banks, which bind where only the units are more; of shared memory the number of banks, for bytes
/// per cycle of a bank are a whole number, which is too coarse.
std::string_view words_for_need(Resource resource, const VariantResult& result) {
  if (resource == Resource::kTensor) {
    return words_for(resource, result) == "tensor cores"
               ? "tensor cores (units, selector and ports)"
               : "tensor cores and what feeds them";
  }
  return resource == Resource::kSharedMemory ? "shared memory (shared_memory_banks)"
                                             : words_for(resource, result);
}

/// "A 1.20 times as fast, B 1.40 times as fast and C 1.10 times as fast"; "" where nothing is.
std::string list(const Speeds& speeds, const VariantResult& result) {
  if (speeds == all_rates(speeds[Resource::kTensor]) && speeds != Speeds()) {
    return fmt::format("all rates {:.2f} times as fast", speeds[Resource::kTensor]);
  }
  std::vector<std::string> needs;
  for (const Resource resource : kResources) {
    if (speeds[resource] >= threshold::kFaster) {
      needs.push_back(fmt::format("{} {:.2f} times as fast", words_for_need(resource, result),
                                  speeds[resource]));
    }
  }
  std::string text;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == needs.size() ? " and " : ", ") + needs[i];
  }
  return text;
}

/// What the needed design and all rates twice as fast were simulated to give.
std::string simulated_words(const VariantResult& dense, const VariantResult& sparse) {
  std::string text = " (simulated";
  if (const auto& needed = sparse.needed) {
    text += std::abs(needed->clock_mhz - sparse.clock_mhz) > threshold::kOtherClockMhz
                ? fmt::format(" at {:.0f} MHz", needed->clock_mhz)
                : "";
    text += needed->speedup < threshold::kAsGoodAsTwo
                ? fmt::format(", that comes to {:.2f}x only;", needed->speedup)
                : fmt::format(": {:.2f}x;", needed->speedup);
  } else {
    text += ",";
  }
  return text + fmt::format(" all rates twice as fast: {:.2f}x)",
                            speedup_at_twice_the_rates(dense, sparse));
}

/// What is known of the rates that 2x needs where the closed form names none.
std::string some_rates(const VariantResult& dense, const VariantResult& sparse) {
  const double at_twice = speedup_at_twice_the_rates(dense, sparse);
  if (at_twice >= 2) {
    return fmt::format("no more than all rates twice as fast (simulated: {:.2f}x)", at_twice);
  }
  const std::string faster =
      sparse.without_rates_us ? fmt::format("; {:.0f} times: {:.2f}x", threshold::kBeyondAllRates,
                                            dense.time_us / *sparse.without_rates_us)
                              : "";
  return fmt::format("more than all rates twice as fast (simulated: {:.2f}x{})", at_twice, faster);
}

/// What the sparse launch would need to take half of the dense one.
std::string needs_for_two(const VariantResult& dense, const VariantResult& sparse) {
  const bool by_twice = sparse.saved && speedup_at_twice_the_rates(dense, sparse) >= 2;
  if (!by_twice && least_us(sparse) > dense.time_us / 2) {
    return needs_another_kernel(dense, sparse);
  }
  const auto speeds = sparse.needed ? std::optional(sparse.needed->speeds)
                                    : Bottleneck(sparse).speeds_for(dense.time_us / 2);
  if (!speeds || (sparse.saved && speeds->most() > (by_twice ? 2 : threshold::kBeyondAllRates))) {
    return "for 2x it would need " + some_rates(dense, sparse);
  }
  const std::string needs = list(*speeds, sparse);
  if (needs.empty()) {
    return "that is 2x";
  }
  if (!sparse.saved) {
    return "for 2x it would need " + needs;
  }
  const bool by_form = !needs.starts_with("all rates");
  return fmt::format("for 2x it would need{} {}{}", by_form ? ", in closed form," : "", needs,
                     simulated_words(dense, sparse));
}

/// What stands right behind `first`: the resource whose doubling saves nearly as much, or that with
/// which a doubled `first` saves a lot more, or nothing.
std::string right_behind(const VariantResult& result, Resource first) {
  const Bottleneck bottleneck(result);
  const double alone = bottleneck.own_saving({first});
  std::string text;
  double most = std::max({threshold::kNearly * alone, bottleneck.by_chance(), threshold::kPrints});
  double most_together = threshold::kTimesOneRate * alone + threshold::kALot;
  for (const Resource second : kRates) {
    if (second == first) {
      continue;
    }
    const double too = bottleneck.own_saving({second});
    // Two at once are simulated where neither saves much alone: Bottleneck::together().
    const double together = result.saved ? 0 : bottleneck.saved_by_doubling({first, second});
    if (together > most_together) {
      most_together = together;
      most = 1;
      text = fmt::format("; {} as well: -{:.0f} %", words_for(second, result), 100 * together);
    } else if (too > most) {
      most = too;
      text = fmt::format("; {}: {}", words_for(second, result), saved_words(bottleneck, second));
    }
  }
  return text;
}

/// What of the saving of tensor cores is that of their register banks, where it is some.
std::string register_banks_alone(const VariantResult& result, Resource first) {
  const Bottleneck bottleneck(result);
  const double banks = bottleneck.saved_by_doubling({Resource::kRegisterBanks});
  return first == Resource::kTensor && banks > std::max(threshold::kLittle, bottleneck.by_chance())
             ? fmt::format("; their register banks alone: -{:.0f} %", 100 * banks)
             : "";
}

/// "beside DRAM, at work 70 % of the time", or that nothing works for long.
std::string busiest_words(const VariantResult& result) {
  const Resource busiest = busiest_rates(result.budget).front();
  const double percent = at_work(busiest, result);
  if (percent > 100 * threshold::kMostOfTheTime) {
    return fmt::format("beside {}, at work {:.0f} % of the time", words_for(busiest, result),
                       percent);
  }
  return fmt::format("no resource works more than {:.0f} % of the time", percent);
}

std::string bound_by_two(const VariantResult& result, const SavedByPair& pair) {
  const Bottleneck bottleneck(result);
  const Resource alone = bottleneck.best_alone();
  return fmt::format(
      "by nothing alone, but by {} and {} together, at work {:.0f} and {:.0f} % of the time (both "
      "twice as fast: -{:.0f} %; {} alone: {})",
      words_for(pair.busier, result), words_for(pair.other, result), at_work(pair.busier, result),
      at_work(pair.other, result), 100 * pair.saved, words_for(alone, result),
      saved_words(bottleneck, alone));
}

/// What all rates twice as fast save, where that is much more than `first` does; else 0. Of a rate
/// they contain what it saves, of the launch and of waits nothing.
double saved_by_rates(const Bottleneck& bottleneck, Resource first) {
  const double rates = bottleneck.saved_by_doubling({Resource::kRates});
  const double saved = bottleneck.saved_by_doubling({first});
  const bool is_rate = std::find(kRates.begin(), kRates.end(), first) != kRates.end();
  const bool is_much_more = is_rate ? rates > threshold::kTimesOneRate * saved + threshold::kLittle
                                    : Bottleneck::saves_much_more(rates, saved);
  return bottleneck.nothing_alone() && is_much_more ? rates : 0;
}

/// "nothing alone, soonest by ", where `saved` is little, no more than chance, or little beside
/// what all `rates` save.
std::string soonest(double saved, double by_chance, double rates) {
  if (saved < by_chance) {
    return fmt::format(
        "nothing alone that rises above chance ({:.0f} %: CTAs in another order), soonest by ",
        100 * by_chance);
  }
  return saved < threshold::kLittle || rates > 0 ? "nothing alone, soonest by " : "";
}

std::string bound_words(const VariantResult& result) {
  const Bottleneck bottleneck(result);
  if (const auto pair = bottleneck.together()) {
    return bound_by_two(result, *pair);
  }
  const Resource first = bottleneck.bound();
  const double saved = std::max(0.0, bottleneck.own_saving({first}));
  const double by_chance = first == Resource::kLaunch ? 0 : bottleneck.by_chance();
  const double rates = saved_by_rates(bottleneck, first);
  const std::string text =
      "by " + soonest(saved, by_chance, rates) + std::string(words_for(first, result));
  const std::string all =
      rates > 0 ? fmt::format("; all rates twice as fast: -{:.0f} %", 100 * rates) : "";
  if (first == Resource::kLaunch) {
    const std::string behind = all.empty() ? right_behind(result, first) : all;
    return text + fmt::format(", {:.0f} % of the time{}", 100 * result.launch_us / result.time_us,
                              behind.empty() ? "" : " (" + behind.substr(2) + ")");
  }
  if (first == Resource::kWaits) {
    return text + fmt::format(" (half as long: {}{}), {}", saved_words(bottleneck, first), all,
                              busiest_words(result));
  }
  if (first == Resource::kTensor && bottleneck.waits_for_register_banks()) {
    const double banks = bottleneck.saved_by_doubling({Resource::kRegisterBanks});
    return text + fmt::format(", twice as fast: -{:.0f} %{}{}", 100 * banks,
                              right_behind(result, first), all);
  }
  return text + fmt::format(", at work {:.0f} % of the time (twice as fast: {}{}{}{})",
                            at_work(first, result), saved_words(bottleneck, first),
                            register_banks_alone(result, first), right_behind(result, first), all);
}

/// What SMs have to do unlike each other, which no rate makes good.
std::string tail_words(const VariantResult& result) {
  const TimeShares shares = Bottleneck(result).shares();
  return shares.tail > threshold::kLongTail
             ? fmt::format(
                   ", where the fullest SM multiplies for {:.0f} % of the time and the mean one "
                   "for {:.0f} %",
                   100 * shares.tensor, 100 * (shares.tensor - shares.tail))
             : "";
}

std::string bound(const VariantResult& result) {
  return bound_words(result) + tail_words(result);
}

/// "gains 1.32x", "loses: 0.95x", or that it does neither.
std::string speedup_words(double speedup) {
  const std::string text = fmt::format("{:.2f}x", speedup);
  return (text == "1.00x" ? "gains nothing: " : speedup > 1 ? "gains " : "loses: ") + text;
}

/// What the power limit does to the clock, of which the savings know nothing; "" where it does
/// nothing.
std::string power_words(const OperationResult& operation) {
  std::vector<std::string> clocks;
  double boost_mhz = 0;
  for (const auto& [name, result] : {std::pair{std::string("dense"), &operation.dense},
                                     std::pair{operation.pattern, &operation.sparse}}) {
    if (*result && (*result)->energy && (*result)->energy->limited) {
      clocks.push_back(fmt::format("{} at {:.0f}", name, (*result)->clock_mhz));
      boost_mhz = (*result)->clock_scaling.boost_clock_mhz;
    }
  }
  return clocks.empty()
             ? ""
             : fmt::format(
                   " The power limit holds {} of {:.0f} MHz. Savings are those at a fixed clock: "
                   "what works faster draws more power, and the limit lowers the clock further, "
                   "down to no saving at all.",
                   fmt::join(clocks, " and "), boost_mhz);
}

}  // namespace

std::string bottleneck_sentence(const OperationResult& operation) {
  const auto& dense = operation.dense;
  const auto& sparse = operation.sparse;
  if (!dense && !sparse) {
    return "";
  }
  if (!dense || !sparse) {
    return fmt::format("{} is bound {}.", dense ? "dense" : operation.pattern,
                       bound(dense ? *dense : *sparse)) +
           power_words(operation);
  }
  const double speedup = *operation.speedup();
  std::string text = fmt::format("dense is bound {}; {} {}, bound {}", bound(*dense),
                                 operation.pattern, speedup_words(speedup), bound(*sparse));
  return text + "; " + needs_for_two(*dense, *sparse) + "." + power_words(operation);
}

}  // namespace sptc::sim
