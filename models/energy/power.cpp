// SPDX-License-Identifier: Apache-2.0
#include "models/energy/power.h"

#include "models/base/error.h"

#include <algorithm>
#include <utility>

namespace sptc::energy {
namespace {

constexpr double kPicojoulesPerJoule = 1e12;
/// How exactly the clock at a power limit is found: far below any clock step.
constexpr double kClockToleranceMhz = 1e-6;

double square(double x) {
  return x * x;
}

/// What flows only while the tensor cores are fed: all that happens in the sub-partitions. The
/// memory side works on while they wait.
double fed_pj(const DynamicEnergy& energy) {
  double sum = 0;
  for (const Event event :
       {Event::kMultiply, Event::kAlignAdd, Event::kRound, Event::kOperandSelect, Event::kOperandLatch,
        Event::kMetadataRead, Event::kRegisterRead, Event::kRegisterWrite, Event::kInstructionIssue}) {
    sum += energy[event];
  }
  return sum;
}

/// A clock and by how much its power exceeds the limit.
struct Excess {
  double mhz = 0, watts = 0;
};

/// The last clock without excess between `low`, which has none, and `high`. False position: an end
/// that stays counts for half (Illinois), and every fourth step halves the interval.
template <typename ExcessAt>
double last_without_excess(Excess low, Excess high, const ExcessAt& excess_at) {
  int stayed = 0;  // how often the high end did in a row; negative: the low end
  for (int i = 1; high.mhz - low.mhz > kClockToleranceMhz; ++i) {
    const double width = high.mhz - low.mhz;
    const double share = i % 4 == 0 ? 0.5 : high.watts / (high.watts - low.watts);
    const double margin = 0.1 * kClockToleranceMhz;
    const Excess middle = excess_at(high.mhz - std::clamp(share * width, margin, width - margin));
    if (middle.watts <= 0) {
      low = middle;
      stayed = std::max(stayed, 0) + 1;
      high.watts *= stayed > 1 ? 0.5 : 1.0;
    } else {
      high = middle;
      stayed = std::min(stayed, 0) - 1;
      low.watts *= stayed < -1 ? 0.5 : 1.0;
    }
  }
  return low.mhz;
}

double board_w(const PowerSpec& spec) {
  return std::max(0.0, spec.static_power.board_idle_w - chip_at_rest_w(spec));
}

}  // namespace

VoltageCurve::VoltageCurve(std::vector<Point> points) : points_(std::move(points)) {
  if (points_.empty()) {
    throw base::InputError("a voltage curve needs at least one point");
  }
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!(points_[i].mhz > 0) || !(points_[i].volts > 0)) {
      throw base::InputError("a voltage curve has clocks and voltages above 0");
    }
    if (i > 0 && (points_[i].mhz <= points_[i - 1].mhz || points_[i].volts < points_[i - 1].volts)) {
      throw base::InputError("a voltage curve ascends in clock and does not descend in voltage");
    }
  }
}

double VoltageCurve::volts(double mhz) const {
  base::ensure(!points_.empty(), "energy: the voltage curve has no points");
  if (mhz <= points_.front().mhz) {
    return points_.front().volts;
  }
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const Point& low = points_[i - 1];
    const Point& high = points_[i];
    if (mhz <= high.mhz) {
      return low.volts + (high.volts - low.volts) * (mhz - low.mhz) / (high.mhz - low.mhz);
    }
  }
  return points_.back().volts;
}

double chip_at_rest_w(const PowerSpec& spec) {
  const int sms = spec.sms_at_rest > 0 ? spec.sms_at_rest : spec.sms;
  return spec.static_power.constant_w + sms * spec.static_power.leakage_per_sm_w;
}

double idle_w(const PowerSpec& spec) {
  const StaticPower& flow = spec.static_power;
  const double leakage = square(spec.curve.volts(0) / flow.leakage_volts);
  return board_w(spec) + flow.constant_w + spec.sms * flow.idle_sm_w * leakage;
}

PowerResult power_at(const PowerSpec& spec, const Work& work, double clock_mhz) {
  const StaticPower& flow = spec.static_power;
  const double volts = spec.curve.volts(clock_mhz);
  const double clocks = flow.busy_sm_w > 0 ? clock_mhz / spec.curve.points().back().mhz * flow.busy_sm_w : 0;
  PowerResult result;
  result.clock_mhz = clock_mhz;
  result.seconds = work.seconds_at(clock_mhz);
  base::ensure(result.seconds > 0 && work.busy_share > 0, "energy: a launch without duration");
  const double busy_sms = std::min(work.busy_sms, static_cast<double>(spec.sms));
  const double pj_per_watt = result.seconds * kPicojoulesPerJoule;
  // Leakage current grows with the voltage (drain-induced barrier lowering); with the voltage
  // itself that is about a square between 0.7 and 1 V.
  const double leakage = square(volts / flow.leakage_volts);

  EnergyBreakdown& energy = result.energy;
  energy.dynamic = dynamic_energy(work.counts, spec.table, volts);
  energy.static_pj = {busy_sms * (flow.leakage_per_sm_w + clocks) * leakage * pj_per_watt,
                      (spec.sms - busy_sms) * flow.idle_sm_w * leakage * pj_per_watt, flow.constant_w * pj_per_watt,
                      board_w(spec) * pj_per_watt};

  result.average_w = energy.total_pj() / pj_per_watt;
  const double fed_w = fed_pj(energy.dynamic) / pj_per_watt;
  result.peak_w = result.average_w + fed_w * (1 / std::min(work.busy_share, 1.0) - 1);
  return result;
}

PowerResult power_limited(const PowerSpec& spec, const Work& work, double clock_mhz) {
  const RepeatedWork once{work, 1};
  return power_limited(spec, std::span(&once, 1), clock_mhz).front();
}

std::vector<PowerResult> power_limited(const PowerSpec& spec, std::span<const RepeatedWork> works, double clock_mhz) {
  base::ensure(!works.empty(), "energy: no work to limit the power of");
  std::vector<PowerResult> results(works.size());
  const auto average_w = [&](double mhz) {
    double pj = 0;
    double seconds = 0;
    for (std::size_t i = 0; i < works.size(); ++i) {
      results[i] = power_at(spec, works[i].work, mhz);
      pj += works[i].count * results[i].energy.total_pj();
      seconds += works[i].count * results[i].seconds;
    }
    return pj / (seconds * kPicojoulesPerJoule);
  };
  const auto excess_at = [&](double mhz) { return Excess{mhz, average_w(mhz) - spec.power_limit_w}; };
  const Excess asked = excess_at(clock_mhz);
  if (asked.watts <= 0) {
    return results;
  }
  const Excess lowest = excess_at(std::min(spec.min_clock_mhz, clock_mhz));
  const bool exceeded = lowest.watts > 0;
  if (!exceeded) {
    average_w(last_without_excess(lowest, asked, excess_at));
  }
  for (PowerResult& result : results) {
    result.limited = true;
    result.limit_exceeded = exceeded;
  }
  return results;
}

}  // namespace sptc::energy
