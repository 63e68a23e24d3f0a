// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/resource.h"
#include "sim/run/run_result.h"

#include <optional>
#include <vector>

namespace sptc::sim {

/// A launch whose kernel stays as it is while resources become faster: by its closed form, scaled
/// to the time that was found, or, for one that is twice as fast, as simulated where it was.
class Bottleneck {
 public:
  explicit Bottleneck(const VariantResult& launch);

  double time_us(const Speeds& speeds) const;
  /// Share of the time that goes if `resources` are twice as fast.
  double saved_by_doubling(const std::vector<Resource>& resources) const;
  /// The resource that saves most; where none saves a hundredth, the one that works most. What was
  /// simulated to save also has other reasons, as CTAs come in another order: of a rate no more
  /// counts than half of the time that it works, and nothing that is less than another resource
  /// twice as fast loses.
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
  /// Of what `resource` saves if it is twice as fast, the part that it can be thanked for.
  double own_saving(Resource resource) const;

  const VariantResult& launch_;
  double clock_ratio_ = 1;  ///< to the boost clock
  double scale_ = 1;        ///< time that was found, per time of the closed form
};

}  // namespace sptc::sim
