// SPDX-License-Identifier: Apache-2.0
#include "models/base/shape.h"
#include "sim/run/network/kernel_time.h"

#include <algorithm>
#include <cmath>

namespace sptc::run::network {
namespace {

/// Queries of a thread block: four warps of two instructions each, as FlashAttention-2 and the
/// fused kernels of TensorRT have them; of few queries one instruction.
constexpr std::int64_t kQueriesOfBlock = 128;
constexpr std::int64_t kQueriesOfInstruction = 16;
constexpr std::int64_t kKeysOfStep = 64;
/// Keys of a slice, at the least, where few queries leave SMs without work (Flash-Decoding).
constexpr std::int64_t kKeysOfSlice = 256;
constexpr double kWarps = 4;

/// Instructions of a lane for an element of the scores: scaling and subtracting the maximum in one,
/// the maximum, the sum, half a conversion to 16 bits.
constexpr double kSoftmaxOperations = 3.5;

/// Results of the special function units for one: the exponential, and of bytes a conversion from
/// the integer of the first product and one to that of the second.
double special_operations(int operand_bits) {
  return operand_bits >= 16 ? 1 : 3;
}

/// How the work is cut.
struct Blocks {
  double queries = 0, keys = 0;  ///< of one, whole instructions
  double count = 0;
  double scores = 0;  ///< elements that one computes
};

Blocks blocks_of(const workload::Operation& scores, bool causal, int sms) {
  const std::int64_t keys = scores.shape.m;
  const std::int64_t queries = scores.shape.n;
  const std::int64_t rows =
      std::min(kQueriesOfBlock, base::round_up(queries, kQueriesOfInstruction));
  const std::int64_t tiles = base::ceil_div(queries, rows) * scores.batch;
  const std::int64_t most_slices = std::max<std::int64_t>(1, keys / kKeysOfSlice);
  const std::int64_t slices = queries > kQueriesOfBlock ? 1
                                                        : std::clamp(base::ceil_div(sms, tiles),
                                                                     std::int64_t{1}, most_slices);
  Blocks blocks;
  blocks.queries = static_cast<double>(rows);
  blocks.keys = static_cast<double>(base::round_up(base::ceil_div(keys, slices), kKeysOfStep));
  blocks.count = static_cast<double>(tiles * slices);
  blocks.scores = blocks.queries * blocks.keys;
  if (causal && queries == keys) {
    // The steps beyond the diagonal are left out.
    blocks.scores *= (1 + blocks.queries / blocks.keys) / 2;
    blocks.scores = std::min(blocks.scores, blocks.queries * blocks.keys);
  }
  return blocks;
}

bool is_causal(const PlannedKernel& kernel, const Network& network) {
  return std::any_of(kernel.vectors.begin(), kernel.vectors.end(),
                     [&](std::size_t i) { return network.vectors[i].causal; });
}

}  // namespace

ClosedForm attention_kernel(const PlannedKernel& kernel, const Network& network,
                            const KernelBytes& bytes, const ResidentTensors& resident,
                            const gpu::GpuSpec& gpu) {
  const workload::Operation& scores = network.gemms[kernel.gemms.front()];
  const int bits = numerics::storage_bits(scores.dtype);
  const auto depth = static_cast<double>(scores.shape.k);
  const Blocks blocks = blocks_of(scores, is_causal(kernel, network), gpu.sms);
  const double share = busiest_share(blocks.count, gpu.sms);
  const double tile_bytes = blocks.keys * depth * bits / 8;

  ClosedForm result;
  // Each block reads the keys and values of its head.
  const double l2_read = blocks.count * (2 * tile_bytes + blocks.queries * depth * bits / 8);
  add_memory(bytes, l2_read, resident, share, gpu, result);
  const double macs = 2 * blocks.scores * depth;
  const double special = blocks.scores * special_operations(bits);
  const double softmax = blocks.scores * kSoftmaxOperations + special;
  result.events.macs = blocks.count * macs;
  result.events.lane_operations = blocks.count * softmax;
  // Each warp loads all keys and values; an instruction takes 512 bytes of fragments.
  result.events.shared_memory_bytes =
      blocks.count * 2 * tile_bytes *
      (1 + std::min(kWarps, blocks.queries / kQueriesOfInstruction));
  result.events.instructions =
      result.events.lane_operations / kLanes + result.events.shared_memory_bytes / kBytesOfLoad;
  const double of_sm = share * blocks.count;
  const double cycles_per_us = gpu.boost_clock_mhz;
  result.times.tensor_us = of_sm * macs /
                           gpu.sm.macs_per_cycle(bits, numerics::accumulator_type(scores.dtype)) /
                           cycles_per_us;
  // The softmax of a warp waits for its products and they for it: FlashAttention-2 does not overlap
  // them (Shah et al., FlashAttention-3, arXiv 2407.08608).
  result.times.lanes_us = of_sm *
                          std::max(softmax / lanes_per_cycle(gpu.sm), special / kSpecialPerCycle) /
                          cycles_per_us;
  result.times.busy_sms = std::min(static_cast<double>(gpu.sms), blocks.count);
  return result;
}

}  // namespace sptc::run::network
