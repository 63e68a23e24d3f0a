// SPDX-License-Identifier: Apache-2.0
//
// Kernels with two and three planted faults: all must be named, and no other.
#include "tests/unit/sim/check/kernel/tile_faults.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace sptc::check::kernel {
namespace {

/// Expects that every fault of `causes` is named, and nothing else.
void expect_all(const KernelDiagnosis& diagnosis, const std::vector<std::string_view>& causes) {
  ASSERT_FALSE(diagnosis.fitting.empty()) << causes.front() << " and " << causes.back();
  const std::string& named = diagnosis.fitting.front().cause;
  std::size_t length = causes.size() - 1;
  for (const std::string_view cause : causes) {
    EXPECT_NE(named.find(cause), std::string::npos) << cause << " in " << told(diagnosis);
    length += cause.size();
  }
  EXPECT_EQ(named.size(), length) << told(diagnosis);
}

TEST(FaultPairs, OfDifferentTilesAreNamedTogether) {
  const std::vector<Fault> faults = faults_of_tiles();
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::size_t j = (i + 1) % faults.size();
    // Apart, or in the same rows.
    const Place place = i % 2 == 0 ? Place{64, 95, 32, 63} : Place{0, 31, 64, 95};
    Plant plant(sparse);
    const SyntheticKernel right = plant.kernel;
    faults[i].plant(plant, right, {0, 31, 0, 31});
    faults[j].plant(plant, right, place);
    expect_all(plant.kernel.diagnose(), {faults[i].cause, faults[j].cause});
  }
}

TEST(FaultPairs, ThreeAreNamedTogether) {
  Plant plant(sparse);
  const SyntheticKernel right = plant.kernel;
  zero_tile().plant(plant, right, {0, 31, 0, 31});
  missing_k().plant(plant, right, {64, 127, 32, 63});
  stale_metadata().plant(plant, right, {32, 63, 64, 95});
  expect_all(plant.kernel.diagnose(), {"zero-region", "missing-k", "metadata-words"});
}

TEST(FaultPairs, OfATileUnderOneOfAllOfDAreNamed) {
  Plant plant(sparse);
  const SyntheticKernel right = plant.kernel;
  stale_metadata().plant(plant, right, plant.everywhere());
  zero_tile().plant(plant, right, {32, 63, 32, 63});
  expect_all(plant.kernel.diagnose(), {"metadata-words", "zero-region"});
}

/// D of split-K of three slices, in which rows 32 to 63 are those of `other`.
KernelDiagnosis in_three_slices(const std::function<base::Matrix<Word>(SyntheticKernel)>& other) {
  Plant plant(sparse);
  plant.store(split_k(plant.kernel, 3));
  const base::Matrix<Word> wrong = other(plant.kernel);
  for (std::size_t i = 32; i < 64; ++i) {
    for (std::size_t j = 0; j < 96; ++j) {
      plant.d(i, j) = wrong(i, j);
    }
  }
  plant.kernel.data.d = stored(plant.d);
  return plant.kernel.diagnose();
}

TEST(FaultPairs, OfTheWholeKernelAndOfATileAreNamed) {
  expect_all(in_three_slices([](const SyntheticKernel&) { return base::Matrix<Word>(128, 96); }),
             {"split-k", "zero-region"});
  expect_all(in_three_slices([](SyntheticKernel kernel) {
               make_stale(kernel);
               return split_k(kernel, 3);
             }),
             {"split-k", "metadata-words"});
}

TEST(FaultPairs, OfTheWholeKernelUnderOneThatHidesItAreNamed) {
  Plant plant({"H100", kHalfSparse, 128, 96, 256});
  const SyntheticKernel right = plant.kernel;
  stale_metadata().plant(plant, right, plant.everywhere());
  plant.kernel.target = mma::find_target("A100");
  plant.kernel.declared.rules = mma::instruction_rules(plant.kernel.target, plant.kernel.declared.instruction);
  expect_all(plant.kernel.diagnose(), {"architecture", "metadata-words"});
}

TEST(FaultPairs, OfAFactorOverAllOfDAndOfATileAreNamed) {
  Plant plant(half);
  SyntheticKernel other = plant.kernel;
  move_k(other, 32, true, true, [](int t) { return t == 7 ? -1 : t; });
  plant.replace(other, {64, 127, 32, 63});
  for (std::size_t i = 0; i < plant.d.size(); ++i) {
    plant.d.data()[i] =
        numerics::from_double(2 * numerics::to_double(plant.d.data()[i], DataType::kF32), DataType::kF32);
  }
  plant.kernel.data.d = stored(plant.d);
  expect_all(plant.kernel.diagnose(), {"scale", "missing-k"});
}

// Sums that are rounded to D's type every 32 k have no name, and hide none.
TEST(FaultPairs, OfNoiseAreNotMadeUp) {
  Plant plant(narrow);
  base::Matrix<Word> sums = plant.d;
  std::fill_n(sums.data(), sums.size(), 0);
  for (std::size_t tile = 0; tile < 10; ++tile) {
    SyntheticKernel slice = plant.kernel;
    move_k(slice, 32, true, true, [&](int t) { return t == static_cast<int>(tile) ? t : -1; });
    const base::Matrix<Word> part = slice.compute();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double sum =
          numerics::to_double(sums.data()[i], DataType::kF16) + numerics::to_double(part.data()[i], DataType::kF32);
      sums.data()[i] = numerics::from_double(sum, DataType::kF16);
    }
  }
  plant.kernel.data.d = stored(sums);
  const KernelDiagnosis diagnosis = plant.kernel.diagnose();
  EXPECT_FALSE(diagnosis.location.has_fault()) << diagnosis.location.causes();
  EXPECT_FALSE(diagnosis.rest.has_fault()) << diagnosis.rest.causes();
}

TEST(FaultPairs, OfNeighboursAreNotTakenForOnePlace) {
  Plant plant(half);
  const base::Matrix<Word> right = plant.d;
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 32; ++j) {
      plant.d(i, j) = right(i, j ^ 1);
      plant.d(64 + i, j) = 0;
    }
  }
  plant.kernel.data.d = stored(plant.d);
  expect_named("columns exchanged over a tile of zeros", "permuted-columns+zero-region",
               {"rows 0 to 63 x columns 0 to 31", "rows 64 to 127 x columns 0 to 31"}, plant.kernel.diagnose());
}

}  // namespace
}  // namespace sptc::check::kernel
