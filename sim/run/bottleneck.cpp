// SPDX-License-Identifier: Apache-2.0
#include "sim/run/bottleneck.h"

#include "sim/run/explain_thresholds.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sptc::sim {

// Three sources say what a launch owes to a resource:
//
//   1. what was simulated to go where it is twice as fast (launch_.saved, by FasterDesigns)
//   2. the cycles in which it works (launch_.budget): no more than they explain counts as its own
//   3. where nothing was simulated, the closed form (launch_.clock_scaling.form), scaled to its
//   time
//
// bound() names one resource from these. speeds_for() asks the other way round: it lowers one level
// for all terms of the closed form until the time is the target, so that no resource becomes faster
// than it is in the way.

namespace {

// Of the time of a launch: what takes no time, and what is certain to be longer, for the closed
// form may be far off the time that was found.
constexpr double kNoTime = 1e-9;
constexpr double kLongEnough = 10;

struct Term {
  Resource resource;
  double KernelEstimate::*us;
};
/// What a faster resource shortens: not the waits, of which nothing is a rate.
constexpr std::array<Term, 8> kTerms{{{Resource::kTensor, &KernelEstimate::tensor_us},
                                      {Resource::kSharedMemory, &KernelEstimate::shared_memory_us},
                                      {Resource::kSmPort, &KernelEstimate::sm_port_us},
                                      {Resource::kL2, &KernelEstimate::l2_us},
                                      {Resource::kDram, &KernelEstimate::dram_us},
                                      {Resource::kDram, &KernelEstimate::store_us},
                                      {Resource::kL2, &KernelEstimate::reduction_l2_us},
                                      {Resource::kDram, &KernelEstimate::reduction_dram_us}}};

}  // namespace

std::string_view report_name(Resource resource) {
  switch (resource) {
    case Resource::kTensor:
      return "tensor";
    case Resource::kSharedMemory:
      return "smem";
    case Resource::kSmPort:
      return "sm_port";
    case Resource::kL2:
      return "l2";
    case Resource::kDram:
      return "hbm";
    case Resource::kWaits:
      return "latency";
    case Resource::kLaunch:
      return "launch";
    case Resource::kRates:
      return "rates";
    case Resource::kRegisterBanks:
      return "register_banks";
  }
  return "";
}

double busy_cycles(const CycleBudget& budget, Resource resource) {
  switch (resource) {
    case Resource::kTensor:
      return budget.tensor + budget.operand_fetch;
    case Resource::kSharedMemory:
      return budget.shared_memory;
    case Resource::kSmPort:
      return budget.sm_port;
    case Resource::kL2:
      return budget.l2;
    case Resource::kDram:
      return budget.dram;
    default:
      return 0;
  }
}

std::array<Resource, 3> busiest_rates(const CycleBudget& budget) {
  std::array rates = kRates;
  std::stable_sort(rates.begin(), rates.end(), [&](Resource left, Resource right) {
    return busy_cycles(budget, left) > busy_cycles(budget, right);
  });
  return {rates[0], rates[1], rates[2]};
}

Bottleneck::Bottleneck(const VariantResult& launch)
    : launch_(launch), clock_ratio_(launch.clock_mhz / launch.clock_scaling.boost_clock_mhz) {
  // Found time over that of the form, both without what is outside the SMs.
  scale_ = (launch.time_us - launch.launch_us) / in_sms_us(launch.clock_scaling.form);
}

double Bottleneck::in_sms_us(const KernelEstimate& form) const {
  return form.time_us(clock_ratio_) - form.outside_us();
}

double Bottleneck::time_us(const Speeds& speeds) const {
  const KernelEstimate& form = launch_.clock_scaling.form;
  KernelEstimate faster = form;
  for (const Term& term : kTerms) {
    faster.*term.us /= speeds[term.resource];
  }
  for (const auto wait : {&KernelEstimate::latency_us, &KernelEstimate::fill_us}) {
    faster.*wait /= speeds[Resource::kWaits];
  }
  return scale_ * in_sms_us(faster) + form.launch_us / speeds[Resource::kLaunch] +
         faster.reduction_us();
}

