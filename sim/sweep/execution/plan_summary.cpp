// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/execution/plan_summary.h"

#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/report/version.h"
#include "sim/run/option_table.h"
#include "sim/run/run_options.h"
#include "sim/sweep/executors/local_executor.h"
#include "sim/sweep/space/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

namespace sptc::sweep::execution {
namespace {

using nlohmann::json;

constexpr std::string_view kFidelity = "fidelity";

bool is_axis(const space::SweepSpec& spec, std::string_view option) {
  return std::any_of(spec.axes.begin(), spec.axes.end(), [&](const space::SweepAxis& axis) {
    return axis.kind == space::SweepAxis::Kind::kOption && axis.target == option;
  });
}

/// Whether some points are not in closed form.
bool has_other_fidelity(const space::SweepSpec& spec) {
  const auto found = spec.options.find(std::string(kFidelity));
  return is_axis(spec, kFidelity) || found == spec.options.end() || found->second != "analytic";
}

/// Fills in what the same points would take in closed form, or why they cannot.
void add_closed_form(const space::SweepPlan& plan, point::PointRunner& runner,
                     std::vector<EstimatedPoint> points, PlanSummary& summary) {
  if (points.empty() || !has_other_fidelity(plan.spec())) {
    return;
  }
  if (is_axis(plan.spec(), kFidelity)) {
    summary.no_closed_form = "the fidelity is an axis";
    return;
  }
  space::SweepSpec spec = plan.spec();
  spec.options[std::string(kFidelity)] = "analytic";
  if (!is_axis(spec, "check")) {
    spec.options["check"] = "none";  // the closed form computes no values
  }
  try {
    const space::SweepPlan closed =
        space::checked_plan(std::move(spec), std::string(report::program_version()));
    executors::PointWorker worker(closed, runner, {});
    const point::PointOutcome outcome = worker.run(points.front().position);
    if (outcome.failed) {
      summary.no_closed_form = outcome.reason;
      return;
    }
    for (EstimatedPoint& point : points) {
      point.seconds =
          static_cast<float>(runner.estimated_seconds(closed, closed.point(point.position)));
    }
    summary.closed_form = estimate_time(closed, runner, points);
  } catch (const base::InputError& error) {
    summary.no_closed_form = error.what();
  }
}

std::vector<std::string> without_energies(const space::SweepSpec& spec) {
  std::vector<std::string> names;
  if (spec.options.contains("energy") || is_axis(spec, "energy")) {
    return names;
  }
  run::EnergyFiles files;
  for (const space::SweepArchitecture& given : spec.architectures) {
    const config::Architecture architecture = space::architecture_of(given);
    if (run::energy_source("", architecture, files).name.empty()) {
      names.push_back(given.name);
    }
  }
  return names;
}

std::string describe_point(const space::SweepPlan& plan, std::uint64_t position) {
  std::string text;
  for (std::size_t axis = 0; axis < plan.spec().axes.size(); ++axis) {
    const space::SweepAxis& varied = plan.spec().axes[axis];
    if (axis < 2 && varied.values.size() == 1) {
      continue;  // the only workload, the only architecture
    }
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", varied.name,
                        run::option_text(plan.value(axis, position)));
  }
  return text;
}

std::string duration(double seconds) {
  return seconds < 120    ? fmt::format("{:.1f} s", seconds)
         : seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60)
         : seconds < 2e5  ? fmt::format("{:.1f} h", seconds / 3600)
                          : fmt::format("{:.0f} days", seconds / 86400);
}

std::string time_line(const TimeEstimate& time, std::size_t jobs) {
  const auto shared = static_cast<double>(jobs);
  return time.measured == 0
             ? fmt::format(
                   "roughly {} with {} jobs; no point is short enough to be measured here\n",
                   duration(time.seconds / shared), jobs)
             : fmt::format("about {} with {} jobs ({} to {}: {} points measured now)\n",
                           duration(time.seconds / shared), jobs, duration(time.low / shared),
                           duration(time.high / shared), time.measured);
}

