// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/accuracy.h"

#include "sim/validate/accuracy_report.h"
#include "sim/validate/scatter_plot.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <vector>

namespace sptc::sim {
namespace {

Comparison row(std::int64_t n, double measured, double simulated) {
  return {{{1024, n, 1024}, measured, "test"}, simulated};
}

TEST(Accuracy, ErrorsAreRelativeToTheMeasuredTime) {
  const std::vector<Comparison> rows = {row(1, 100, 110), row(64, 100, 80), row(65, 200, 200),
                                        row(256, 10, 15)};
  const Accuracy accuracy = measure_accuracy(rows);
  EXPECT_EQ(accuracy.count, 4);
  EXPECT_NEAR(accuracy.mape_percent, (10 + 20 + 0 + 50) / 4.0, 1e-9);
  EXPECT_NEAR(accuracy.median_ape_percent, 15, 1e-9);
  EXPECT_NEAR(accuracy.bias_percent, (10 - 20 + 0 + 50) / 4.0, 1e-9);
  EXPECT_FALSE(accuracy.residual_correlation.has_value());
  ASSERT_EQ(accuracy.bands.size(), 2U);
  EXPECT_EQ(accuracy.bands[0].n_max, 64);
  EXPECT_EQ(accuracy.bands[0].count, 2);
  EXPECT_NEAR(accuracy.bands[0].bias_percent, -5, 1e-9);
  EXPECT_EQ(accuracy.bands[1].n_min, 65);
  EXPECT_NEAR(accuracy.worst.front().error(), 0.5, 1e-12);
}

/// Measured times: a roofline with a ripple of 20 % that repeats every 128 columns.
std::vector<Comparison> rippled(double ripple_of_simulation) {
  std::vector<Comparison> rows;
  for (std::int64_t n = 8; n <= 4096; n += 8) {
    const double trend = 5 + static_cast<double>(n) * 0.05;
    const double phase = std::sin(static_cast<double>(n) / 128 * 2 * M_PI);
    rows.push_back(row(n, trend * (1 + 0.2 * phase), trend * (1 + ripple_of_simulation * phase)));
  }
  return rows;
}

TEST(Accuracy, ResidualCorrelationTellsWhetherTheRippleIsPredicted) {
  EXPECT_GT(measure_accuracy(rippled(0.2)).residual_correlation.value(), 0.95);
  EXPECT_LT(measure_accuracy(rippled(-0.2)).residual_correlation.value(), -0.5);
  const Accuracy perfect = measure_accuracy(rippled(0.2));
  EXPECT_LT(perfect.mape_percent, 1e-9);
  EXPECT_GT(perfect.baseline_mape_percent.value(), 5);
}

TEST(AccuracyReport, JsonHasTheFiguresOfTheText) {
  const Accuracy accuracy = measure_accuracy(rippled(0));
  const ValidationHeader header{"a100", "f.csv", "analytic", "boost", {"a note"}, {}};
  const auto json = nlohmann::json::parse(accuracy_json(header, accuracy));
  for (const char* key : {"count", "mape_percent", "median_ape_percent", "p90_ape_percent",
                          "bias_percent", "residual_correlation", "bands", "worst"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["count"], 512);
  EXPECT_EQ(json["bands"][0]["n_max"], 64);
  EXPECT_NEAR(json["mape_percent"].get<double>(), accuracy.mape_percent, 1e-3);
  const std::string text = accuracy_text(header, accuracy);
  EXPECT_NE(text.find("512 measured GEMMs"), std::string::npos);
  EXPECT_NE(text.find("note: a note"), std::string::npos);
}

TEST(ScatterPlot, HasADotForEveryRowInsideItsFrame) {
  const std::vector<Comparison> rows = rippled(0.1);
  const std::string svg = scatter_plot(rows, "a <title> & more");
  std::size_t dots = 0;
  for (std::size_t at = svg.find("r='1.6'"); at != std::string::npos;
       at = svg.find("r='1.6'", at + 1)) {
    ++dots;
  }
  EXPECT_EQ(dots, rows.size());
  EXPECT_NE(svg.find("a &lt;title> &amp; more"), std::string::npos);
}

TEST(ScatterPlot, WritesTimesAtItsAxisHoweverLittleItSpans) {
  const auto plot_of = [](std::initializer_list<double> times) {
    std::vector<Comparison> rows;
    for (const double time : times) {
      rows.push_back({{{1, 1, 1}, time, ""}, time});
    }
    return scatter_plot(rows, "t");
  };
  for (const auto& [svg, ticks] :
       {std::pair(plot_of({0.02, 0.3}), std::vector<std::string>{"0.02", "0.05", "0.1", "0.2"}),
        {plot_of({20, 300}), {"20", "50", "100", "200"}},
        {plot_of({600}), {"540", "660"}},
        {plot_of({2, 30000}), {"10", "100", "1000", "10000"}}}) {
    for (const std::string& tick : ticks) {
      EXPECT_NE(svg.find("text-anchor='middle'>" + tick + "</text>"), std::string::npos) << tick;
    }
  }
  EXPECT_EQ(plot_of({2, 30000}).find(">20</text>"), std::string::npos);
}

}  // namespace
}  // namespace sptc::sim