double Bottleneck::saved_by_doubling(const std::vector<Resource>& resources) const {
  if (launch_.saved && resources.size() == 1) {
    return (*launch_.saved)[resources.front()];
  }
  Speeds speeds;
  for (const Resource resource : resources) {
    speeds[resource] = 2;
    for (const Resource rate : kRates) {
      speeds[rate] = resource == Resource::kRates ? 2 : speeds[rate];
    }
  }
  // Not launch_.time_us, which rounding may set apart: what changes nothing saves 0.
  return 1 - time_us(speeds) / time_us({});
}

double Bottleneck::share_of_cycles(double cycles) const {
  const double in_sms = (launch_.time_us - launch_.launch_us) * launch_.clock_mhz;
  const double busiest = busy_cycles(launch_.budget, busiest_rates(launch_.budget).front());
  // Where calibration shortens a launch by more than its waits, none works for longer than it
  // takes.
  const double fits = busiest > in_sms ? in_sms / busiest : 1;
  return fits * cycles / launch_.clock_mhz / launch_.time_us;
}

double Bottleneck::calibrated_share(Resource resource) const {
  // The time is launch + calibrated cycles + D behind them. Calibration stretches all cycles alike,
  // so that work has the share of the calibrated ones that it has of the cycles.
  const CycleBudget& budget = launch_.budget;
  if (budget.cycles <= 0) {
    return 0;
  }
  const double with_cycles = 1 - launch_.launch_us / launch_.time_us;
  return with_cycles * busy_cycles(budget, resource) / budget.cycles;
}

double Bottleneck::share(Resource resource) const {
  return share_of_cycles(busy_cycles(launch_.budget, resource));
}

TimeShares Bottleneck::shares() const {
  const CycleBudget& budget = launch_.budget;
  TimeShares shares;
  shares.tensor = share_of_cycles(budget.tensor);
  shares.tail = share_of_cycles(budget.tensor - budget.tensor_mean);
  shares.operand_fetch = share_of_cycles(budget.operand_fetch);
  shares.shared_memory = share_of_cycles(budget.shared_memory);
  shares.sm_port = share_of_cycles(budget.sm_port);
  shares.l2 = share_of_cycles(budget.l2);
  shares.dram = share(Resource::kDram);
  shares.launch = launch_.launch_us / launch_.time_us;
  shares.wait = 1 - shares.launch - share(busiest_rates(budget).front());
  return shares;
}

double Bottleneck::most_saved(const std::vector<Resource>& resources) const {
  // Twice as fast takes away half of the cycles of each, together at most half of each; and no
  // more than leaves the launch and the busiest of what works then.
  const double launch = launch_.launch_us / launch_.time_us;
  double own = 0;
  double busiest = 0;
  for (const Resource rate : kRates) {
    const double works = calibrated_share(rate);
    const bool is_faster = std::find(resources.begin(), resources.end(), rate) != resources.end();
    own += is_faster ? works / 2 : 0;
    busiest = std::max(busiest, is_faster ? works / 2 : works);
  }
  const double of_rates = own > 0 ? own : (1 - launch) / 2;
  return std::max(0.0, std::min(of_rates, 1 - launch - busiest));
}

double Bottleneck::own_saving(const std::vector<Resource>& resources) const {
  const double saved = saved_by_doubling(resources);
  const bool is_exact = !launch_.saved || resources.front() == Resource::kLaunch;
  return is_exact ? saved : std::min(saved, most_saved(resources));
}

bool Bottleneck::saves_more_than_its_own(Resource resource) const {
  return saved_by_doubling({resource}) > own_saving({resource}) + threshold::kUnexplained;
}

double Bottleneck::by_chance() const {
  double most_lost = 0;
  for (const Resource resource : kResources) {
    most_lost = std::max(most_lost, launch_.saved ? -saved_by_doubling({resource}) : 0.0);
  }
  return most_lost > threshold::kLost ? most_lost : 0;
}

bool Bottleneck::waits_for_register_banks() const {
  if (!launch_.saved) {
    return false;
  }
  const double banks = (*launch_.saved)[Resource::kRegisterBanks];
  const double most = threshold::kBanksShare * (*launch_.saved)[Resource::kTensor];
  return banks > std::max({threshold::kBanksSave, by_chance(), most});
}

Resource Bottleneck::best_alone() const {
  return *std::max_element(
      kResources.begin(), kResources.end(),
      [&](Resource left, Resource right) { return own_saving({left}) < own_saving({right}); });
}

