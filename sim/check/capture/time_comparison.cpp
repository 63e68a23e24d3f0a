// SPDX-License-Identifier: Apache-2.0
#include "sim/check/capture/capture_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace sptc::check::capture {
namespace {

constexpr double kLeastTolerance = 0.02;
constexpr double kCommonFactor = 0.01;    // off by more than this, and
constexpr double kCommonSpread = 0.005;   // all by about the same
constexpr double kNormalSpread = 1.4826;  // standard deviation of a normal over its MAD
constexpr double kOutside = 4;            // standard deviations
constexpr std::size_t kLeastRows = 3;     // with fewer, nobody can say which one is off
constexpr std::size_t kMaxSentences = 8;

struct Point {
  const TimedRow* row;
  double ratio;  // measured / simulated: time, power or clock
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// What the findings about a quantity say.
struct Words {
  std::string_view noun, common, single, explanation;
};
Words words_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kPower:
      return {"power", "common-power", "one-power", "another board, supply voltage or temperature"};
    case Quantity::kClock:
      return {"clock", "common-clock", "one-clock", "another power, or another limit"};
    case Quantity::kTime:
      break;
  }
  return {"time", "clock", "one-time", "another clock, or an overhead common to all"};
}

std::string percent(double ratio) {
  return fmt::format("{:+.1f} %", 100 * (ratio - 1));
}

class Group {
 public:
  explicit Group(std::vector<Point> points) : points_(std::move(points)) {
    std::vector<double> ratios;
    for (const Point& point : points_) {
      ratios.push_back(point.ratio);
    }
    middle_ = median(ratios);
    for (double& ratio : ratios) {
      ratio = std::fabs(ratio / middle_ - 1);
    }
    spread_ = median(ratios);
    tolerance_ = std::max(kLeastTolerance, kOutside * kNormalSpread * spread_);
  }

  void explain(std::vector<TimeFinding>& findings) const {
    if (std::fabs(middle_ - 1) > kCommonFactor && spread_ < kCommonSpread) {
      findings.push_back(
          {words().common,
           fmt::format("{}: the measured {}s of {} rows are all {} off the simulated ones: {}",
                       points_.front().row->group, words().noun, points_.size(), percent(middle_),
                       words().explanation)});
    }
    std::vector<Point> outside;
    for (const Point& point : points_) {
      if (is_outside(point)) {
        outside.push_back(point);
      }
    }
    if (outside.empty() || explain_sparse(outside, findings)) {
      return;
    }
    explain_single(explain_instructions(outside, findings), findings);
  }

 private:
  Words words() const { return words_of(points_.front().row->quantity); }

  bool is_outside(const Point& point) const {
    return std::fabs(point.ratio / middle_ - 1) > tolerance_;
  }

  std::string others() const {
    return fmt::format("the middle of the {} rows is {}, their spread {:.1f} %", points_.size(),
                       percent(middle_), 100 * kNormalSpread * spread_);
  }

  bool explain_sparse(const std::vector<Point>& outside, std::vector<TimeFinding>& findings) const {
    const auto sparse = static_cast<std::size_t>(
        std::ranges::count_if(points_, [](const Point& p) { return p.row->sparse; }));
    const bool all = outside.size() == sparse && sparse > 1 && sparse < points_.size() &&
                     std::ranges::all_of(outside, [](const Point& p) { return p.row->sparse; });
    if (all) {
      findings.push_back(
          {"sparse", fmt::format("{}: all {} sparse rows are off, from {} to {}; {}",
                                 outside.front().row->group, sparse, percent(least(outside)),
                                 percent(most(outside)), others())});
    }
    return all;
  }

  static double least(const std::vector<Point>& points) {
    return std::ranges::min_element(points, {}, &Point::ratio)->ratio;
  }
  static double most(const std::vector<Point>& points) {
    return std::ranges::max_element(points, {}, &Point::ratio)->ratio;
  }

  /// Takes out the instructions of which every row is off.
  std::vector<Point> explain_instructions(const std::vector<Point>& outside,
                                          std::vector<TimeFinding>& findings) const {
    std::map<std::string, std::vector<Point>> by_subject;
    for (const Point& point : points_) {
      by_subject[point.row->subject].push_back(point);
    }
    std::vector<Point> rest = outside;
    for (const auto& rows : by_subject) {
      const std::string& subject = rows.first;
      const std::vector<Point>& points = rows.second;
      const bool whole = points.size() > 1 && points.size() < points_.size() &&
                         std::ranges::all_of(points, [&](const Point& p) { return is_outside(p); });
      if (whole) {
        findings.push_back(
            {"instruction", fmt::format("{}: all {} rows of {} are off, from {} to {}; {}",
                                        points.front().row->group, points.size(), subject,
                                        percent(least(points)), percent(most(points)), others())});
        std::erase_if(rest, [&](const Point& p) { return p.row->subject == subject; });
      }
    }
    return rest;
  }

  void explain_single(const std::vector<Point>& outside, std::vector<TimeFinding>& findings) const {
    for (std::size_t i = 0; i < std::min(outside.size(), kMaxSentences); ++i) {
      const TimedRow& row = *outside[i].row;
      findings.push_back(
          {words().single,
           fmt::format(
               "{}: {}, {}: measured {:.6g} {}, simulated {:.6g}: the measured {} is off by "
               "{}; {}",
               row.group, row.subject, row.point, row.measured, row.unit, *row.simulated,
               words().noun, percent(outside[i].ratio), others())});
    }
    if (outside.size() > kMaxSentences) {
      findings.push_back(
          {words().single, fmt::format("{}: {} more rows are off", outside.front().row->group,
                                       outside.size() - kMaxSentences)});
    }
  }

  std::vector<Point> points_;
  double middle_ = 1;
  double spread_ = 0;
  double tolerance_ = kLeastTolerance;
};

}  // namespace

std::optional<double> TimedRow::deviation() const {
  return simulated ? std::optional(*simulated / measured - 1) : std::nullopt;
}

std::vector<TimeFinding> explain_times(const std::vector<TimedRow>& rows) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<Point>> groups;
  for (const TimedRow& row : rows) {
    if (!row.simulated) {
      continue;
    }
    if (!groups.contains(row.group)) {
      order.push_back(row.group);
    }
    groups[row.group].push_back({&row, row.is_rate && row.quantity == Quantity::kTime
                                           ? *row.simulated / row.measured
                                           : row.measured / *row.simulated});
  }
  std::vector<TimeFinding> findings;
  for (const std::string& name : order) {
    if (groups[name].size() >= kLeastRows) {
      Group(groups[name]).explain(findings);
    }
  }
  return findings;
}

}  // namespace sptc::check::capture
