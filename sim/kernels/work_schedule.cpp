// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/work_schedule.h"

#include "models/base/error.h"

#include <algorithm>

namespace sptc::kernels {
namespace {

// CUTLASS's kMinItersPerSkBlock: a shorter stretch is not worth a CTA.
constexpr std::int64_t kShortestStretch = 2;

}  // namespace

std::int64_t WorkSchedule::ctas_launched(const GemmKernel& kernel, std::int64_t output_tiles, std::int64_t k_tiles,
                                         std::int64_t sms) {
  const std::int64_t resident = sms * kernel.ctas_per_sm;
  if (kernel.stream_k()) {
    return stream_of(kernel, output_tiles, k_tiles, sms).stretches;
  }
  return kernel.persistent() ? std::min(output_tiles, resident) : output_tiles;
}

WorkSchedule::WorkSchedule(const GemmKernel& kernel, std::int64_t output_tiles, std::int64_t k_tiles, std::int64_t sms,
                           Slices slices) {
  base::ensure(output_tiles > 0 && k_tiles > 0, "a schedule of nothing");
  work_.resize(static_cast<std::size_t>(ctas_launched(kernel, output_tiles, k_tiles, sms)));
  const std::int64_t streamed = kernel.stream_k() ? stream_of(kernel, output_tiles, k_tiles, sms).tiles : 0;
  if (streamed > 0) {
    add_stream(streamed, k_tiles);
    count_peers();
  }
  for (std::int64_t tile = streamed; tile < output_tiles; ++tile) {
    const std::int64_t depth = slices == Slices::kWhole ? kernel.k_tiles_of(tile) : k_tiles;
    work_[static_cast<std::size_t>((tile - streamed) % ctas())].push_back({tile, 0, depth});
  }
}

std::int64_t WorkSchedule::most_stretches(std::int64_t tiles, std::int64_t k_tiles) {
  return std::max<std::int64_t>(1, tiles * k_tiles / kShortestStretch);
}

WorkSchedule::Stream WorkSchedule::stream_of(const GemmKernel& kernel, std::int64_t output_tiles, std::int64_t k_tiles,
                                             std::int64_t sms) {
  const std::int64_t resident = sms * kernel.ctas_per_sm;
  if (kernel.parts_of_tile > 0) {
    const std::int64_t stretches = output_tiles * kernel.parts_of_tile;
    return {output_tiles, std::min(stretches, most_stretches(output_tiles, k_tiles))};
  }
  const std::int64_t rest = output_tiles % resident;
  const std::int64_t streamed = rest == 0 ? 0 : output_tiles <= resident ? output_tiles : rest + resident;
  return {streamed, streamed == output_tiles ? std::min(resident, most_stretches(streamed, k_tiles)) : resident};
}

std::int64_t WorkSchedule::partial_sum_bytes(const GemmKernel& kernel, std::int64_t sms) {
  if (!kernel.stream_k()) {
    return 0;
  }
  const std::int64_t k_tiles = kernel.k_tiles();
  const auto [tiles, stretches] = stream_of(kernel, kernel.ctas(), k_tiles, sms);
  std::int64_t sums = 0;
  for (std::int64_t i = 1; i < stretches; ++i) {
    sums += i * tiles * k_tiles / stretches % k_tiles != 0 ? 1 : 0;
  }
  return sums * kernel.cta_tile.m * kernel.cta_tile.n * kAccumulatorBytes;
}

void WorkSchedule::add_stream(std::int64_t tiles, std::int64_t k_tiles) {
  const std::int64_t length = tiles * k_tiles;
  for (std::int64_t cta = 0; cta < ctas(); ++cta) {
    std::int64_t at = cta * length / ctas();
    const std::int64_t end = (cta + 1) * length / ctas();
    while (at < end) {
      const std::int64_t first = at % k_tiles;
      const std::int64_t count = std::min(k_tiles - first, end - at);
      work_[static_cast<std::size_t>(cta)].push_back({at / k_tiles, first, count, first == 0, 0});
      at += count;
    }
  }
}

void WorkSchedule::count_peers() {
  isa::WorkSegment* beginning = nullptr;  // of the tile in which the walk stands
  for (std::vector<isa::WorkSegment>& of_cta : work_) {
    for (isa::WorkSegment& segment : of_cta) {
      if (segment.first_k_tile == 0) {
        beginning = &segment;
      } else {
        ++beginning->peers;
      }
    }
  }
}

ScheduledTraffic::Place ScheduledTraffic::find(std::int64_t cta, std::int64_t tile) const {
  for (const isa::WorkSegment& segment : schedule_.segments(cta)) {
    if (tile < segment.k_tiles) {
      return {segment, segment.first_k_tile + tile};
    }
    tile -= segment.k_tiles;
  }
  throw base::InternalError("a CTA copies beyond its work");
}

sm::MemoryRange ScheduledTraffic::range(std::int64_t cta, int warp, const isa::WarpInstruction& instruction,
                                        std::int64_t tile) const {
  if (instruction.operand == isa::Operand::kPartialSum) {
    // A CTA stores to a place of its own. Where several share a tile, the bytes of the next one
    // stand for those of each.
    const std::int64_t writer = instruction.opcode == isa::Opcode::kStoreGlobal ? cta : cta + 1;
    return traffic_.partial_sums(writer, warp, instruction.where.row);
  }
  const Place place = find(cta, tile);
  return traffic_.range(place.segment.output_tile, warp, instruction, place.k_tile);
}

}  // namespace sptc::kernels
