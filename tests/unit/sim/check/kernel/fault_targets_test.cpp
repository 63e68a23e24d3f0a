// SPDX-License-Identifier: Apache-2.0
//
// How many faults are found, over many kernels that are drawn at random.
#include "tests/unit/sim/check/kernel/tile_faults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

/// The causes between "+", sorted.
std::vector<std::string> parts_of(const std::string& causes) {
  std::vector<std::string> parts;
  std::istringstream stream(causes);
  for (std::string part; std::getline(stream, part, '+');) {
    parts.push_back(part);
  }
  std::ranges::sort(parts);
  return parts;
}

TEST(FaultTargets, OfAHundredPairsNinetyFiveAreNamedAndNoneWrongly) {
  constexpr std::size_t kPairs = 100, kRows = 4, kTiles = 12, kEdge = 32;
  const std::vector<Fault> faults = faults_of_tiles();
  const base::RandomStream stream = base::RandomStream(17).fork("pairs");
  const Plant right(sparse);
  const auto place_of = [](std::size_t tile) {
    const std::size_t row = tile % kRows * kEdge, column = tile / kRows * kEdge;
    return Place{row, row + kEdge - 1, column, column + kEdge - 1};
  };
  std::size_t both = 0;
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    const Fault& first = faults[stream.below(4 * pair, faults.size())];
    const Fault& second = faults[stream.below(4 * pair + 1, faults.size())];
    const std::size_t tile = stream.below(4 * pair + 2, kTiles);
    const std::size_t other = (tile + 1 + stream.below(4 * pair + 3, kTiles - 1)) % kTiles;
    Plant plant = right;
    first.plant(plant, right.kernel, place_of(tile));
    second.plant(plant, right.kernel, place_of(other));
    const KernelDiagnosis diagnosis = plant.kernel.diagnose();
    std::vector<std::string> planted{std::string(first.cause), std::string(second.cause)};
    std::ranges::sort(planted);
    planted.erase(std::ranges::unique(planted).begin(), planted.end());
    const std::vector<std::string> named =
        parts_of(diagnosis.fitting.empty() ? diagnosis.location.causes() : diagnosis.fitting.front().cause);
    both += named == planted ? 1 : 0;
    EXPECT_TRUE(std::ranges::includes(planted, named))
        << planted.front() << " and " << planted.back() << " in tiles " << tile << " and " << other << ": "
        << told(diagnosis) << "; " << text_of(diagnosis.location, plant.kernel.data);
  }
  EXPECT_GE(both, 95U);
}

/// The sums over `tiles` slices of K of a kernel, each by itself.
std::vector<base::Matrix<Word>> sums_of_slices(const Plant& plant, std::size_t tiles) {
  std::vector<base::Matrix<Word>> sums;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    SyntheticKernel slice = plant.kernel;
    move_k(slice, plant.kernel.data.k / tiles, true, true, [&](int t) { return t == static_cast<int>(tile) ? t : -1; });
    sums.push_back(slice.compute());
  }
  return sums;
}

/// D as atomics leave it: every tile of 32 x 16 adds the slices in an order of its own.
void add_as_atomics(Plant& plant, const std::vector<base::Matrix<Word>>& sums, const base::RandomStream& stream) {
  const std::size_t slices = sums.size();
  for (std::size_t i = 0; i < plant.d.rows(); ++i) {
    for (std::size_t j = 0; j < plant.d.cols(); ++j) {
      std::vector<std::size_t> order(slices);
      std::iota(order.begin(), order.end(), std::size_t{0});
      for (std::size_t at = slices - 1; at > 0; --at) {
        std::swap(order[at], order[stream.below((i / 32 * 64 + j / 16) * 16 + at, at + 1)]);
      }
      float sum = 0;
      for (const std::size_t slice : order) {
        sum += static_cast<float>(numerics::to_double(sums[slice](i, j), DataType::kF32));
      }
      plant.d(i, j) = plant.narrowed(numerics::from_double(sum, DataType::kF32));
    }
  }
  plant.kernel.data.d = stored(plant.d);
}

TEST(FaultTargets, TwoHundredKernelsOfUnknownOrderHaveNone) {
  constexpr std::size_t kOrders = 25;
  const std::array<Shape, 8> shapes{{{"A100", kHalf, 64, 48, 256},
                                     {"A100", kHalfSparse, 64, 48, 256},
                                     {"A100", kBrain, 96, 32, 512},
                                     {"H100", kBrainSparse, 64, 64, 384},
                                     {"H100", kFp8, 64, 48, 512},
                                     {"A100", kTf32Sparse, 64, 32, 256},
                                     {"A100", kHalf, 64, 64, 1024, false, DataType::kF16},
                                     {"H100", kBrain, 128, 32, 320, false, DataType::kBf16}}};
  for (const Shape& shape : shapes) {
    Plant plant(shape);
    const std::vector<base::Matrix<Word>> sums = sums_of_slices(plant, shape.k / 64);
    for (std::size_t order = 0; order < kOrders; ++order) {
      add_as_atomics(plant, sums, base::RandomStream(order).fork("atomics"));
      const KernelDiagnosis diagnosis = plant.kernel.diagnose();
      // In a short type the words of D may be those of a known order, too.
      const std::string causes = diagnosis.location.causes() + diagnosis.beyond_rounding.causes() +
                                 (diagnosis.fitting.empty() ? "" : diagnosis.fitting.front().cause);
      const std::string faults =
          std::regex_replace(causes, std::regex("split-k|stream-k|k-order|reduction-order|\\+"), "");
      EXPECT_TRUE(faults.empty()) << shape.instruction << ", order " << order << ": " << causes;
    }
  }
}

}  // namespace
}  // namespace sptc::check::kernel
