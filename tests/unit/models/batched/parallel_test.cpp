// SPDX-License-Identifier: Apache-2.0
#include "models/batched/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace sptc::batched {
namespace {

TEST(ForRowRanges, VisitsEachRowOnce) {
  for (const std::size_t rows : {0U, 1U, 2U, 7U, 64U, 65U}) {
    for (const int threads : {1, 2, 3, 8, 100}) {
      std::vector<std::atomic<int>> visits(rows);
      for_row_ranges(rows, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
          ++visits[row];
        }
      });
      for (std::size_t row = 0; row < rows; ++row) {
        EXPECT_EQ(visits[row], 1) << row << " of " << rows << " by " << threads << " threads";
      }
    }
  }
}

TEST(ForRowRanges, RethrowsTheFirstExceptionWhenAllRangesHaveEnded) {
  std::atomic<int> ended = 0;
  std::string message;
  try {
    for_row_ranges(16, 4, [&](std::size_t begin, std::size_t /*end*/) {
      ++ended;
      if (begin >= 4) {
        throw std::runtime_error("range from " + std::to_string(begin));
      }
    });
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  EXPECT_EQ(ended, 4);
  EXPECT_EQ(message, "range from 4");
}

}  // namespace
}  // namespace sptc::batched
