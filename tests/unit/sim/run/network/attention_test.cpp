// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture.h"
#include "sim/run/network/kernel_time.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sptc::run::network {
namespace {

/// Extents of attention: `heads` of keys, of the whole batch, each for `group` heads of queries.
struct Extents {
  std::int64_t keys = 0, queries = 0, heads = 1, group = 1;
  std::int64_t key = 64, value = 64;
  bool causal = false;
};

struct Parts {
  explicit Parts(const Extents& of) {
    const std::int64_t queries = of.queries * of.group;
    workload::VectorOperation append;
    append.kind = workload::VectorKind::kKvAppend;
    const bool latent = of.key > kLargestHead;  // `heads` are sequences
    append.rows = append.input_rows = of.queries * (latent ? of.heads : 1);
    append.columns = latent ? of.key : of.heads * (of.key + of.value);
    vectors.push_back(append);
    workload::Operation op;
    op.weight = false;
    op.batch = of.heads;
    op.shape = {of.keys, queries, of.key};
    gemms.push_back(op);
    op.shape = {of.value, queries, of.keys};
    gemms.push_back(op);
    workload::VectorOperation softmax;
    softmax.kind = workload::VectorKind::kSoftmax;
    softmax.rows = softmax.input_rows = of.heads * queries;
    softmax.columns = of.keys;
    softmax.causal = of.causal;
    softmax.after = 1;
    vectors.push_back(softmax);
  }

