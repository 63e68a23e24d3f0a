// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/kernel_time.h"

#include "sim/config/architecture.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sptc::run::network {
namespace {

const gpu::GpuSpec& a100() {
  static const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  return gpu;
}

/// Attention of `heads` heads with a depth of 64, and a layer norm behind it.
struct Parts {
  Parts(std::int64_t keys, std::int64_t queries, std::int64_t heads) {
    workload::Operation op;
    op.weight = false;
    op.batch = heads;
    op.shape = {keys, queries, 64};
    gemms.push_back(op);
    op.shape = {64, queries, keys};
    gemms.push_back(op);
    workload::VectorOperation softmax;
    softmax.kind = workload::VectorKind::kSoftmax;
    softmax.rows = softmax.input_rows = heads * queries;
    softmax.columns = keys;
    softmax.after = 1;
    vectors.push_back(softmax);
    workload::VectorOperation norm;
    norm.kind = workload::VectorKind::kLayerNorm;
    norm.rows = norm.input_rows = queries;
    norm.columns = heads * 64;
    norm.after = 2;
    vectors.push_back(norm);
  }
  Network network() const { return {gemms, vectors, engine}; }
  PlannedKernel kernel(std::size_t i) const { return plan_kernels(network())[i]; }

  ClosedForm norm(const ResidentTensors& resident = {}, bool transposed = false) const {
    const PlannedKernel plan = kernel(1);
    return vector_kernel(plan, network(), bytes_of(plan, network()), resident, a100(), transposed);
  }

