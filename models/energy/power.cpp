// SPDX-License-Identifier: Apache-2.0
#include "models/energy/power.h"

#include "models/base/error.h"

#include <algorithm>
#include <utility>

namespace sptc::energy {
namespace {

constexpr double kPicojoulesPerJoule = 1e12;
/// Halvings of the clock interval: 2 GHz / 2^40 is far below any clock step.
constexpr int kBisections = 40;

double square(double x) {
  return x * x;
}

/// What flows only while the tensor cores are fed: all that happens in the sub-partitions. The
/// memory side works on while they wait.
double fed_pj(const DynamicEnergy& energy) {
  double sum = 0;
  for (const Event event :
       {Event::kMultiply, Event::kAlignAdd, Event::kRound, Event::kOperandSelect,
        Event::kOperandLatch, Event::kMetadataRead, Event::kRegisterRead, Event::kRegisterWrite,
        Event::kInstructionIssue}) {
    sum += energy[event];
  }
  return sum;
}

/// What belongs to the board.
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
    if (i > 0 &&
        (points_[i].mhz <= points_[i - 1].mhz || points_[i].volts < points_[i - 1].volts)) {
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
  energy.leakage_pj = busy_sms * flow.leakage_per_sm_w * leakage * pj_per_watt;
  energy.idle_sms_pj = (spec.sms - busy_sms) * flow.idle_sm_w * leakage * pj_per_watt;
  energy.constant_pj = flow.constant_w * pj_per_watt;
  energy.board_pj = board_w(spec) * pj_per_watt;

  result.average_w = energy.total_pj() / pj_per_watt;
  const double fed_w = fed_pj(energy.dynamic) / pj_per_watt;
  result.peak_w = result.average_w + fed_w * (1 / std::min(work.busy_share, 1.0) - 1);
  return result;
}

PowerResult power_limited(const PowerSpec& spec, const Work& work, double clock_mhz) {
  const RepeatedWork once{work, 1};
  return power_limited(spec, std::span(&once, 1), clock_mhz).front();
}

std::vector<PowerResult> power_limited(const PowerSpec& spec, std::span<const RepeatedWork> works,
                                       double clock_mhz) {
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
  if (average_w(clock_mhz) <= spec.power_limit_w) {
    return results;
  }
  double low = std::min(spec.min_clock_mhz, clock_mhz);
  const bool exceeded = average_w(low) > spec.power_limit_w;
  double high = clock_mhz;
  for (int i = 0; i < kBisections && !exceeded; ++i) {
    const double middle = (low + high) / 2;
    (average_w(middle) <= spec.power_limit_w ? low : high) = middle;
  }
  average_w(low);
  for (PowerResult& result : results) {
    result.limited = true;
    result.limit_exceeded = exceeded;
  }
  return results;
}

}  // namespace sptc::energy
