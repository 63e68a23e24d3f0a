// SPDX-License-Identifier: Apache-2.0
// Many output words of the engine against the plain implementation. K is short: every word is a
// fresh draw, and the plain side takes nearly all of the time.
//
// SPTC_ENGINE_WORDS sets the number of words (default 1e9: about ten minutes of one core).
#include "tests/property/engine_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

namespace sptc::batched {
namespace {

std::uint64_t wanted_words() {
  const char* text = std::getenv("SPTC_ENGINE_WORDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1'000'000'000ULL;
}

// One GEMM of the draw `index`; returns its number of words.
std::uint64_t compare_one(const std::vector<EngineCase>& cases, std::uint64_t index) {
  const base::RandomStream draw(index);
  const EngineCase& which = cases[index % cases.size()];
  const auto style = [&](std::uint64_t i) {
    return static_cast<WordStyle>(draw.below(i, kWordStyles));
  };
  const std::size_t m = 1 + draw.below(3, 64);
  const std::size_t n = 1 + draw.below(4, 200);
  const auto step = static_cast<std::uint64_t>(which.rules.products_per_step);
  const std::size_t k = 1 + draw.below(5, 3 * step);
  const RandomGemm gemm(which, m, n, k, style(0), style(1), style(2), index);
  const auto result = batched::gemm(which.instruction, which.rules, gemm.operands());
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (result(i, j) != gemm.expected(i, j)) {
        ADD_FAILURE() << which.name << ", draw " << index << " at " << i << ", " << j;
        return m * n;
      }
    }
  }
  return m * n;
}

TEST(EngineLongRun, EqualsThePlainImplementation) {
  const std::vector<EngineCase> cases = engine_cases();
  const std::uint64_t wanted = wanted_words();
  std::atomic<std::uint64_t> words = 0;
  std::atomic<std::uint64_t> next = 0;
  const auto work = [&] {
    while (words < wanted && !testing::Test::HasFailure()) {
      words += compare_one(cases, next++);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  RecordProperty("words", std::to_string(words));
}

}  // namespace
}  // namespace sptc::batched