  std::vector<workload::Operation> gemms;
  std::vector<workload::VectorOperation> vectors;
  EngineSpec engine = load_engine("tensorrt");
};

double dram_us(double bytes) {
  const memory::MemorySpec& memory = a100().memory;
  const double mhz = a100().boost_clock_mhz;
  return bytes / (memory.dram_bytes_per_cycle(mhz) * mhz);
}

TEST(VectorKernel, LargeTensorsTakeWhatDramTakes) {
  const Parts parts(128, 1 << 16, 16);
  const ClosedForm form = parts.norm();
  const double bytes = 2.0 * 2 * 1024 * (1 << 16) + 2 * 2 * 1024;
  EXPECT_DOUBLE_EQ(form.events.dram_bytes, bytes);
  EXPECT_GT(form.times.time_us(1), dram_us(bytes));
  EXPECT_LT(form.times.time_us(1), 1.1 * dram_us(bytes) + 5);
}

// 32768 x 8192 elements of bytes take an H100 1.98 ms (pytorch/pytorch issue 113560); of two bytes
// they are as many loads.
TEST(VectorKernel, ReadsAgainstTheLayoutOfATensorTakeAsLongAsPublished) {
  const Parts parts(8, 32768, 128);
  const ClosedForm form = parts.norm({}, true);
  const double of_h100 = 1980.0 * 132 * 1830 / (108.0 * 1410);
  EXPECT_NEAR(form.times.loads_us, of_h100, 0.01 * of_h100);
  EXPECT_GT(form.times.time_us(1), form.times.loads_us);
  EXPECT_DOUBLE_EQ(form.events.dram_bytes, parts.norm().events.dram_bytes);
  EXPECT_EQ(parts.norm().times.loads_us, 0);
}

TEST(VectorKernel, WhatTheL2HoldsIsNotReadFromDram) {
  const Parts parts(128, 1 << 12, 16);
  const ClosedForm cold = parts.norm();
  const ClosedForm warm = parts.norm({1, 1, 1, 1});
  EXPECT_DOUBLE_EQ(warm.events.dram_bytes, 0);
  EXPECT_DOUBLE_EQ(warm.events.l2_bytes, cold.events.l2_bytes);
  EXPECT_LT(warm.times.time_us(1), cold.times.time_us(1));
}

TEST(VectorKernel, SmallTensorsTakeALaunchAndALatency) {
  const Parts parts(16, 1, 16);
  const ClosedForm form = parts.norm();
  const double least = a100().launch.launch_us + form.times.latency_us;
  EXPECT_GT(form.times.time_us(1), least);
  EXPECT_LT(form.times.time_us(1), least + 1);
}

TEST(VectorKernel, ALowerClockSlowsWhatTheSmsDo) {
  const Parts parts(128, 1 << 12, 16);
  const KernelTimes times = parts.norm({1, 1, 1, 1}).times;
  EXPECT_NEAR(times.time_us(0.5) - times.launch_us, 2 * (times.time_us(1) - times.launch_us), 1e-9);
  const KernelTimes cold = Parts(128, 1 << 16, 16).norm().times;
  EXPECT_LT(cold.time_us(0.9), 1.08 * cold.time_us(1));  // DRAM keeps its own clock
}

/// A kernel alone, of which a launch and memory take 3 us, that sends `bytes`.
KernelTimes on_links(workload::VectorKind kind, double bytes, const Links& links) {
  KernelTimes times;
  times.launch_us = 2;
  times.latency_us = 1;
  add_links(kind, bytes, links, times);
  return times;
}

TEST(Links, AFewBytesTakeALaunchAndTwoBarriersOverNvlink) {
  const KernelTimes times = on_links(workload::VectorKind::kAllReduce, 16384, {8, 450});
  EXPECT_DOUBLE_EQ(times.launch_us, 3 + 2);
  EXPECT_DOUBLE_EQ(times.links_us, 7 * 16384 / 450e3);
  EXPECT_DOUBLE_EQ(times.latency_us, 0);
  EXPECT_GT(times.time_us(1), 5);
}

TEST(Links, MoreBytesAreSharedAndManyPassARing) {
  constexpr double kMiddle = 1 << 20, kLarge = 1 << 26;
  const KernelTimes two_shot = on_links(workload::VectorKind::kAllReduce, kMiddle, {8, 450});
  EXPECT_DOUBLE_EQ(two_shot.launch_us, 3 + 3);
  EXPECT_DOUBLE_EQ(two_shot.links_us, 14.0 / 8 * kMiddle / 450e3);
  const KernelTimes ring = on_links(workload::VectorKind::kAllReduce, kLarge, {8, 450});
  EXPECT_DOUBLE_EQ(ring.launch_us, 8.4 + 14 * 3.4);
  EXPECT_DOUBLE_EQ(ring.links_us, 14.0 / 8 * kLarge / 450e3);
}

TEST(Links, PcieHasRingsAlone) {
  const KernelTimes sum = on_links(workload::VectorKind::kAllReduce, 8192, {2, 32});
  EXPECT_DOUBLE_EQ(sum.launch_us, 6.6 + 2);
  EXPECT_DOUBLE_EQ(sum.links_us, 8192 / 8e3);
  const KernelTimes gather = on_links(workload::VectorKind::kAllGather, 8192, {2, 32});
  EXPECT_DOUBLE_EQ(gather.launch_us, 6.6 + 1);
  EXPECT_DOUBLE_EQ(gather.links_us, 8192 / 8e3 / 2);
}

TEST(Links, TokensOfExpertsAreSentToAllOthersAtOnce) {
  const KernelTimes nvlink = on_links(workload::VectorKind::kAllToAll, 1 << 20, {8, 450});
  EXPECT_DOUBLE_EQ(nvlink.launch_us, 3 + 2);
  EXPECT_DOUBLE_EQ(nvlink.links_us, 7.0 / 8 * (1 << 20) / 450e3);
  const KernelTimes pcie = on_links(workload::VectorKind::kAllToAll, 1 << 26, {8, 32});
  EXPECT_DOUBLE_EQ(pcie.launch_us, 8.4 + 5.7);  // one step
  EXPECT_DOUBLE_EQ(pcie.links_us, 7.0 / 8 * (1 << 26) / 32e3);
}

TEST(Links, OneGpuSendsNothing) {
  const KernelTimes times = on_links(workload::VectorKind::kAllReduce, 8192, {});
  EXPECT_EQ(times.links_us, 0);
  EXPECT_EQ(times.latency_us, 1);
}

TEST(ResidentTensors, WhatIsSmallStaysAndWhatIsLargeGoes) {
  const memory::MemorySpec& memory = a100().memory;
  const KernelBytes little{0, 1e6, 1e6, 1e6};
  const ResidentTensors kept = resident_tensors(little, 2.2e7, 6e8, memory);
  EXPECT_GT(kept.recent, 0.8);
  EXPECT_GT(kept.earlier, 0.5);
  EXPECT_LT(kept.earlier, kept.recent);
  EXPECT_EQ(kept.weights, 0);
  const KernelBytes much{0, 1e8, 1e8, 1e8};
  const ResidentTensors lost = resident_tensors(much, 5e8, 6e9, memory);
  EXPECT_EQ(lost.recent, 0);
  EXPECT_EQ(lost.earlier, 0);
}

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
}  // namespace sptc::run::network
