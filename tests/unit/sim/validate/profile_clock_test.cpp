// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/profile_clock.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::sim {
namespace {

constexpr double kBoostMhz = 1000;

Measurement row(std::int64_t m, std::int64_t n, std::int64_t k, const char* source,
                bool zeros = false) {
  return {{m, n, k}, 1.0, source, zeros};
}

/// A launch whose SMs do nothing but multiply for `busy_us`, at the boost clock, of 100 us.
Prediction launch(double busy_us) {
  Prediction result;
  result.scaling.boost_clock_mhz = kBoostMhz;
  result.scaling.form.tensor_us = 100;
  result.scaling.form.load_us = busy_us;
  result.time_us = 100;
  result.clock_mhz = kBoostMhz;
  return result;
}

/// Above half the peak the clock falls as the load rises.
KernelLibrarySpec falling_clock() {
  KernelLibrarySpec library;
  library.sustained_knee_percent = 50;
  library.sustained_exponent = 1;
  return library;
}

TEST(ProfileClock, ALayerIsTheOperationsOfAModelWithOneNOnAsManyGpus) {
  const std::vector<Measurement> rows = {
      row(4096, 8, 1024, "a/up"),   row(2048, 8, 1024, "a/up"),    row(1024, 8, 4096, "a/down"),
      row(1024, 8, 2048, "a/down"), row(1024, 16, 4096, "a/down"), row(4096, 8, 1024, "b/up"),
      row(4096, 8, 1024, "alone")};
  const std::vector<std::vector<std::size_t>> expected = {{0, 2}, {1, 3}, {4}, {5}};
  EXPECT_EQ(layers_of(rows), expected);
}

TEST(ProfileClock, OfALaunchByItselfIsThatOfItsOwnLoad) {
  std::vector<Prediction> launches = {launch(80), launch(40)};
  const std::vector<Measurement> rows = {row(8, 8, 8, "a/up"), row(8, 8, 8, "a/down")};
  follow_profile(rows, falling_clock(), launches);
  EXPECT_DOUBLE_EQ(launches[0].clock_mhz, kBoostMhz * 50 / 80);
  EXPECT_DOUBLE_EQ(launches[0].time_us, 100.0 * 80 / 50);
  EXPECT_DOUBLE_EQ(launches[1].clock_mhz, kBoostMhz);
}

TEST(ProfileClock, OfALayerIsTheSameForAllThatItRuns) {
  KernelLibrarySpec library = falling_clock();
  library.sustained_layer_percent = 100;
  std::vector<Prediction> launches = {launch(80), launch(40), launch(80)};
  const std::vector<Measurement> rows = {row(8, 8, 8, "a/up"), row(8, 8, 8, "a/down"),
                                         row(8, 8, 8, "")};
  follow_profile(rows, library, launches);
  EXPECT_DOUBLE_EQ(launches[0].clock_mhz, kBoostMhz * 50 / 60);
  EXPECT_DOUBLE_EQ(launches[1].clock_mhz, kBoostMhz * 50 / 60);
  EXPECT_DOUBLE_EQ(launches[2].clock_mhz, kBoostMhz * 50 / 80) << "in no layer";
}

TEST(ProfileClock, RisesWhereZerosAreMultiplied) {
  KernelLibrarySpec library = falling_clock();
  library.sustained_zeros_percent = 75;
  std::vector<Prediction> launches = {launch(80), launch(80)};
  const std::vector<Measurement> rows = {row(8, 8, 8, "", true), row(8, 8, 8, "")};
  follow_profile(rows, library, launches);
  EXPECT_DOUBLE_EQ(launches[0].clock_mhz, kBoostMhz * 50 / 60);
  EXPECT_DOUBLE_EQ(launches[1].clock_mhz, kBoostMhz * 50 / 80);
}

TEST(ProfileClock, SaysWhatItReadsFromNamesWhereThatMovesTheClock) {
  std::vector<Measurement> rows = {row(4096, 8, 1024, "a/up"), row(1024, 8, 4096, "a/down", true)};
  rows[1].zeros_by_name = true;
  KernelLibrarySpec library = falling_clock();
  library.sustained_layer_percent = 0;
  library.sustained_zeros_percent = 100;
  EXPECT_EQ(clock_note(rows, library), "");
  library.sustained_zeros_percent = 60;
  EXPECT_EQ(clock_note(rows, library),
            "by their names in 'source' 1 multiply zeros, as in Vidur's profiles (a column "
            "'operands' says otherwise)");
  library.sustained_layer_percent = 100;
  EXPECT_TRUE(
      clock_note(rows, library)
          .starts_with("by their names in 'source' 2 rows share the clock of the layer that "
                       "they ran in, and 1 multiply zeros"));
}

}  // namespace
}  // namespace sptc::sim
