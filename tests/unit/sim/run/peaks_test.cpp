// SPDX-License-Identifier: Apache-2.0
#include "sim/run/peaks.h"

#include "sim/config/architecture.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace sptc::run {
namespace {

using numerics::DataType;

/// "f16/f32" to dense and sparse TFLOP/s; sparse 0: there is none.
std::map<std::string, std::pair<double, double>> peaks(const std::string& board) {
  std::map<std::string, std::pair<double, double>> found;
  for (const Peak& peak : peaks_of(config::load_architecture(board).gpu)) {
    const std::string name = std::string(kernels::name(peak.operands)) + "/" + std::string(numerics::name(peak.sums));
    found[name] = {peak.dense_tflops, peak.sparse_tflops.value_or(0)};
  }
  return found;
}

/// As the data sheet or the whitepaper of the board prints them.
void expect_peaks(const std::string& board, const std::map<std::string, std::pair<double, double>>& expected) {
  const auto found = peaks(board);
  EXPECT_EQ(found.size(), expected.size()) << board;
  for (const auto& [name, rates] : expected) {
    ASSERT_TRUE(found.contains(name)) << board << " " << name;
    EXPECT_NEAR(found.at(name).first, rates.first, 0.01 * rates.first) << board << " " << name;
    EXPECT_NEAR(found.at(name).second, rates.second, 0.01 * rates.second) << board << " " << name;
  }
}

TEST(Peaks, AreThoseOfDataSheets) {
  expect_peaks("v100-sxm2-16gb", {{"f16/f32", {125, 0}}});
  expect_peaks("t4", {{"f16/f32", {65, 0}}, {"s8/s32", {130, 0}}, {"s4/s32", {260, 0}}});
  expect_peaks("a100-sxm4-80gb", {{"f16/f32", {312, 624}},
                                  {"bf16/f32", {312, 624}},
                                  {"tf32/f32", {156, 312}},
                                  {"s8/s32", {624, 1248}},
                                  {"s4/s32", {1248, 2496}},
                                  {"f64/f64", {19.5, 0}}});
  expect_peaks("h100-sxm5-80gb", {{"f16/f32", {989.4, 1979}},
                                  {"bf16/f32", {989.4, 1979}},
                                  {"tf32/f32", {494.7, 989.4}},
                                  {"s8/s32", {1979, 3958}},
                                  {"e4m3/f32", {1979, 3958}},
                                  {"f64/f64", {61.8, 0}}});  // 66.9 there, at 1980 MHz
}

TEST(Peaks, TellSumsApartWhereACardSellsHalfTheRateWithF32Ones) {
  const auto ada = peaks("rtx4090");
  EXPECT_NEAR(ada.at("f16/f32").first, 165.2, 1);
  EXPECT_NEAR(ada.at("f16/f16").first, 330.3, 1);
  EXPECT_NEAR(ada.at("e4m3/f16").second, 1321, 5);
  EXPECT_NEAR(ada.at("s8/s32").first, 660.6, 3);
  const auto blackwell = peaks("rtx5080");
  EXPECT_NEAR(blackwell.at("e4m3/f32").first, 225.1, 1);
  EXPECT_NEAR(blackwell.at("mxfp8/f32").first, 450.2, 2);
  EXPECT_NEAR(blackwell.at("nvfp4/f32").first, 900.4, 4);
  EXPECT_NEAR(blackwell.at("nvfp4/f32").second, 1801, 8);
  EXPECT_FALSE(peaks("a100-sxm4-80gb").contains("f16/f16"));
  EXPECT_FALSE(peaks("b200").contains("mxfp8/f32"));
  EXPECT_NEAR(peaks("b200").at("nvfp4/f32").first, 9000, 90);
}

TEST(Peaks, OfATypeThatTheTensorCoresLackAreNone) {
  const gpu::GpuSpec v100 = config::load_architecture("v100-sxm2-16gb").gpu;
  EXPECT_FALSE(peak_of(v100, {DataType::kS8}));
  EXPECT_FALSE(peak_of(v100, {DataType::kF16})->sparse_tflops);
  EXPECT_EQ(peak_of(v100, {DataType::kF16})->printed_tflops(), peak_tflops(v100, {DataType::kF16}));
  EXPECT_FALSE(peak_of(config::load_architecture("h100-sxm5-80gb").gpu, {DataType::kE2m1, 16}));
}

TEST(Peaks, FallWithTheClockWhereThePowerLimitHoldsALargeGemm) {
  const BoardPeaks board = board_peaks(config::load_architecture("a100-sxm4-80gb"));
  EXPECT_EQ(board.power_limit_w, 400);
  for (const Peak& peak : board.peaks) {
    const bool has_kernel = peak.operands.type != DataType::kF64;
    ASSERT_EQ(peak.dense_clock_mhz.has_value(), has_kernel);
    ASSERT_EQ(peak.sparse_clock_mhz.has_value(), has_kernel);
    if (has_kernel) {
      EXPECT_LE(*peak.dense_clock_mhz, board.boost_clock_mhz);
      EXPECT_GT(*peak.dense_clock_mhz, 0);
    }
  }
  EXPECT_LT(*board.peaks.front().dense_clock_mhz, board.boost_clock_mhz);
}

TEST(Peaks, OfADesignWithoutEnergiesAreAtBoostAlone) {
  config::Architecture design = config::load_architecture("a100-sxm4-80gb");
  design.gpu.name = "mine";
  design.bases.clear();
  const BoardPeaks board = board_peaks(design);
  EXPECT_FALSE(board.power_limit_w);
  EXPECT_FALSE(board.peaks.front().dense_clock_mhz);
  EXPECT_GT(board.peaks.front().dense_tflops, 300);
}

}  // namespace
}  // namespace sptc::run
