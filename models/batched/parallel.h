// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <system_error>
#include <vector>

namespace sptc::batched {

/// Calls body(begin, end) for consecutive ranges that together are [0, rows), each on a thread of
/// its own, or on this one where no more can be started. Rethrows the first exception.
template <typename Body>
void for_row_ranges(std::size_t rows, int threads, Body body) {
  const auto count = std::min(static_cast<std::size_t>(threads), std::max<std::size_t>(rows, 1));
  if (count == 1) {
    body(std::size_t{0}, rows);
    return;
  }
  // Whole pairs of rows: kernels take two at once.
  const std::size_t share = ((rows + count - 1) / count + 1) / 2 * 2;
  std::vector<std::future<void>> ranges;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = std::min(i * share, rows);
    const auto work = [&body, begin, end = std::min(begin + share, rows)] { body(begin, end); };
    try {
      ranges.push_back(std::async(std::launch::async, work));
    } catch (const std::system_error&) {
      ranges.push_back(std::async(std::launch::deferred, work));  // runs below
    }
  }
  for (std::future<void>& range : ranges) {
    range.get();
  }
}

}  // namespace sptc::batched