bool Bottleneck::nothing_alone() const {
  return own_saving({best_alone()}) < threshold::kSavesMuch;
}

bool Bottleneck::saves_much_more(double together, double alone) {
  return together > std::max(alone + threshold::kMoreTogether, threshold::kTimesAlone * alone);
}

std::optional<SavedByPair> Bottleneck::together() const {
  if (!nothing_alone()) {
    return std::nullopt;
  }
  std::optional<SavedByPair> best;
  if (launch_.saved && launch_.pair) {
    best = launch_.pair;
  }
  for (auto first = kRates.begin(); !launch_.saved && first != kRates.end(); ++first) {
    for (auto second = first + 1; second != kRates.end(); ++second) {
      const double saved = saved_by_doubling({*first, *second});
      if (!best || saved > best->saved) {
        const bool in_order =
            busy_cycles(launch_.budget, *first) >= busy_cycles(launch_.budget, *second);
        best = {in_order ? *first : *second, in_order ? *second : *first, saved};
      }
    }
  }
  const double alone = std::max(0.0, own_saving({best_alone()}));
  if (!best || best->saved < saved_by_doubling({best_alone()}) + threshold::kMoreTogether) {
    return std::nullopt;
  }
  const double own =
      launch_.saved ? std::min(best->saved, most_saved({best->busier, best->other})) : best->saved;
  return saves_much_more(own, alone) && own > by_chance() ? best : std::nullopt;
}

Resource Bottleneck::bound() const {
  // In closed form what saves most is certain, however little it is.
  if (const auto pair = launch_.saved ? together() : std::nullopt) {
    return pair->busier;
  }
  const Resource best = best_alone();
  const bool nothing = own_saving({best}) < std::max(threshold::kSaves, by_chance());
  // A rate of the closed form, which does not know each latency, where none works for long.
  const bool of_form = best != Resource::kLaunch && !launch_.saved;
  if ((nothing || of_form) && shares().wait > threshold::kMostOfTheTime) {
    return Resource::kWaits;
  }
  // Where nothing alone saves anything, several rates wait for each other: the one that works most.
  if (nothing) {
    const auto slowest =
        std::max_element(kTerms.begin(), kTerms.end(), [this](const Term& left, const Term& right) {
          return launch_.clock_scaling.form.*left.us < launch_.clock_scaling.form.*right.us;
        });
    return slowest->resource;
  }
  return best;
}

Speeds Bottleneck::no_slower_than(double level_us) const {
  // A term t takes t / speed: what is longer than the level gets the speed t / level, the rest 1.
  // At another SM clock than the boost clock all but DRAM takes as much longer.
  Speeds speeds;
  for (const Term& term : kTerms) {
    const double stretch = term.resource == Resource::kDram ? 1 : 1 / clock_ratio_;
    speeds[term.resource] =
        std::max(speeds[term.resource], launch_.clock_scaling.form.*term.us * stretch / level_us);
  }
  return speeds;
}

double Bottleneck::waits_us() const {
  return time_us(no_slower_than(launch_.time_us * kNoTime));
}

double Bottleneck::in_form(double target_us) const {
  if (!launch_.saved || target_us >= launch_.time_us) {
    return target_us;
  }
  Speeds twice;
  for (const Resource rate : kRates) {
    twice[rate] = 2;
  }
  // On a logarithmic scale, where each factor of speed is a step alike: log(target / now) is as
  // much of log(twice / now) in the form as it is as simulated.
  const double formed = std::log(time_us(twice) / launch_.time_us);
  const double simulated = std::log(1 - saved_by_doubling({Resource::kRates}));
  return simulated < 0 ? launch_.time_us * std::pow(target_us / launch_.time_us, formed / simulated)
                       : 0;
}

std::optional<Speeds> Bottleneck::speeds_for(double target_us) const {
  const double form_us = in_form(target_us);
  if (waits_us() > form_us) {
    return std::nullopt;
  }
  // The time rises with the level: bisection to the highest one that is fast enough.
  double low = launch_.time_us * kNoTime;
  double high = launch_.time_us * kLongEnough;
  for (int step = 0; step < 100; ++step) {
    const double level = (low + high) / 2;
    (time_us(no_slower_than(level)) > form_us ? high : low) = level;
  }
  return no_slower_than(low);
}

}  // namespace sptc::sim
