// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose sums have an order that nobody declared: faults that stand out against rounding,
// tolerances, and orders that tiles have of their own.
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/check/kernel/planted_kernel.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace sptc::check::kernel {
namespace {

/// Moves every word of D by 1 to 10 units in the last place.
void add_rounding(Plant& plant) {
  for (std::size_t i = 0; i < plant.d.rows(); ++i) {
    for (std::size_t j = 0; j < plant.d.cols(); ++j) {
      plant.d(i, j) += 1 + static_cast<Word>((i * 7 + j * 3) % 10);
    }
  }
  plant.kernel.data.d = stored(plant.d);
}

KernelDiagnosis diagnosed(const Plant& plant, const Tolerance& tolerance) {
  const SyntheticKernel& kernel = plant.kernel;
  return crosscheck_kernel(kernel.data, kernel.declared, kernel.target, 1, tolerance);
}

std::string report_of(const Plant& plant, const KernelDiagnosis& diagnosis) {
  const SyntheticKernel& kernel = plant.kernel;
  return kernel_text({"order", kernel.target, kernel.data, kernel.declared}, diagnosis);
}

TEST(UnknownOrder, LetsALocalFaultStandOut) {
  Plant plant(half);
  SyntheticKernel other = plant.kernel;
  move_k(other, 32, true, true, [](int t) { return t == 3 ? -1 : t; });
  plant.replace(other, {64, 127, 32, 63});
  add_rounding(plant);
  const KernelDiagnosis diagnosis = plant.kernel.diagnose();
  EXPECT_TRUE(diagnosis.fitting.empty()) << told(diagnosis);
  ASSERT_TRUE(diagnosis.populations.are_two());
  EXPECT_LT(diagnosis.populations.rounding.most_relative, diagnosis.populations.proved);
  ASSERT_EQ(diagnosis.beyond_rounding.causes(), "missing-k");
  const LocatedFault& found = diagnosis.beyond_rounding.places.front();
  EXPECT_EQ(text_of(found.region, 128, 96), "rows 64 to 127 x columns 32 to 63");
  EXPECT_EQ(found.fault->text, "D lacks k 96 to 127");
  const std::string text = report_of(plant, diagnosis);
  EXPECT_NE(text.find("cause of the larger errors, as far as rounding lets tell [missing-k]"), std::string::npos)
      << text;
}

TEST(UnknownOrder, LetsAFaultBelowTheProvedBoundStandOut) {
  Plant plant(half);
  add_rounding(plant);
  for (std::size_t i = 64; i < 96; ++i) {
    for (std::size_t j = 32; j < 64; ++j) {
      const double value = numerics::to_double(plant.d(i, j), DataType::kF32);
      plant.set(i, j, numerics::from_double(1.002 * value, DataType::kF32));
    }
  }
  const KernelDiagnosis diagnosis = plant.kernel.diagnose();
  EXPECT_FALSE(diagnosis.may_be_order());
  ASSERT_EQ(diagnosis.beyond_rounding.causes(), "scale");
  EXPECT_EQ(text_of(diagnosis.beyond_rounding.places.front().region, 128, 96), "rows 64 to 95 x columns 32 to 63");
}

TEST(UnknownOrder, LetsLinesInAWrongPlaceStandOut) {
  for (const bool of_rows : {true, false}) {
    Plant plant(half);
    plant.kernel.data.d = stored(plant.d = moved_elements(plant.d, [&](std::size_t i, std::size_t j) {
                                   return of_rows ? std::pair(swapped(i, 3, 11), j) : std::pair(i, j == 40 ? 41 : j);
                                 }));
    add_rounding(plant);
    const KernelDiagnosis diagnosis = plant.kernel.diagnose();
    EXPECT_EQ(diagnosis.beyond_rounding.causes(), of_rows ? "permuted-rows" : "duplicated-columns");
  }
}

TEST(UnknownOrder, OfAShortDThatIsCutOffHasNoFaultOfAnOperand) {
  Plant plant({"A100", kHalf, 96, 64, 256, false, DataType::kF16});
  base::Matrix<double> sums(96, 64);
  for (const int slice : {5, 11, 2, 14, 8, 0, 15, 3, 9, 6, 12, 1, 7, 13, 4, 10}) {
    SyntheticKernel other = plant.kernel;
    move_k(other, 16, true, true, [&](int t) { return t == slice ? t : -1; });
    const base::Matrix<Word> part = other.compute();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums.data()[i] = static_cast<float>(sums.data()[i] + numerics::to_double(part.data()[i], DataType::kF32));
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Word nearest = numerics::from_double(sums.data()[i], DataType::kF16);
    const bool is_larger = std::fabs(numerics::to_double(nearest, DataType::kF16)) > std::fabs(sums.data()[i]);
    plant.d.data()[i] = nearest - (is_larger ? 1 : 0);
  }
  plant.kernel.data.d = stored(plant.d);
  const KernelDiagnosis diagnosis = plant.kernel.diagnose();
  EXPECT_FALSE(diagnosis.bit_exact());
  EXPECT_EQ(diagnosis.location.causes(), "d-type") << text_of(diagnosis.location, plant.kernel.data);
}

TEST(UnknownOrder, OfCoarseSumsHidesNoPartOfK) {
  Plant plant({"H100", "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3", 64, 64, 512});
  const Selection all = Selection::all(plant.kernel.data);
  const auto sum_of = [&](std::size_t block) {
    SyntheticKernel other = plant.kernel;
    move_k(other, 128, true, true, [&](int t) { return t == static_cast<int>(block) ? t : -1; });
    return other.compute();
  };
  std::vector<base::Matrix<Word>> parts{sum_of(0), sum_of(1), sum_of(2)};
  const auto value = [&](std::size_t part, std::size_t i, std::size_t j) {
    return static_cast<float>(numerics::to_double(parts[part](i, j), DataType::kF32));
  };
  all.each([&](std::size_t i, std::size_t j) {
    plant.d(i, j) = numerics::from_double(value(1, i, j) + (value(0, i, j) + value(2, i, j)) * 1.0F, DataType::kF32);
  });
  plant.kernel.data.d = stored(plant.d);
  EXPECT_FALSE(plant.kernel.diagnose().may_be_order());
}

TEST(UnknownOrder, IsNoFaultAndSaysWhatMayBeOff) {
  Plant plant(half);
  add_rounding(plant);
  const KernelDiagnosis diagnosis = plant.kernel.diagnose();
  EXPECT_TRUE(diagnosis.may_be_order());
  EXPECT_FALSE(diagnosis.location.has_fault());
  EXPECT_FALSE(diagnosis.beyond_rounding.has_fault());
  const std::string text = report_of(plant, diagnosis);
  EXPECT_NE(text.find("order: none that is known"), std::string::npos) << text;
  EXPECT_NE(text.find("sums by atomics have none to find"), std::string::npos) << text;
  EXPECT_TRUE(diagnosed(plant, {.relative = diagnosis.populations.proved}).is_right());
}

TEST(UnknownOrder, IsRightWithinATolerance) {
  Plant plant(half);
  add_rounding(plant);
  const KernelDiagnosis right = diagnosed(plant, {.ulps = 10});
  EXPECT_TRUE(right.is_right());
  EXPECT_FALSE(right.bit_exact());
  EXPECT_EQ(right.tolerated, 128U * 96U);
  EXPECT_NE(report_of(plant, right).find("right: 12288 of them are within the tolerance"), std::string::npos);
  EXPECT_FALSE(diagnosed(plant, {.ulps = 4}).is_right());
  EXPECT_FALSE(diagnosed(plant, {.relative = 1e-12}).is_right());
  for (std::size_t i = 0; i < 32; ++i) {
    for (std::size_t j = 0; j < 32; ++j) {
      plant.set(i, j, 0);
    }
  }
  expect_named("a CTA that does not run, within a tolerance", "zero-region", {"rows 0 to 31 x columns 0 to 31"},
               diagnosed(plant, {.ulps = 10}));
}

// Another order, of which a short D shows a few words.
TEST(UnknownOrder, IsNotToldByAFewWords) {
  Plant plant({"A100", kHalf, 64, 48, 512, false, DataType::kF16});
  const KernelData& data = plant.kernel.data;
  KernelModel model = plant.kernel.declared;
  model.order.slices = 4;
  model.order.reduction = Reduction::kParallel;
  plant.kernel.data.d = stored(execute(data, model, arrange(data, model, Selection::all(data))));
  const KernelDiagnosis diagnosis = plant.kernel.diagnose();
  ASSERT_GT(diagnosis.comparison.mismatches, 0U);
  ASSERT_LT(diagnosis.comparison.mismatches, 16U);
  EXPECT_TRUE(diagnosis.may_be_chance);
  EXPECT_NE(report_of(plant, diagnosis).find("may be, but too few words differ to tell [split-k]"), std::string::npos);
}

TEST(UnknownOrder, OfStreamKIsFoundTileByTile) {
  Plant plant({"A100", kHalf, 128, 128, 256});
  const KernelData& data = plant.kernel.data;
  constexpr std::array kCuts{64, 96, 160, 192};
  for (std::size_t tile = 0; tile < kCuts.size(); ++tile) {
    KernelModel model = plant.kernel.declared;
    model.order.cut = kCuts[tile];
    const base::Matrix<Word> cut = execute(data, model, arrange(data, model, Selection::all(data)));
    for (std::size_t i = 0; i < 64; ++i) {
      for (std::size_t j = 0; j < 64; ++j) {
        const std::size_t row = tile / 2 * 64 + i, column = tile % 2 * 64 + j;
        plant.d(row, column) = cut(row, column);
      }
    }
  }
  plant.kernel.data.d = stored(plant.d);
  expect_named("stream-K", "stream-k",
               {"rows 0 to 63 x columns 64 to 127 (tile [0, 1] of 64 x 64): two accumulators share "
                "K, cut at k 96",
                "cut at k 192"},
               plant.kernel.diagnose());
}

TEST(Tolerance, IsReadFromText) {
  EXPECT_EQ(parse_tolerance("--tolerance", "ulps:4").ulps, 4U);
  EXPECT_EQ(parse_tolerance("--tolerance", "rel:1e-6").relative, 1e-6);
  for (const char* const text :
       {"", "4", "ulps:", "ulps:-1", "ulps:1.5", "rel:x", "rel:-1", "rel:inf", "rel:nan", "rel:1e999"}) {
    support::expect_input_error([&] { parse_tolerance("--tolerance", text); },
                                {"--tolerance must be ulps:N or rel:X, not '"});
  }
}

}  // namespace
}  // namespace sptc::check::kernel
