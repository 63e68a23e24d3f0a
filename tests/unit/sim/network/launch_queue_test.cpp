// SPDX-License-Identifier: Apache-2.0
#include "sim/network/launch_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::network {
namespace {

TEST(LaunchQueue, WithoutHostTimeItIsTheSumOfTheKernels) {
  const std::vector<QueuedLaunch> launches{{3, 0, 1}, {5, 0, 24}, {2, 0, 24}, {1, 0, 1}};
  const QueueTime time = queue_time(launches);
  EXPECT_DOUBLE_EQ(time.latency_us, 3 + 24 * 7 + 1);
  EXPECT_DOUBLE_EQ(time.waiting_us, 0);
}

TEST(LaunchQueue, ASlowHostSetsThePace) {
  const std::vector<QueuedLaunch> launches{{3, 10, 24}, {5, 10, 24}};
  const QueueTime time = queue_time(launches);
  EXPECT_DOUBLE_EQ(time.latency_us, 48 * 10 + 5);
  EXPECT_DOUBLE_EQ(time.waiting_us, time.latency_us - 24 * 8);
}

TEST(LaunchQueue, AHostThatIsAheadIsWaitedForOnce) {
  const std::vector<QueuedLaunch> launches{{10, 4, 24}};
  EXPECT_DOUBLE_EQ(queue_time(launches).latency_us, 4 + 240);
}

TEST(LaunchQueue, ALongKernelLetsTheHostGetAhead) {
  // The host is busy until 30 with the third launch, the GPU until 102 with the first.
  const std::vector<QueuedLaunch> launches{{92, 10, 1}, {1, 10, 2}};
  EXPECT_DOUBLE_EQ(queue_time(launches).latency_us, 102 + 2);
  EXPECT_DOUBLE_EQ(queue_time(launches).waiting_us, 10);
}

TEST(LaunchQueue, ManyLayersTakeAsLongAsOneAfterTheOther) {
  const std::vector<QueuedLaunch> layer{{3, 10, 1}, {25, 10, 1}};
  std::vector<QueuedLaunch> written_out;
  for (int i = 0; i < 1000; ++i) {
    written_out.insert(written_out.end(), layer.begin(), layer.end());
  }
  const std::vector<QueuedLaunch> counted{{3, 10, 1000}, {25, 10, 1000}};
  EXPECT_NEAR(queue_time(counted).latency_us, queue_time(written_out).latency_us, 1e-6);
  EXPECT_NEAR(queue_time(counted).waiting_us, queue_time(written_out).waiting_us, 1e-6);
}

}  // namespace
}  // namespace sptc::network
