// SPDX-License-Identifier: Apache-2.0
#include "models/base/per_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sptc::base {
namespace {

std::atomic<int> alive{0};

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int value = 0;
};

TEST(PerThread, EachThreadHasItsOwnForAsLongAsItLives) {
  static const PerThread<Counted> objects;
  EXPECT_EQ(alive, 0);
  objects.get().value = 7;
  EXPECT_EQ(objects.get().value, 7);
  std::thread([] {
    EXPECT_EQ(objects.get().value, 0);
    objects.get().value = 8;
    EXPECT_EQ(alive, 2);
  }).join();
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(objects.get().value, 7);
}

}  // namespace
}  // namespace sptc::base
