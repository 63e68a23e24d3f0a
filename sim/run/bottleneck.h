// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/resource.h"
#include "sim/run/run_result.h"

#include <array>
#include <optional>
#include <vector>

namespace sptc::sim {

/// Cycles in which `resource` works; 0 where it is none of kRates.
double busy_cycles(const CycleBudget& budget, Resource resource);

/// Those of kRates that work most, the busiest first.
std::array<Resource, 3> busiest_rates(const CycleBudget& budget);

/// Of the time of a launch. The share of the busiest resource, wait, calibration and launch are all
/// of it: what calibration adds is DRAM's first, as far as CycleBudget::dram_behind goes, and what
/// it takes away is wait.
struct TimeShares {
  double tensor = 0;         ///< multiplying
  double tail = 0;           ///< of that, on the busiest SM what the mean SM does not have
  double operand_fetch = 0;  ///< tensor cores wait for operands
  double shared_memory = 0;
  double sm_port = 0;
  double l2 = 0;
  double dram = 0;
  double wait = 0;  ///< not even the busiest of these works
  double launch = 0;
};

/// A launch whose kernel stays as it is while resources become faster: by its closed form, scaled
/// to the time that was found, or, for one that is twice as fast, as simulated where it was.
class Bottleneck {
 public:
  explicit Bottleneck(const VariantResult& launch);

  double time_us(const Speeds& speeds) const;
  /// Share of the time in which `resource`, one of kRates, works. Of calibration only what DRAM
  /// stores behind the cycles is work.
  double share(Resource resource) const;
  TimeShares shares() const;
  /// Share of the time that goes if `resources` are twice as fast.
  double saved_by_doubling(const std::vector<Resource>& resources) const;
  /// Of what was simulated to go, the part that `resources` can be thanked for: CTAs come in
  /// another order, so that a launch may gain more than half of the time in which they work, or end
  /// before the others have done their work. No more counts for what bounds the launch.
  double own_saving(const std::vector<Resource>& resources) const;
  /// Whether noticeably more than that went.
  bool saves_more_than_its_own(Resource resource) const;
  /// How much a launch changes by chance: what it was simulated to lose at most where a resource is
  /// twice as fast. 0 where that is next to nothing.
  double by_chance() const;
  /// Whether tensor cores that are twice as fast owe most of what that saves to their register
  /// banks. Only where that was simulated.
  bool waits_for_register_banks() const;
  /// The resource that saves most by itself.
  Resource best_alone() const;
  /// Whether no resource alone saves much.
  bool nothing_alone() const;
  /// Whether several resources `together` save so much more than one `alone` that this one does not
  /// bound the launch.
  static bool saves_much_more(double together, double alone);
  /// Where that is so and two rates save half as much again at least: these.
  std::optional<SavedByPair> together() const;
  /// What to name: the busier one of together(), where that was simulated; else best_alone(), where
  /// it saves anything (threshold::kSaves) and more than by_chance(); else the one that works most.
  /// Waits where not even the busiest rate works for long (threshold::kMostOfTheTime), unless
  /// another one was simulated to save something.
  Resource bound() const;
  /// How much faster bandwidths and tensor cores would have to be, each only as far as it is in the
  /// way, for the launch to take `target_us`. Nothing where waits and launch alone take longer.
  /// Between no change and all rates twice as fast, where that was simulated, the closed form only
  /// shares out.
  std::optional<Speeds> speeds_for(double target_us) const;
  /// What is left where bandwidths and tensor cores take no time.
  double waits_us() const;

 private:
  Speeds no_slower_than(double level_us) const;
  /// The time in closed form that is as far on the way to that of all rates twice as fast as
  /// `target_us` is on the simulated way.
  double in_form(double target_us) const;

  double in_sms_us(const KernelEstimate& form) const;
  /// Share of the time that `cycles` of the launch take, at its clock.
  double share_of_cycles(double cycles) const;
  /// share() with the calibration of the cycles in which `resource` works: what goes with them.
  double calibrated_share(Resource resource) const;
  /// The most that can go if `resources` are twice as fast, by the cycles in which each works.
  double most_saved(const std::vector<Resource>& resources) const;

  const VariantResult& launch_;
  double clock_ratio_ = 1;  ///< to the boost clock
  double scale_ = 1;        ///< time that was found, per time of the closed form
};

}  // namespace sptc::sim
