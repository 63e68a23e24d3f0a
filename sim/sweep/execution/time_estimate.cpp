// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/execution/time_estimate.h"

#include "sim/sweep/executors/worker.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>

namespace sptc::sweep::execution {
namespace {

/// Seconds of one point; nothing where it was not done in time.
std::optional<double> measured_seconds(const space::SweepPlan& plan, point::PointRunner& runner,
                                       std::uint64_t position, double limit_s) {
  using SteadyClock = std::chrono::steady_clock;
  const bool isolated = runner.needs_process(plan, plan.point(position));
  executors::PointLimits limits;
  if (isolated) {
    limits.timeout_s = limit_s;
  }
  executors::PointWorker worker(plan, runner, limits);
  if (!isolated) {
    worker.run(position);  // files are read and operands sampled once per sweep
  }
  const auto start = SteadyClock::now();
  worker.run(position);
  const std::chrono::duration<double> spent = SteadyClock::now() - start;
  return spent.count() < limit_s ? std::optional(spent.count()) : std::nullopt;
}

}  // namespace

TimeEstimate estimate_time(const space::SweepPlan& plan, point::PointRunner& runner,
                           std::span<EstimatedPoint> points, double limit_s) {
  TimeEstimate estimate;
  for (const EstimatedPoint& point : points) {
    estimate.seconds += point.seconds;
  }
  estimate.low = estimate.high = estimate.seconds;
  if (points.empty()) {
    return estimate;
  }
  std::sort(points.begin(), points.end(), [](const EstimatedPoint& a, const EstimatedPoint& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.position < b.position;
  });
  std::set<std::uint64_t> tried;
  double logarithms = 0;
  double least = 0;
  double most = 0;
  for (const std::size_t at : {std::size_t{0}, points.size() / 2, points.size() * 9 / 10}) {
    const EstimatedPoint& point = points[at];
    if (point.seconds > limit_s || !tried.insert(point.position).second) {
      continue;
    }
    if (const auto seconds = measured_seconds(plan, runner, point.position, limit_s)) {
      const double ratio = *seconds / point.seconds;
      least = estimate.measured == 0 ? ratio : std::min(least, ratio);
      most = std::max(most, ratio);
      logarithms += std::log(ratio);
      ++estimate.measured;
    }
  }
  if (estimate.measured > 0) {
    estimate.low = estimate.seconds * least;
    estimate.high = estimate.seconds * most;
    estimate.seconds *= std::exp(logarithms / estimate.measured);
  }
  return estimate;
}

}  // namespace sptc::sweep::execution
