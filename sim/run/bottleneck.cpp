// SPDX-License-Identifier: Apache-2.0
#include "sim/run/bottleneck.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sptc::sim {
namespace {

struct Term {
  Resource resource;
  double KernelEstimate::*us;
};
/// What a faster resource shortens: not the waits, of which nothing is a rate.
constexpr std::array<Term, 5> kRates{{{Resource::kTensor, &KernelEstimate::tensor_us},
                                      {Resource::kSharedMemory, &KernelEstimate::shared_memory_us},
                                      {Resource::kL2, &KernelEstimate::l2_us},
                                      {Resource::kDram, &KernelEstimate::dram_us},
                                      {Resource::kDram, &KernelEstimate::store_us}}};

}  // namespace

std::string_view report_name(Resource resource) {
  switch (resource) {
    case Resource::kTensor:
      return "tensor";
    case Resource::kSharedMemory:
      return "smem";
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
  }
  return "";
}

Bottleneck::Bottleneck(const VariantResult& launch)
    : launch_(launch), clock_ratio_(launch.clock_mhz / launch.clock_scaling.boost_clock_mhz) {
  scale_ = (launch.time_us - launch.launch_us) / in_sms_us(launch.form);
}

double Bottleneck::in_sms_us(const KernelEstimate& form) const {
  return form.time_us(clock_ratio_) - form.outside_us();
}

double Bottleneck::time_us(const Speeds& speeds) const {
  const KernelEstimate& form = launch_.form;
  KernelEstimate faster = form;
  for (const Term& term : kRates) {
    faster.*term.us /= speeds[term.resource];
  }
  for (const auto wait :
       {&KernelEstimate::latency_us, &KernelEstimate::fill_us, &KernelEstimate::next_fills_us}) {
    faster.*wait /= speeds[Resource::kWaits];
  }
  return scale_ * in_sms_us(faster) + form.launch_us / speeds[Resource::kLaunch] +
         form.reduction_us / speeds[Resource::kL2];
}

double Bottleneck::saved_by_doubling(const std::vector<Resource>& resources) const {
  if (launch_.saved && resources.size() == 1) {
    return (*launch_.saved)[resources.front()];
  }
  Speeds speeds;
  for (const Resource resource : resources) {
    speeds[resource] = 2;
    for (const Term& term : kRates) {
      speeds[term.resource] = resource == Resource::kRates ? 2 : speeds[term.resource];
    }
  }
  return 1 - time_us(speeds) / launch_.time_us;
}

double Bottleneck::own_saving(Resource resource) const {
  const double saved = saved_by_doubling({resource});
  const CycleBudget& budget = launch_.budget;
  const auto at_most_half = [&](double cycles) {
    return std::min(saved, cycles / launch_.clock_mhz / launch_.time_us / 2);
  };
  if (!launch_.saved) {
    return saved;
  }
  switch (resource) {
    case Resource::kTensor:
      return at_most_half(budget.tensor + budget.operand_fetch);
    case Resource::kSharedMemory:
      return at_most_half(budget.shared_memory);
    case Resource::kL2:
      return at_most_half(budget.l2);
    case Resource::kDram:
      return at_most_half(budget.dram);
    default:
      return saved;
  }
}

Resource Bottleneck::bound() const {
  Resource best = kResources.front();
  double most = own_saving(best);
  double by_chance = 0.01;
  for (const Resource resource : kResources) {
    const double saved = own_saving(resource);
    if (saved > most) {
      best = resource;
      most = saved;
    }
    by_chance = launch_.saved ? std::max(by_chance, -saved) : by_chance;
  }
  // Where nothing alone saves anything, several rates wait for each other: the one that works most.
  if (most < by_chance) {
    const auto slowest =
        std::max_element(kRates.begin(), kRates.end(), [this](const Term& left, const Term& right) {
          return launch_.form.*left.us < launch_.form.*right.us;
        });
    return slowest->resource;
  }
  return best;
}

Speeds Bottleneck::no_slower_than(double level_us) const {
  Speeds speeds;
  for (const Term& term : kRates) {
    const double stretch = term.resource == Resource::kDram ? 1 : 1 / clock_ratio_;
    speeds[term.resource] =
        std::max(speeds[term.resource], launch_.form.*term.us * stretch / level_us);
  }
  return speeds;
}

namespace {
// Of the time of a launch: what takes no time.
constexpr double kNoTime = 1e-9;
}  // namespace

double Bottleneck::waits_us() const {
  return time_us(no_slower_than(launch_.time_us * kNoTime));
}

double Bottleneck::in_form(double target_us) const {
  if (!launch_.saved || target_us >= launch_.time_us) {
    return target_us;
  }
  Speeds twice;
  for (const Term& term : kRates) {
    twice[term.resource] = 2;
  }
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
  double low = launch_.time_us * kNoTime;
  double high = launch_.time_us * 10;  // the closed form may be far off the time that was found
  for (int step = 0; step < 100; ++step) {
    const double level = (low + high) / 2;
    (time_us(no_slower_than(level)) > form_us ? high : low) = level;
  }
  return no_slower_than(low);
}

}  // namespace sptc::sim
