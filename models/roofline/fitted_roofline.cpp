// SPDX-License-Identifier: Apache-2.0
#include "models/roofline/fitted_roofline.h"

#include "models/base/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace sptc::roofline {
namespace {

constexpr std::size_t kConstants = 4;
// The search halves its step this often: 0.4 / 2^9 is less than 0.1 % of a constant.
constexpr int kHalvings = 9;
constexpr double kFirstStep = 0.4;
// The rate of a usual row, of the best that any row reached.
constexpr double kUsualShare = 0.8;
// Rows that the fit looks at; a few thousand fix four constants as well as all.
constexpr std::size_t kRows = 4000;

/// The constants as the search moves them: logarithms, so that steps are relative. The exponent is
/// at least 1.
using Point = std::array<double, kConstants>;

FittedRoofline at(const Point& point) {
  return {std::exp(point[0]), std::exp(point[1]), std::exp(point[2]), 1 + std::exp(point[3])};
}

double mean_error(const Point& point, std::span<const TimedGemm> rows, std::size_t stride) {
  const FittedRoofline roofline = at(point);
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows.size(); i += stride) {
    sum += std::abs(roofline.time_us(rows[i].work) / rows[i].time_us - 1);
    ++count;
  }
  return sum / static_cast<double>(count);
}

struct Descent {
  Point point;
  double error = 0;
};

/// One constant after the other, in ever smaller steps.
Descent descend(const Point& start, std::span<const TimedGemm> rows, std::size_t stride) {
  Descent best{start, mean_error(start, rows, stride)};
  double step = kFirstStep;
  for (int halving = 0; halving < kHalvings; step /= 2, ++halving) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < kConstants; ++i) {
        for (const double sign : {1.0, -1.0}) {
          Point next = best.point;
          next[i] += sign * step;
          const double error = mean_error(next, rows, stride);
          if (error < best.error) {
            best = {next, error};
            moved = true;
          }
        }
      }
    }
  }
  return best;
}

}  // namespace

GemmWork work_of(const base::GemmShape& shape, const ElementBytes& bytes) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  return {2 * m * n * k, m * k * bytes.a + n * k * bytes.b + m * n * bytes.d};
}

double FittedRoofline::time_us(const GemmWork& work) const {
  const double compute = work.flop / flop_per_us;
  const double memory = work.bytes / bytes_per_us;
  return fixed_us + std::pow(std::pow(compute, exponent) + std::pow(memory, exponent), 1 / exponent);
}

FittedRoofline fit_roofline(std::span<const TimedGemm> measured) {
  base::ensure(measured.size() >= kFewestRows, "four constants cannot be fitted to so few rows");
  const std::size_t stride = std::max<std::size_t>(1, measured.size() / kRows);
  // Start: the best rates that any row reached, and half of the shortest time.
  double rate = 0;
  double bandwidth = 0;
  double shortest = measured.front().time_us;
  for (const TimedGemm& row : measured) {
    rate = std::max(rate, row.work.flop / row.time_us);
    bandwidth = std::max(bandwidth, row.work.bytes / row.time_us);
    shortest = std::min(shortest, row.time_us);
  }
  Descent best{{}, std::numeric_limits<double>::infinity()};
  // The exponent trades against both rates: descents from several of it end in different places.
  for (const double above_one : {0.25, 0.5, 1.0, 2.0}) {
    const Descent found = descend(
        {std::log(kUsualShare * rate), std::log(kUsualShare * bandwidth), std::log(shortest / 2), std::log(above_one)},
        measured, stride);
    best = found.error < best.error ? found : best;
  }
  return at(best.point);
}

}  // namespace sptc::roofline