  std::vector<workload::Operation> gemms;
  std::vector<workload::VectorOperation> vectors;
};

const gpu::GpuSpec& board(const std::string& name) {
  static std::map<std::string, gpu::GpuSpec> boards;
  const auto found = boards.find(name);
  return found != boards.end() ? found->second
                               : boards.emplace(name, config::load_architecture(name).gpu).first->second;
}

const std::string kA100 = "a100-sxm4-80gb", kH100 = "h100-sxm5-80gb";

ClosedForm attention(const Extents& of, const std::string& name = kA100, const ResidentTensors& resident = {}) {
  static const EngineSpec engine = load_engine("compiled");
  const Parts parts(of);
  const Network network{parts.gemms, parts.vectors, engine};
  const PlannedKernel plan = plan_kernels(network).at(1);
  return attention_kernel(plan, network, bytes_of(plan, network), resident, board(name));
}

double us(const Extents& of, const std::string& name = kA100) {
  return attention(of, name).times.time_us(1);
}

double dram_us(double bytes, const std::string& name = kA100) {
  const memory::MemorySpec& memory = board(name).memory;
  const double mhz = board(name).boost_clock_mhz;
  return bytes / (memory.dram_bytes_per_cycle(mhz) * mhz);
}

TEST(Attention, TakesMoreThanItsProducts) {
  const ClosedForm form = attention({4096, 4096, 64}, kA100, {1, 1, 1, 1});
  const double macs = 2.0 * 4096 * 4096 * 64 * 64;
  EXPECT_DOUBLE_EQ(form.events.macs, macs);
  EXPECT_GE(form.times.tensor_us, macs / 1024 / 108 / 1410);
  EXPECT_GT(form.times.lanes_us, 0);
  EXPECT_GT(form.times.time_us(1), form.times.tensor_us + form.times.lanes_us);
}

// FlashAttention-2 reaches 50 to 73 % of the peak of an A100 (Dao, arXiv 2307.08691).
TEST(Attention, ReachesWhatFlashAttention2DoesAndNoMore) {
  const ClosedForm form = attention({8192, 8192, 32});
  const double tflops = 2e-6 * form.events.macs / form.times.time_us(1);
  EXPECT_GT(tflops, 0.5 * 312);
  EXPECT_LT(tflops, 0.73 * 312);
}

// Exponentials of two warpgroups take turns with products, which are shorter: 128 x 16 results of
// the special function units for 128 x 64 x 2 multiply-accumulates of 2048 a cycle.
TEST(Attention, HeadsOf64AreBoundByExponentialsOnHopper) {
  const KernelTimes small = attention({16384, 16384, 32}, kH100).times;
  const KernelTimes large = attention({16384, 16384, 8, 1, 256, 256}, kH100).times;
  EXPECT_GT(small.lanes_us, 0.6 * small.tensor_us);
  EXPECT_LT(large.lanes_us, 0.25 * large.tensor_us);
  EXPECT_NEAR(small.tensor_us / large.tensor_us, 1, 0.05);  // as many products
}

TEST(Attention, EachGenerationHasItsKernel) {
  const Extents of{8192, 8192, 16, 1, 128, 128};
  const double flop = 4.0 * 8192 * 8192 * 128 * 16;
  const auto of_peak = [&](const std::string& name) {
    const gpu::GpuSpec& gpu = board(name);
    const double macs = gpu.sm.macs_per_cycle(16, numerics::DataType::kF32);
    return flop / us(of, name) / (2 * macs * gpu.sms * gpu.boost_clock_mhz);
  };
  // Blackwell multiplies twice as fast and has as many special function units.
  EXPECT_LT(of_peak("b200"), of_peak(kH100));
  EXPECT_LT(us(of, "b200"), us(of, kH100));
  // Tensor cores of a quarter of the rate wait for no softmax.
  EXPECT_GT(of_peak("rtx4090"), of_peak(kA100));
}

TEST(Attention, ACausalMaskLeavesHalfOfTheWorkAndTheDiagonal) {
  const double ratio = us({8192, 8192, 32, 1, 64, 64, true}) / us({8192, 8192, 32});
  EXPECT_GT(ratio, 0.5);
  EXPECT_LT(ratio, 0.56);
  const double of_few = us({512, 512, 512, 1, 64, 64, true}) / us({512, 512, 512});
  EXPECT_GT(of_few, ratio);  // four of 16 blocks lie on the diagonal
  const ClosedForm masked = attention({8192, 8192, 32, 1, 64, 64, true});
  EXPECT_NEAR(masked.events.macs, 0.508 * attention({8192, 8192, 32}).events.macs, 0.001 * masked.events.macs);
}

TEST(Attention, HeadsThatShareKeysAreMaskedAsTheyAreAlone) {
  const ClosedForm grouped = attention({4096, 4096, 8, 4, 128, 128, true}, kH100);
  const ClosedForm alone = attention({4096, 4096, 32, 1, 128, 128, true}, kH100);
  EXPECT_DOUBLE_EQ(grouped.events.macs, alone.events.macs);
  EXPECT_LT(grouped.events.dram_bytes, 0.7 * alone.events.dram_bytes);
}

// 512 queries behind 3584 tokens of a cache: of 4096 keys the mask leaves out 256 on average, and
// blocks of 128 queries 192.
TEST(Attention, APieceOfAPrefillReadsWhatStandsBeforeIt) {
  Extents piece{4096, 512, 64, 1, 128, 128, true};
  const double masked = attention(piece).events.macs;
  piece.causal = false;
  EXPECT_DOUBLE_EQ(masked / attention(piece).events.macs, 1 - 192.0 / 4096);
}

TEST(Attention, AWindowCostsItsKeysAndItsEdges) {
  const double window = us({1024, 16384, 16, 1, 128, 128, true}, kH100);
  const double all = us({16384, 16384, 16, 1, 128, 128, true}, kH100);
  EXPECT_LT(window, 0.2 * all);  // 1.1 of 8.2 thousand keys
  EXPECT_GT(window, 0.1 * all);
}

TEST(Attention, DecodingReadsTheCacheOnce) {
  const double cache = 2.0 * 2 * 2048 * 64 * 512;
  for (const std::string& name : {kA100, kH100, std::string("b200")}) {
    const ClosedForm form = attention({2048, 4, 512}, name);
    EXPECT_NEAR(form.events.dram_bytes, cache, 0.02 * cache) << name;
    EXPECT_GT(form.times.time_us(1), dram_us(cache, name)) << name;
    EXPECT_LT(form.times.time_us(1), 1.15 * dram_us(cache, name) + 6) << name;
  }
}

TEST(Attention, FewQueriesAreSpreadOverTheSms) {
  EXPECT_GT(attention({8192, 4, 8}).times.busy_sms, 100);
  EXPECT_GT(attention({8192, 1, 8, 4, 128, 128, true}, kH100).times.busy_sms, 100);
  // Their results are added up by another kernel; where heads fill the SMs there is none.
  const double launch = board(kA100).launch.launch_us;
  EXPECT_GT(attention({8192, 4, 8}).times.launch_us, launch);
  EXPECT_DOUBLE_EQ(attention({8192, 4, 256}).times.launch_us, launch);
}

// A token of latent attention is 576 elements for all heads, of which 512 are its value, too.
TEST(Attention, LatentKeysAndValuesAreTheSameBytes) {
  const ClosedForm form = attention({4096, 1, 128, 128, 576, 512, true}, kH100);
  const double cache = 2.0 * 576 * 4096 * 128;
  const double queries = 2.0 * (576 + 512) * 128 * 128;
  EXPECT_NEAR(form.events.dram_bytes, cache + queries, 0.01 * cache);
}

TEST(Attention, KeysAndValuesMayDifferInDepth) {
  const ClosedForm form = attention({4096, 4096, 128, 1, 192, 128}, kH100);
  EXPECT_DOUBLE_EQ(form.events.macs, 4096.0 * 4096 * (192 + 128) * 128);
  EXPECT_DOUBLE_EQ(form.events.dram_bytes, 2.0 * 4096 * 128 * 2 * (192 + 128));
}

}  // namespace
}  // namespace sptc::run::network
