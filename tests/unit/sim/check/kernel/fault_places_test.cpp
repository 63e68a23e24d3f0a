// SPDX-License-Identifier: Apache-2.0
//
// Where D differs. Kernels with noise that nothing explains must get no name.
#include "models/numerics/codec.h"
#include "tests/unit/sim/check/kernel/planted_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::check::kernel {
namespace {

TEST(FaultPlaces, NoiseIsPlacedAndNotNamed) {
  const base::RandomStream stream = base::RandomStream(21).fork("noise");
  std::uint64_t seed = 0;
  for (const Shape& shape : {Shape{"A100", kHalf, 128, 96, 256}, Shape{"A100", kHalfSparse, 128, 96, 256},
                             Shape{"H100", kHalf, 128, 96, 320, false, DataType::kF16},
                             Shape{"A100", kBytes, 128, 96, 256}, Shape{"L40S", kFp8, 128, 96, 256}}) {
    // One element, a row, a tile, and all of D.
    for (const Place& place :
         {Place{70, 70, 41, 41}, Place{9, 9, 0, 95}, Place{32, 63, 32, 63}, Place{0, 127, 0, 95}}) {
      Plant plant(shape);
      for (std::size_t i = place.row; i <= place.last_row; ++i) {
        for (std::size_t j = place.column; j <= place.last_column; ++j) {
          const DataType type = plant.kernel.data.d_type;
          const double value = numerics::to_double(plant.d(i, j), type);
          const double noise = std::fabs(value) * 0.3 * stream.normal(seed++) + 3;
          plant.set(i, j, numerics::from_double(value + noise, type));
        }
      }
      const KernelDiagnosis diagnosis = plant.kernel.diagnose();
      EXPECT_FALSE(diagnosis.bit_exact());
      EXPECT_TRUE(diagnosis.fitting.empty())
          << shape.instruction << " rows " << place.row << ".." << place.last_row << " is named " << told(diagnosis);
      ASSERT_EQ(diagnosis.location.places.size(), 1U);
      const LocatedFault& found = diagnosis.location.places.front();
      EXPECT_FALSE(found.fault) << found.fault->text;
      const Region expected{
          {{place.row, place.last_row + 1}}, {{place.column, place.last_column + 1}}, found.region.mismatches};
      EXPECT_EQ(found.region, expected) << text_of(found.region, 128, 96);
    }
  }
}

TEST(FaultPlaces, OfTwoPlacesEachHasItsName) {
  Plant plant({"A100", kHalf, 128, 96, 256});
  SyntheticKernel other = plant.kernel;
  move_k(other, 32, true, true, [](int t) { return t == 3 ? -1 : t; });
  plant.replace(other, {64, 127, 32, 63});
  for (std::size_t i = 0; i < 32; ++i) {
    for (std::size_t j = 64; j < 96; ++j) {
      plant.set(i, j, 0);
    }
  }
  const KernelDiagnosis diagnosis = plant.kernel.diagnose();
  ASSERT_FALSE(diagnosis.fitting.empty());
  const Explanation& named = diagnosis.fitting.front();
  EXPECT_EQ(named.cause, "zero-region+missing-k");
  EXPECT_NE(named.text.find("rows 0 to 31 x columns 64 to 95 (tile [0, 2] of 32 x 32): D is zero"), std::string::npos)
      << named.text;
  EXPECT_NE(named.text.find("rows 64 to 127 x columns 32 to 63 (tile [1, 1] of 64 x 32): D lacks k "
                            "96 to 127"),
            std::string::npos)
      << named.text;
}

TEST(FaultPlaces, AreFoundOnTopOfAnotherArchitecture) {
  for (const std::string_view instruction : {kHalf, kHalfSparse}) {
    Plant plant({"H100", instruction, 128, 96, 256});
    SyntheticKernel other = plant.kernel;
    move_k(other, 32, true, true, [](int t) { return t == 3 ? -1 : t; });
    plant.replace(other, {64, 127, 32, 63});
    plant.kernel.target = mma::find_target("A100");
    plant.kernel.declared.rules = mma::instruction_rules(plant.kernel.target, plant.kernel.declared.instruction);
    const KernelDiagnosis diagnosis = plant.kernel.diagnose();
    ASSERT_FALSE(diagnosis.fitting.empty()) << instruction;
    EXPECT_EQ(diagnosis.fitting.front().cause, "architecture+missing-k") << told(diagnosis);
    EXPECT_NE(diagnosis.fitting.front().text.find("rows 64 to 127 x columns 32 to 63"), std::string::npos)
        << told(diagnosis);
    EXPECT_FALSE(diagnosis.nearest);
  }
}

/// D of an order that nobody knows, whose tile at `place` is off by an eighth.
KernelDiagnosis with_two_populations(const Shape& shape, const Place& place, KernelCase& shown) {
  Plant plant(shape);
  for (std::size_t i = 0; i < shape.m; ++i) {
    for (std::size_t j = 0; j < shape.n; ++j) {
      plant.set(i, j, plant.d(i, j) + 1 + static_cast<Word>((i * 7 + j * 3) % 10));
    }
  }
  for (std::size_t i = place.row; i <= place.last_row; ++i) {
    for (std::size_t j = place.column; j <= place.last_column; ++j) {
      const double value = numerics::to_double(plant.d(i, j), shape.d_type);
      plant.set(i, j, numerics::from_double(value * 1.125 + 1, shape.d_type));
    }
  }
  shown = {"two", plant.kernel.target, plant.kernel.data, plant.kernel.declared};
  return plant.kernel.diagnose();
}

TEST(FaultPlaces, OfLargeErrorsArePartedFromRounding) {
  KernelCase shown;
  const KernelDiagnosis diagnosis = with_two_populations({"A100", kHalf, 128, 96, 256}, {32, 63, 32, 63}, shown);
  EXPECT_TRUE(diagnosis.fitting.empty()) << told(diagnosis);
  const ErrorPopulations& errors = diagnosis.populations;
  ASSERT_TRUE(errors.are_two());
  EXPECT_EQ(errors.rounding.elements + errors.beyond.elements, 128U * 96U);
  EXPECT_GT(errors.beyond.elements, 32U * 32U * 9 / 10);
  EXPECT_LE(errors.beyond.elements, 32U * 32U);
  EXPECT_GT(errors.beyond.most_ulps.value(), 500'000U);
  ASSERT_EQ(diagnosis.beyond_rounding.places.size(), 1U);
  EXPECT_EQ(text_of(diagnosis.beyond_rounding.places.front().region, 128, 96), "rows 32 to 63 x columns 32 to 63");
  const std::string text = kernel_text(shown, diagnosis);
  EXPECT_NE(text.find("two populations: "), std::string::npos) << text;
  EXPECT_NE(text.find("\nby more: rows 32 to 63 x columns 32 to 63"), std::string::npos) << text;
  EXPECT_NE(text.find(". equal or off by rounding, + some off by more"), std::string::npos) << text;
}

TEST(FaultPlaces, OfOneKindOfErrorHaveOnePopulation) {
  Plant plant({"A100", kHalf, 64, 48, 256});
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 48; ++j) {
      plant.set(i, j, plant.d(i, j) + 1 + static_cast<Word>((i * 7 + j * 3) % 10));
    }
  }
  const KernelDiagnosis rounding = plant.kernel.diagnose();
  EXPECT_FALSE(rounding.populations.are_two());
  EXPECT_EQ(rounding.populations.rounding.elements, rounding.comparison.mismatches);
  EXPECT_EQ(rounding.populations.beyond.elements, 0U);
}

