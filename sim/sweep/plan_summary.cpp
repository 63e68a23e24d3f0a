// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/plan_summary.h"

#include "sim/report/version.h"
#include "sim/report/words.h"
#include "sim/run/option_table.h"
#include "sim/run/run_options.h"
#include "sim/run/worker_pool.h"
#include "sim/sweep/cost_sets.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace sptc::sweep {
namespace {

using nlohmann::json;

constexpr const char* kFidelity = "fidelity";
constexpr std::size_t kWidth = 100;

/// Fills in what the same points would take in closed form, or why they cannot.
void add_closed_form(const SweepPlan& plan, PointRunner& runner, std::vector<EstimatedPoint> points,
                     PlanSummary& summary) {
  if (points.empty()) {
    return;
  }
  SweepSpec spec = plan.spec();
  if (spec.option_axis(kFidelity) != nullptr) {
    summary.no_closed_form = "the fidelity is an axis";
    return;
  }
  if (std::exchange(spec.options[kFidelity], "analytic") == "analytic") {
    return;
  }
  if (spec.option_axis("check") == nullptr) {
    spec.options["check"] = "none";  // the closed form computes no values
  }
  try {
    const SweepPlan closed = checked_plan(std::move(spec));
    const PointOutcome outcome = run_point(closed, runner, points.front().position);
    if (outcome.failed) {
      summary.no_closed_form = outcome.reason;
      return;
    }
    for (EstimatedPoint& point : points) {
      point.seconds = static_cast<float>(runner.estimated_seconds(closed, closed.point(point.position)));
    }
    summary.closed_form = estimate_time(closed, runner, points);
  } catch (const base::InputError& error) {
    summary.no_closed_form = error.what();
  }
}

std::vector<std::string> without_energies(const SweepSpec& spec) {
  std::vector<std::string> names;
  if (spec.options.contains("energy") || spec.option_axis("energy") != nullptr) {
    return names;
  }
  run::EnergyFiles files;
  for (const config::DocumentedArchitecture& given : spec.architectures) {
    if (run::energy_source("", given.value, files).name.empty()) {
      names.push_back(given.value.gpu.name);
    }
  }
  return names;
}

std::string describe_point(const SweepPlan& plan, std::uint64_t position) {
  std::string text;
  for (std::size_t axis = 0; axis < plan.spec().axes.size(); ++axis) {
    const SweepAxis& varied = plan.spec().axes[axis];
    if (axis < 2 && varied.values.size() == 1) {
      continue;  // the only workload, the only architecture
    }
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", varied.name, run::option_text(plan.value(axis, position)));
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
  return time.measured == 0 ? fmt::format("roughly {} with {} jobs; no point is short enough to be measured here\n",
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
std::optional<double> measured_seconds(const SweepPlan& plan, PointRunner& runner, std::uint64_t position,
                                       double limit_s) {
  using SteadyClock = std::chrono::steady_clock;
  const bool isolated = runner.needs_process(plan.point(position));
  if (!isolated) {
    run_point(plan, runner, position);  // files are read and operands sampled once per sweep
  }
  const auto start = SteadyClock::now();
  if (isolated) {
    run::WorkerPool child(1, [&](std::string_view, const run::WorkerPool::Send&) {
      run_point(plan, runner, position);
      return std::string();
    });
    run::request_of_one(child, "", {{}, {}, limit_s});
  } else {
    run_point(plan, runner, position);
  }
  const std::chrono::duration<double> spent = SteadyClock::now() - start;
  return spent.count() < limit_s ? std::optional(spent.count()) : std::nullopt;
}

}  // namespace

TimeEstimate estimate_time(const SweepPlan& plan, PointRunner& runner, std::span<EstimatedPoint> points,
                           double limit_s) {
  TimeEstimate estimate;
  for (const EstimatedPoint& point : points) {
    estimate.seconds += point.seconds;
  }
  estimate.low = estimate.high = estimate.seconds;
  if (points.empty()) {
    return estimate;
  }
  std::ranges::sort(points, [](const EstimatedPoint& a, const EstimatedPoint& b) {
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

PlanSummary summarize_plan(const SweepPlan& plan, PointRunner& runner, const SweepShard& shard, std::size_t first) {
  PlanSummary summary;
  std::vector<EstimatedPoint> estimated;
  for (const std::uint64_t position : positions_of(plan, shard)) {
    const SweepPoint point = plan.point(position);
    estimated.push_back({position, static_cast<float>(runner.estimated_seconds(plan, point))});
    if (summary.points++ < first) {
      summary.first.push_back(position);
    }
  }
  summary.time = estimate_time(plan, runner, estimated);
  summary.without_energies = without_energies(plan.spec());
  summary.evidence = evidence_lines(plan.spec());
  add_closed_form(plan, runner, std::move(estimated), summary);
  return summary;
}

std::string plan_text(const SweepPlan& plan, const PlanSummary& summary, std::size_t jobs) {
  std::string text =
      fmt::format("{}: {} points of {}; {}; axes: {}\n", plan.spec().name, summary.points, plan.product(),
                  made_by(plan.spec().document), fmt::join(plan.spec().axis_names(), ", ")) +
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
  for (const std::string& line : summary.evidence) {
    text += report::wrapped("evidence, " + line, kWidth);
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

std::string plan_json(const SweepPlan& plan, const PlanSummary& summary, std::size_t jobs) {
  json axes = json::array();
  for (const SweepAxis& axis : plan.spec().axes) {
    axes.push_back({{"name", axis.name}, {"values", axis.values.size()}});
  }
  json first = json::array();
  for (const std::uint64_t position : summary.first) {
    json values = json::object();
    for (std::size_t axis = 0; axis < plan.spec().axes.size(); ++axis) {
      values[plan.spec().axes[axis].name] = plan.value(axis, position);
    }
    first.push_back({{"position", position}, {"hash", plan.hash(plan.point(position))}, {"values", std::move(values)}});
  }
  const json root{{"schema", "sptcsim-sweep-plan/0.1"},
                  {"name", plan.spec().name},
                  {"version", report::program_version()},
                  {"points", summary.points},
                  {"product", plan.product()},
                  {"made_by", made_by(plan.spec().document)},
                  {"jobs", jobs},
                  {"time", time_json(summary.time, jobs)},
                  {"closed_form", summary.closed_form ? time_json(*summary.closed_form, jobs) : json(nullptr)},
                  {"no_closed_form", summary.no_closed_form},
                  {"without_energies", summary.without_energies},
                  {"evidence", summary.evidence},
                  {"axes", axes},
                  {"first", first}};
  return io::json_text(root, 2) + "\n";
}

}  // namespace sptc::sweep
