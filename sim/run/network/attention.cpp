// SPDX-License-Identifier: Apache-2.0
//
// Attention as the published kernels of each generation run it. Sizes of blocks and steps are those
// of github.com/Dao-AILab/flash-attention (hopper/tile_size.h, csrc/flash_attn/src); rates are of
// the architecture. No number is fitted to times of attention; which terms there are was chosen
// with the rows of tests/fidelity/data/attention_published.csv at hand.
#include "models/base/shape.h"
#include "models/mma/instruction.h"
#include "sim/kernels/form_constants.h"
#include "sim/run/network/kernel_time.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace sptc::run::network {
namespace {

/// Whose kernel runs, by the matrix instructions of the GPU.
enum class Generation {
  kMma,      ///< FlashAttention-2 (Dao, arXiv 2307.08691): two blocks of four warps share an SM
  kWgmma,    ///< FlashAttention-3 (Shah et al., arXiv 2407.08608): two warpgroups of one block
  kTcgen05,  ///< FlashAttention-4: two tiles of queries of one block
};

Generation generation_of(const sm::SmSpec& sm) {
  return sm.has(mma::MmaFamily::kTcgen05) ? Generation::kTcgen05
         : sm.has(mma::MmaFamily::kWgmma) ? Generation::kWgmma
                                          : Generation::kMma;
}

/// Comparisons of an SM in a cycle, of every compute capability from 8.0 to 9.0 (CUDA C++
/// Programming Guide, throughput of native arithmetic instructions).
constexpr double kComparedPerCycle = 64;
/// Instructions of a lane for an element of the scores beside its maximum: scaling and subtracting
/// the maximum in one, the sum, half a conversion to 16 bits.
constexpr double kSoftmaxOperations = 2.5;
/// The same for an element on the diagonal: its place is compared, and it is replaced.
constexpr double kMaskOperations = 2;
/// Part of the exponentials that FlashAttention-4 computes with polynomials, of instructions as
/// many as range reduction and a cubic take (10 to 25 % of them, eight instructions: recalled).
constexpr double kPolynomialShare = 0.25, kPolynomialOperations = 8;
/// Tokens of a page of a cache, each of which has an entry in a table (vLLM's default).
constexpr double kTokensOfPage = 16, kBytesOfEntry = 4;
constexpr std::int64_t kMostSlices = 128;  ///< of the keys, as FlashAttention's heuristic has it
constexpr double kWarps = 4;               ///< of a block that multiply, of FlashAttention-2

/// Results of the special function units for one score: the exponential, and of integers a
/// conversion from that of the first product and one to that of the second.
double special_operations(numerics::DataType type) {
  return numerics::accumulator_type(type) == numerics::DataType::kS32 ? 3 : 1;
}

/// What is computed.
struct Shape {
  std::int64_t keys = 0;
  std::int64_t queries = 0;         ///< of a head of queries
  std::int64_t group = 1;           ///< heads of queries that read the same keys
  std::int64_t heads = 0;           ///< of keys, of the whole batch
  std::int64_t key = 0, value = 0;  ///< features of each
  bool causal = false;
  numerics::DataType type = numerics::DataType::kF16;