TEST(FaultPlaces, OfIntegersAreNeverRounding) {
  Plant plant({"A100", kBytes, 64, 48, 256, false, DataType::kS32});
  for (std::size_t i = 0; i < 64; i += 3) {
    const auto wrong = static_cast<std::uint32_t>(plant.d(i, i % 48) + 1 + i * i % 7);
    plant.set(i, i % 48, static_cast<Word>(wrong));
  }
  EXPECT_EQ(plant.kernel.diagnose().populations.rounding.elements, 0U);
}

TEST(FaultPlaces, HaveShortNames) {
  EXPECT_EQ(text_of(Intervals{{5, 6}}, "row", 128), "row 5");
  EXPECT_EQ(text_of(Intervals{{64, 128}}, "row", 128), "rows 64 to 127");
  EXPECT_EQ(text_of(Intervals{{3, 4}, {8, 16}, {40, 41}}, "row", 128), "rows 3, 8 to 15 and 40");
  EXPECT_EQ(text_of(Intervals{{0, 128}}, "column", 128), "all 128 columns");
  Intervals fragments, others;
  for (std::size_t i = 0; i < 8; ++i) {
    fragments.push_back({16 * i, 16 * i + 8});
    others.push_back({i * i * 2, i * i * 2 + 1});
  }
  EXPECT_EQ(text_of(fragments, "row", 128), "rows 0 to 7 of every 16 up to 119");
  EXPECT_EQ(text_of(others, "row", 128), "rows 0, 2 and 6 others up to 98");
}

TEST(FaultPlaces, ThatTouchAtACornerArePlacesOfTheirOwn) {
  WrongElements wrong(64, 64);
  for (std::size_t i = 0; i < 32; ++i) {
    for (std::size_t j = 0; j < 32; ++j) {
      wrong(i, j) = wrong(32 + i, 32 + j) = 1;
    }
  }
  const std::vector<Region> expected{{{{0, 32}}, {{0, 32}}, 1024}, {{{32, 64}}, {{32, 64}}, 1024}};
  EXPECT_EQ(joined_regions(parted_regions(wrong, 64)), expected);
}

}  // namespace
}  // namespace sptc::check::kernel
