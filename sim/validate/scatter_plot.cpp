// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/scatter_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace sptc::sim {
namespace {

constexpr double kWidth = 900, kHeight = 520;
constexpr double kLeft = 70, kRight = 20, kTop = 48, kBottom = 56;
// The ratio axis: a factor of two each way; what lies beyond is drawn at the edge.
constexpr double kMaxRatio = 2.0;
constexpr std::size_t kMany = 300;  // dots of which each is small

struct Band {
  std::int64_t n_max;
  const char* color;
  const char* label;
};
// Colours that stay apart for colour-blind readers (Okabe and Ito).
constexpr std::array<Band, 4> kBands = {{{64, "#E69F00", "n to 64"},
                                         {256, "#56B4E9", "65 to 256"},
                                         {1024, "#009E73", "257 to 1024"},
                                         {INT64_MAX, "#CC79A7", "above 1024"}}};

const Band& band_of(std::int64_t n) {
  return *std::find_if(kBands.begin(), kBands.end(), [n](const Band& b) { return n <= b.n_max; });
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  }
  return out;
}

/// Logarithmic axes.
struct Axes {
  double t_min, t_max;

  double x(double time) const {
    return kLeft + (kWidth - kLeft - kRight) * std::log(time / t_min) / std::log(t_max / t_min);
  }
  /// Times to write at the axis: powers of ten, and what lies between where they are few.
  std::vector<double> ticks() const {
    std::vector<double> decades = multiples({1});
    if (decades.size() > 2) {
      return decades;
    }
    const std::vector<double> between = multiples({1, 2, 5});
    return between.size() > 1 ? between : std::vector<double>{t_min, t_max};
  }
  std::vector<double> multiples(std::initializer_list<int> of_powers) const {
    std::vector<double> found;
    double power = std::pow(10.0, std::floor(std::log10(t_min)));
    while (power <= t_max) {
      for (const int factor : of_powers) {
        if (factor * power >= t_min && factor * power <= t_max) {
          found.push_back(factor * power);
        }
      }
      power *= 10;
    }
    return found;
  }
  double y(double ratio) const {
    const double clamped = std::clamp(ratio, 1 / kMaxRatio, kMaxRatio);
    const double middle = (kTop + kHeight - kBottom) / 2;
    return middle - (kHeight - kTop - kBottom) / 2 * std::log(clamped) / std::log(kMaxRatio);
  }
};

void draw_axes(std::string& svg, const Axes& axes) {
  const auto add = [&](auto&&... args) { fmt::format_to(std::back_inserter(svg), args...); };
  for (const double ratio : {0.5, 0.67, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0}) {
    const bool marked = ratio == 1.0;
    const bool dashed = ratio == 0.9 || ratio == 1.1;
    add(fmt::runtime("<line x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}' stroke='{}'{}/>"
                     "<text x='{}' y='{:.1f}' text-anchor='end'>{}</text>\n"),
        kLeft, kWidth - kRight, axes.y(ratio), axes.y(ratio),
        marked ? "#000" : (dashed ? "#888" : "#ddd"), dashed ? " stroke-dasharray='6 4'" : "",
        kLeft - 6, axes.y(ratio) + 4, ratio);
  }
  for (const double time : axes.ticks()) {
    add(fmt::runtime("<line x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}' stroke='#ddd'/>"
                     "<text x='{0:.1f}' y='{3}' text-anchor='middle'>{4:.6g}</text>\n"),
        axes.x(time), kTop, kHeight - kBottom, kHeight - kBottom + 18, time);
  }
  add(fmt::runtime("<text x='{}' y='{}' text-anchor='middle'>measured time, microseconds</text>\n"
                   "<text transform='translate(18 {}) rotate(-90)' text-anchor='middle'>simulated "
                   "/ measured</text>\n"),
      (kLeft + kWidth - kRight) / 2, kHeight - 14, (kTop + kHeight - kBottom) / 2);
}

}  // namespace

std::string scatter_plot(std::span<const Comparison> rows, const std::string& title) {
  Axes axes{rows.front().measured.time_us, rows.front().measured.time_us};
  for (const Comparison& row : rows) {
    axes.t_min = std::min(axes.t_min, row.measured.time_us);
    axes.t_max = std::max(axes.t_max, row.measured.time_us);
  }
  axes.t_min *= 0.9;
  axes.t_max *= 1.1;
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
      "font-family='sans-serif' font-size='12'>\n<rect width='{0}' height='{1}' fill='#fff'/>\n"
      "<text x='{2}' y='20' font-size='15'>{3}</text>\n",
      kWidth, kHeight, kLeft, escaped(title));
  double legend = kLeft;
  for (const Band& band : kBands) {
    fmt::format_to(std::back_inserter(svg),
                   "<circle cx='{}' cy='34' r='4' fill='{}'/><text x='{}' y='38'>{}</text>\n",
                   legend + 4, band.color, legend + 12, band.label);
    legend += 110;
  }
  draw_axes(svg, axes);
  for (const Comparison& row : rows) {
    fmt::format_to(std::back_inserter(svg),
                   "<circle cx='{:.1f}' cy='{:.1f}' r='{}' fill='{}' fill-opacity='0.55'/>\n",
                   axes.x(row.measured.time_us), axes.y(row.simulated_us / row.measured.time_us),
                   rows.size() > kMany ? 1.6 : 3.5, band_of(row.measured.shape.n).color);
  }
  svg += "</svg>\n";
  return svg;
}

}  // namespace sptc::sim