  int bits() const { return numerics::storage_bits(type); }
  /// A sliding window: queries read fewer keys than there are queries.
  bool windowed() const { return causal && queries > keys; }
};

/// Heads of queries that share their keys, whose queries stand in one product: from what is
/// appended to the cache before it, of each token keys and values of all heads, or in latent
/// attention one vector. Where that does not tell, queries beyond the keys are those of more heads.
std::int64_t heads_of_group(const workload::Operation& scores, const workload::Operation& context, std::size_t first,
                            const Network& network) {
  const std::int64_t queries = scores.shape.n;
  const auto append = std::find_if(network.vectors.rbegin(), network.vectors.rend(), [first](const auto& op) {
    return op.after <= first && op.kind == workload::VectorKind::kKvAppend;
  });
  if (append != network.vectors.rend()) {
    const std::int64_t columns = scores.shape.k + context.shape.m;
    const std::int64_t heads = append->columns == scores.shape.k ? 1 : append->columns / columns;
    const std::int64_t sequences = heads > 0 ? scores.batch / heads : 0;
    const std::int64_t of_head = sequences > 0 ? append->rows / sequences : 0;
    if (of_head > 0 && heads * sequences == scores.batch && of_head * sequences == append->rows &&
        queries % of_head == 0) {
      return queries / of_head;
    }
  }
  return queries % scores.shape.m == 0 ? queries / scores.shape.m : 1;
}

Shape shape_of(const PlannedKernel& kernel, const Network& network) {
  const workload::Operation& scores = network.gemms[kernel.gemms.front()];
  const workload::Operation& context = network.gemms[kernel.gemms.back()];
  Shape shape;
  shape.keys = scores.shape.m;
  shape.queries = scores.shape.n;
  shape.heads = scores.batch;
  shape.key = scores.shape.k;
  shape.value = context.shape.m;
  shape.type = scores.dtype;
  for (const std::size_t i : kernel.vectors) {
    const workload::VectorOperation& op = network.vectors[i];
    if (op.kind == workload::VectorKind::kSoftmax && op.causal) {
      shape.causal = true;
      shape.group = heads_of_group(scores, context, kernel.gemms.front(), network);
      shape.queries /= shape.group;
    }
  }
  return shape;
}

/// Queries of a block, and keys of a step.
struct Tile {
  std::int64_t rows, keys;
};

Tile tile_of(Generation generation, const Shape& shape) {
  constexpr std::int64_t kSmall = 64, kMiddle = 128, kLarge = 192;
  const std::int64_t depth = shape.key;
  if (depth > kLargestHead) {
    return {64, 64};  // FlashMLA (github.com/deepseek-ai/FlashMLA)
  }
  switch (generation) {
    case Generation::kMma:
      return {128, depth <= kSmall ? 128 : 64};
    case Generation::kTcgen05:
      return {256, 128};
    case Generation::kWgmma:
      break;
  }
  const std::int64_t rows = depth <= kSmall ? 192 : 128;
  if (shape.bits() <= 8) {
    return {rows, depth <= kSmall ? 160 : depth <= kMiddle ? 224 : 128};
  }
  return {rows, depth <= kSmall ? 128 : depth <= kMiddle ? (shape.causal ? 128 : 176) : depth <= kLarge ? 128 : 80};
}

/// Queries that an instruction multiplies, whatever there is. Of tcgen05.mma few are the columns,
/// and its rows are keys, as in kernels for decoding (assumed).
std::int64_t queries_of_instruction(Generation generation) {
  return generation == Generation::kWgmma ? 64 : 16;
}

/// Keys that a block of `rows` queries reads on average, in whole steps: below the diagonal, or
/// along a window, of which the first queries see a part.
double keys_of_block(const Shape& shape, std::int64_t rows, std::int64_t step) {
  const auto whole = static_cast<double>(base::round_up(shape.keys, step));
  if (!shape.causal || (shape.queries <= rows && !shape.windowed())) {
    return whole;
  }
  const auto keys = static_cast<double>(shape.keys);
  const auto queries = static_cast<double>(shape.queries);
  const auto of_block = static_cast<double>(std::min(rows, shape.queries));
  const double rounding = static_cast<double>(step - std::gcd(step, rows)) / 2;
  if (shape.windowed()) {
    return keys * (1 - keys / (2 * queries)) + of_block + rounding;
  }
  return std::min(whole, keys - (queries - of_block) / 2 + rounding);
}

/// Slices of the keys where few blocks leave SMs without work: the fewest with 85 % of the best
/// use of all `slots` (num_splits_heuristic of FlashAttention, after Flash-Decoding).
std::int64_t slices_of(std::int64_t tiles, std::int64_t steps, std::int64_t slots) {
  constexpr double kFull = 0.8, kOfBest = 0.85;
  constexpr std::int64_t kFewSteps = 4;
  if (static_cast<double>(tiles) >= kFull * static_cast<double>(slots) || steps <= kFewSteps) {
    return 1;
  }
  const std::int64_t most = std::min({kMostSlices, slots, steps});
  const auto use = [&](std::int64_t slices) {
    const bool same = slices > 1 && base::ceil_div(steps, slices) == base::ceil_div(steps, slices - 1);
    const double waves = static_cast<double>(tiles * slices) / static_cast<double>(slots);
    return same ? 0 : waves / std::ceil(waves);
  };
  double best = 0;
  for (std::int64_t slices = 1; slices <= most; ++slices) {
    best = std::max(best, use(slices));
  }
  std::int64_t slices = 1;
  while (use(slices) < kOfBest * best) {
    ++slices;
  }
  return slices;
}

/// How the work is cut.
struct Blocks {
  double rows = 0, keys = 0;  ///< of one on average, whole instructions and steps
  double step = 0;            ///< keys
  double count = 0;
  double slices = 1;
  bool halved = false;  ///< so few rows that nobody takes turns with them in a block
  double longest = 1;   ///< keys of the longest over those of the average
  double masked = 0;    ///< scores of one on average that a mask is computed for
  double scores() const { return rows * keys; }
};

Blocks blocks_of(const Shape& shape, Generation generation, int sms) {
  const Tile tile = tile_of(generation, shape);
  // Heads of few queries share a block with those that read the same keys.
  const bool packed = shape.queries < tile.rows;
  const std::int64_t queries = packed ? shape.queries * shape.group : shape.queries;
  const std::int64_t heads = packed ? shape.heads : shape.heads * shape.group;
  const std::int64_t rows = std::min(tile.rows, base::round_up(queries, queries_of_instruction(generation)));
  const std::int64_t tiles = base::ceil_div(queries, rows) * heads;
  const double keys = keys_of_block(shape, rows, tile.keys);
  const auto steps = static_cast<std::int64_t>(std::ceil(keys / static_cast<double>(tile.keys)));
  const std::int64_t slots = generation == Generation::kMma ? 2 * std::int64_t{sms} : sms;
  const std::int64_t slices = slices_of(tiles, steps, slots);
  Blocks blocks;
  blocks.rows = static_cast<double>(rows);
  blocks.step = static_cast<double>(tile.keys);
  blocks.slices = static_cast<double>(slices);
  blocks.halved = 2 * rows <= tile.rows;
  blocks.keys = slices == 1 ? keys : static_cast<double>(base::ceil_div(steps, slices)) * blocks.step;
  blocks.count = static_cast<double>(tiles * slices);
  if (shape.causal && shape.queries > rows && slices == 1) {
    const auto whole = static_cast<double>(base::round_up(shape.keys, tile.keys));
    blocks.longest = std::max(1.0, whole / keys);
    const double edges = shape.windowed() ? 2 : 1;
    blocks.masked = blocks.rows * std::min(keys, edges * (blocks.rows + blocks.step));
  }
  return blocks;
}

/// Blocks of the busiest SM, in average ones. Those of a causal mask differ, and the last one ends
/// half of the longest behind the others.
double of_busiest(const Blocks& blocks, int sms) {
  return blocks.longest > 1 ? std::max(blocks.count / sms + blocks.longest / 2, blocks.longest)
                            : busiest_share(blocks.count, sms) * blocks.count;
}

/// Cycles of a block by itself.
struct BlockCycles {
  double products = 0;  ///< both
  double softmax = 0;
  double first = 0;  ///< until the first tiles have arrived, and for the last results to leave
};

/// What a warp of mma.sync takes over the rate of the tensor core, where those of the other block
/// are not multiplying: the gap between its instructions, and what all lone warps lose.
double lone_warps(const Shape& shape, const sm::SmSpec& sm, double macs_per_cycle) {
  const tensor_core::TensorCoreSpec& core = sm.tensor_core;
  const double macs = static_cast<double>(core.mma_m) * core.mma_n * core.mma_k_bytes * 8 / shape.bits();
  const double cycles = macs * sm.sub_partitions / macs_per_cycle;
  return (1 + core.same_warp_gap_cycles / cycles) / kernels::kForm.lone_warps;
}

/// Cycles of the exponentials of `scores` elements, beside the other instructions of the softmax.
double exponential_cycles(double scores, const Shape& shape, Generation generation, const sm::SmSpec& sm) {
  const double polynomial = generation == Generation::kTcgen05 ? kPolynomialShare : 0;
  const double special = special_operations(shape.type) - polynomial;
  const double issued = kSoftmaxOperations + special + polynomial * kPolynomialOperations;
  return scores * std::max(special / kSpecialPerCycle, issued / lanes_per_cycle(sm));
}

BlockCycles cycles_of(const Blocks& blocks, const Shape& shape, Generation generation, const gpu::GpuSpec& gpu) {
  const sm::SmSpec& sm = gpu.sm;
  const double lanes = lanes_per_cycle(sm);
  const double rate = sm.macs_per_cycle(shape.bits(), numerics::accumulator_type(shape.type));
  BlockCycles cycles;
  cycles.products = blocks.scores() * static_cast<double>(shape.key + shape.value) / rate;
  // The maximum of a step is known before its first exponential.
  cycles.softmax = blocks.scores() / kComparedPerCycle + exponential_cycles(blocks.scores(), shape, generation, sm) +
                   blocks.masked * kMaskOperations / lanes;
  const double steps = blocks.keys / blocks.step;
  const double loaded = (blocks.rows + blocks.step) * static_cast<double>(shape.key) * shape.bits() / 8;
  const double left = blocks.rows * static_cast<double>(shape.value) * 2;
  cycles.first = gpu.memory.l2_near_latency_cycles + (loaded + left) / gpu.memory.sm_port_bytes_per_cycle;
  if (generation == Generation::kMma) {
    cycles.products *= lone_warps(shape, sm, rate);
    cycles.first += sm.async_copy_latency_cycles;
  } else {
    cycles.first += sm.bulk_copy_latency_cycles + cycles.softmax / steps;
  }
  // Each step rescales what the steps before have summed; FlashAttention-4 does where it must, in
  // warps of their own.
  if (generation != Generation::kTcgen05) {
    cycles.softmax += steps * blocks.rows * static_cast<double>(shape.value) / lanes;
  }
  return cycles;
}

/// The part of the softmax that no product hides. Two blocks of an SM, warpgroups of a block or
/// tiles of queries take turns: while one multiplies, the other has its softmax. Each finds the
/// other in its products for the part of the time that they take of both, as two customers of two
/// stations do whose times vary.
double exposed(const BlockCycles& cycles, bool alone) {
  return alone ? cycles.softmax : cycles.softmax * cycles.softmax / (cycles.products + cycles.softmax);
}

/// The kernel that adds up the results of slices, which are f32.
void add_combination(const Blocks& blocks, const Shape& shape, const gpu::GpuSpec& gpu, ClosedForm& result) {
  const double bytes = 2 * blocks.count * blocks.rows * static_cast<double>(shape.value) * 4;
  result.times.l2_us += bytes / gpu.memory.l2_bytes_per_cycle / gpu.boost_clock_mhz;
  result.times.launch_us += gpu.launch.reduction_launch_us;
  result.events.l2_bytes += bytes;
}

}  // namespace

