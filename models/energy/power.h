// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/cost_factor.h"
#include "models/energy/energy_table.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace sptc::energy {

/// Supply voltage by clock: piecewise linear, constant beyond its ends.
class VoltageCurve {
 public:
  struct Point {
    double mhz;
    double volts;
  };
  VoltageCurve() = default;
  /// At least one point, clocks ascending, voltages not descending and positive; else throws
  /// InputError.
  explicit VoltageCurve(std::vector<Point> points);

  double volts(double mhz) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

/// What flows whether anything happens or not.
struct StaticPower {
  double constant_w = 0;        ///< outside the SMs: I/O, regulators, memory at rest
  double leakage_per_sm_w = 0;  ///< of an SM that works, at leakage_volts
  double idle_sm_w = 0;         ///< of an SM without work, at leakage_volts
  double leakage_volts = 0;
  /// Reading of one board at rest; what it exceeds the static power of the chip that was read by
  /// belongs to the board. The one factor that differs between boards of a kind.
  double board_idle_w = 0;
  /// What an SM that works takes beside its leakage, whatever it computes: its clock and control.
  /// At leakage_volts and the clock at the end of the voltage curve.
  double busy_sm_w = 0;
};

/// A supply of a module that is read by itself, and what of each part of an energy it feeds.
struct Rail {
  std::string name;
  std::string evidence, source;  ///< why it is believed to feed that
  std::array<double, kEnergyParts> shares{};
};

/// A GPU as the power model sees it.
struct PowerSpec {
  EnergyTable table;
  VoltageCurve curve;
  StaticPower static_power;
  int sms = 0;
  /// SMs of the chip whose board was read at rest: not those of a design with more or fewer of
  /// them, which come and go without the board. 0: `sms`.
  int sms_at_rest = 0;
  double min_clock_mhz = 0;
  double boost_clock_mhz = 0;
  double loaded_clock_mhz = 0;  ///< highest that the board holds under load; 0: the boost clock
  double power_limit_w = 0;
  /// Times the limit that the board takes for a moment, before its mean has come to the limit.
  double burst_ratio = 1;
  int dot_width_bytes = 0;  ///< of each operand that a dot-product unit takes in one step
  /// How far the table may be from the truth; null: nobody says.
  std::shared_ptr<const CostFactors> factors;
  /// All that the power limit holds for, shared out: each part of an energy once. Empty: not known.
  std::vector<Rail> rails;

  /// Boost clock, or what the board holds under load where that is less.
  double highest_clock_mhz() const {
    return loaded_clock_mhz > 0 ? std::min(loaded_clock_mhz, boost_clock_mhz) : boost_clock_mhz;
  }
};

/// One launch: its events, which do not depend on the clock, and its duration, which does.
struct Work {
  EventCounts counts;
  std::function<double(double)> seconds_at;  ///< duration at a core clock in MHz; positive
  double busy_sms = 0;                       ///< SMs with work, averaged over the launch
  double busy_share = 1;                     ///< of the duration in which the tensor cores are fed; above 0
};

/// Where the energy of one launch goes, in picojoules.
struct EnergyBreakdown {
  DynamicEnergy dynamic;
  /// kStaticParts: leakage of SMs with work, their clock included; of SMs without; the rest of the
  /// chip; the board.
  std::array<double, kStaticParts.size()> static_pj{};

  double total_pj() const { return dynamic.total_pj() + std::accumulate(static_pj.begin(), static_pj.end(), 0.0); }
  /// Parts in the order of kEnergyPartNames.
  std::array<double, kEnergyParts> parts_pj() const {
    std::array<double, kEnergyParts> parts;
    std::ranges::copy(static_pj, std::ranges::copy(dynamic.event_pj, parts.begin()).out);
    return parts;
  }
};

struct PowerResult {
  double clock_mhz = 0;
  double seconds = 0;
  EnergyBreakdown energy;
  double average_w = 0;
  double peak_w = 0;            ///< while the tensor cores are fed; memory at its average
  bool limited = false;         ///< the power limit holds the clock below the clock asked for
  bool limit_exceeded = false;  ///< even the lowest clock takes more than the limit
};

/// `count` times the same work.
struct RepeatedWork {
  Work work;
  double count = 1;
};

/// Static watts of the chip whose board was read at rest. A board that is read for less has none of
/// its own.
double chip_at_rest_w(const PowerSpec& spec);

/// Watts at the lowest voltage while no SM works.
double idle_w(const PowerSpec& spec);

/// Energy and power of `work` at a fixed core clock.
PowerResult power_at(const PowerSpec& spec, const Work& work, double clock_mhz);

/// The highest clock, up to `clock_mhz`, at which the launch takes at most spec.power_limit_w: the
/// fixed point of power(clock) = limit. Power rises with the clock, so bisection finds it.
PowerResult power_limited(const PowerSpec& spec, const Work& work, double clock_mhz);

/// The same for work that alternates faster than the clock is regulated: one clock for all, at
/// which the power averaged over all of it is at most the limit. Single works may exceed it.
std::vector<PowerResult> power_limited(const PowerSpec& spec, std::span<const RepeatedWork> works, double clock_mhz);

}  // namespace sptc::energy