json time_json(const TimeEstimate& time, std::size_t jobs) {
  const auto shared = static_cast<double>(jobs);
  return {{"seconds", time.seconds / shared},
          {"low", time.low / shared},
          {"high", time.high / shared},
          {"measured", time.measured}};
}

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

PlanSummary summarize_plan(const space::SweepPlan& plan, point::PointRunner& runner,
                           const SweepShard& shard, std::size_t first) {
  PlanSummary summary;
  std::vector<EstimatedPoint> estimated;
  for (const std::uint64_t position : positions_of(plan, shard)) {
    const space::SweepPoint point = plan.point(position);
    estimated.push_back({position, static_cast<float>(runner.estimated_seconds(plan, point))});
    if (summary.points++ < first) {
      summary.first.push_back(position);
    }
  }
  summary.time = estimate_time(plan, runner, estimated);
  summary.without_energies = without_energies(plan.spec());
  add_closed_form(plan, runner, std::move(estimated), summary);
  return summary;
}

std::string plan_text(const space::SweepPlan& plan, const PlanSummary& summary, std::size_t jobs) {
  std::vector<std::string> axes;
  for (const space::SweepAxis& axis : plan.spec().axes) {
    axes.push_back(axis.name);
  }
  std::string text =
      fmt::format("{}: {} points of {}; {}; axes: {}\n", plan.spec().name, summary.points,
                  plan.product(), space::made_by(plan.spec().document), fmt::join(axes, ", ")) +
      time_line(summary.time, jobs);
  if (summary.closed_form) {
    text += "in closed form (--fidelity analytic): " + time_line(*summary.closed_form, jobs);
  } else if (!summary.no_closed_form.empty()) {
    text += fmt::format("in closed form: not these points: {}\n", summary.no_closed_form);
  }
  if (!summary.without_energies.empty()) {
    text += fmt::format("without energies: {}; their points have no energy and no area\n",
                        fmt::join(summary.without_energies, ", "));
  }
  text += fmt::format("\n{:>10}  {:<12}  {}\n", "position", "hash", "point");
  for (const std::uint64_t position : summary.first) {
    text += fmt::format("{:>10}  {}  {}\n", position, plan.hash(plan.point(position)).substr(0, 12),
                        describe_point(plan, position));
  }
  if (summary.points > summary.first.size()) {
    text += fmt::format("       ...  {} more (--first N)\n", summary.points - summary.first.size());
  }
  return text;
}

std::string plan_json(const space::SweepPlan& plan, const PlanSummary& summary, std::size_t jobs) {
  json axes = json::array();
  for (const space::SweepAxis& axis : plan.spec().axes) {
    axes.push_back({{"name", axis.name}, {"values", axis.values.size()}});
  }
  json first = json::array();
  for (const std::uint64_t position : summary.first) {
    json values = json::object();
    for (std::size_t axis = 0; axis < plan.spec().axes.size(); ++axis) {
      values[plan.spec().axes[axis].name] = plan.value(axis, position);
    }
    first.push_back({{"position", position},
                     {"hash", plan.hash(plan.point(position))},
                     {"values", std::move(values)}});
  }
  const json root{
      {"schema", "sptcsim-sweep-plan/0.1"},
      {"name", plan.spec().name},
      {"version", report::program_version()},
      {"points", summary.points},
      {"product", plan.product()},
      {"made_by", space::made_by(plan.spec().document)},
      {"jobs", jobs},
      {"time", time_json(summary.time, jobs)},
      {"closed_form", summary.closed_form ? time_json(*summary.closed_form, jobs) : json(nullptr)},
      {"no_closed_form", summary.no_closed_form},
      {"without_energies", summary.without_energies},
      {"axes", axes},
      {"first", first}};
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace sptc::sweep::execution