ClosedForm attention_kernel(const PlannedKernel& kernel, const Network& network, const KernelBytes& bytes,
                            const ResidentTensors& resident, const gpu::GpuSpec& gpu) {
  const Shape shape = shape_of(kernel, network);
  const Generation generation = generation_of(gpu.sm);
  const Blocks blocks = blocks_of(shape, generation, gpu.sms);
  const BlockCycles cycles = cycles_of(blocks, shape, generation, gpu);
  const double busiest = of_busiest(blocks, gpu.sms);

  ClosedForm result;
  // Each block reads the keys and values of its head, and of a cache its table of pages.
  const auto read_columns =
      static_cast<double>(columns_of_token(network.gemms[kernel.gemms.front()], network.gemms[kernel.gemms.back()]));
  const double tiles = blocks.keys * read_columns * shape.bits() / 8;
  const double table = bytes.weights > 0 ? blocks.keys / kTokensOfPage * kBytesOfEntry : 0;
  const double of_queries = blocks.rows * static_cast<double>(shape.key) * shape.bits() / 8;
  add_memory(bytes, blocks.count * (tiles + table + of_queries), resident, busiest / blocks.count, gpu, result);
  if (blocks.slices > 1) {
    add_combination(blocks, shape, gpu, result);
  }
  const bool asynchronous = generation != Generation::kMma;
  result.events.macs = blocks.count * blocks.scores() * static_cast<double>(shape.key + shape.value);
  result.events.lane_operations =
      blocks.count *
      (blocks.scores() * (1 + kSoftmaxOperations + special_operations(shape.type)) + blocks.masked * kMaskOperations);
  // Each warp of mma.sync loads all keys and values, 512 bytes an instruction; what asynchronous
  // instructions read of shared memory belongs to them.
  const auto of_warp = static_cast<double>(queries_of_instruction(generation));
  const double readers = asynchronous ? 0 : std::min(kWarps, blocks.rows / of_warp);
  result.events.shared_memory_bytes = blocks.count * tiles * (1 + readers);
  result.events.instructions =
      result.events.lane_operations / kLanes + result.events.shared_memory_bytes / kBytesOfLoad;

  // Two blocks of FlashAttention-2 share an SM, and one begins while the other goes on. A block of
  // the others has an SM for itself.
  const bool alone = asynchronous ? blocks.halved : busiest <= 1;
  const double at_once = asynchronous ? 1 : 2;
  const double begun = std::max(0.0, busiest - at_once) / at_once;
  result.times.tensor_us = busiest * cycles.products / gpu.boost_clock_mhz;
  result.times.lanes_us = (busiest * exposed(cycles, alone) + begun * cycles.first) / gpu.boost_clock_mhz;
  result.times.busy_sms = std::min(static_cast<double>(gpu.sms), blocks.count);
  return result;
}

}  // namespace sptc::run::network
