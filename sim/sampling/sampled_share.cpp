// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/sampled_share.h"

#include "sim/memory/owning_partition.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace sptc::sim {
namespace {

/// What the SMs of one partition ask for in a wave.
struct Asked {
  double bytes = 0;            ///< of all operands
  double bytes_of[2] = {};     ///< of A with its metadata, of B
  double simulated = 0;        ///< of all operands, by the SMs that are simulated
  double distinct_of[2] = {};  ///< of A with its metadata, of B: each tile counted once
  std::set<std::int64_t> panels[2];
};

}  // namespace

SampledShare::SampledShare(const GemmKernel& kernel, const GridReuse& reuse,
                           const MemorySpec& memory, std::int64_t sms, std::vector<int> parts)
    : kernel_(kernel),
      reuse_(reuse),
      traffic_(kernel),
      partitions_(static_cast<int>(parts.size()) < memory.l2_partitions ? 1 : memory.l2_partitions),
      sms_(sms),
      parts_(std::move(parts)),
      ctas_(kernel.ctas()) {}

void SampledShare::shorten(std::int64_t ctas, bool ends_as_the_whole) {
  ctas_ = ctas;
  ends_as_the_whole_ = ends_as_the_whole;
}

SampledShare::WaveName SampledShare::wave_of(std::int64_t cta) const {
  const std::int64_t of_wave = reuse_.ctas_per_wave();
  const std::int64_t wave = cta / of_wave;
  if (ctas_ == kernel_.ctas() || wave == 0) {
    return {wave, false};
  }
  if (ends_as_the_whole_ && wave == (ctas_ - 1) / of_wave) {
    return {(kernel_.ctas() - 1) / of_wave, false};
  }
  return {wave, true};
}

const ShareOfCta& SampledShare::share_of(std::size_t port, std::int64_t cta) {
  const WaveName name = wave_of(cta);
  auto found = waves_.find(name);
  if (found == waves_.end()) {
    const ShareOfCta& share =
        name.mean ? reuse_.later_share() : reuse_.share_of(name.wave * reuse_.ctas_per_wave());
    found = waves_.emplace(name, look_at(name.wave, share)).first;
  }
  return found->second.of_port[port];
}

SampledShare::Wave SampledShare::look_at(std::int64_t wave, const ShareOfCta& share) const {
  const std::int64_t begin = wave * reuse_.ctas_per_wave();
  const std::int64_t end = std::min(kernel_.ctas(), begin + reuse_.ctas_per_wave());
  std::vector<Asked> asked(static_cast<std::size_t>(partitions_));
  for (std::int64_t cta = begin; cta < end; ++cta) {
    const std::int64_t sm = cta % sms_;
    Asked& of_partition = asked[static_cast<std::size_t>(
        partition_of_sm(static_cast<int>(sm), static_cast<int>(partitions_)))];
    const CtaTile tile = kernel_.rasterise(cta);
    const std::int64_t slice = tile.batch * kernel_.split_k + tile.slice;
    auto a = static_cast<double>(traffic_.panel_bytes(Operand::kA, tile.tile_m, tile.slice));
    if (kernel_.instruction.sparse) {
      a += static_cast<double>(traffic_.panel_bytes(Operand::kMetadata, tile.tile_m, tile.slice));
    }
    const auto b = static_cast<double>(traffic_.panel_bytes(Operand::kB, tile.tile_n, tile.slice)) /
                   kernel_.cta_group;
    of_partition.bytes += a + b;
    of_partition.bytes_of[0] += a;
    of_partition.bytes_of[1] += b;
    if (of_partition.panels[0].insert(slice * kernel_.tiles_m() + tile.tile_m).second) {
      of_partition.distinct_of[0] += a;
    }
    if (of_partition.panels[1].insert(slice * kernel_.tiles_n() + tile.tile_n).second) {
      of_partition.distinct_of[1] += b;
    }
    if (std::find(parts_.begin(), parts_.end(), sm) != parts_.end()) {
      of_partition.simulated += a + b;
    }
  }
  Wave result;
  for (std::size_t port = 0; port < parts_.size(); ++port) {
    const Asked& of_partition = asked[port % asked.size()];
    result.of_port.push_back(share);
    ShareOfCta& of_port = result.of_port.back();
    if (of_partition.simulated > 0) {
      of_port.active_sms = of_partition.bytes / of_partition.simulated;
    }
    for (const Operand operand : {Operand::kA, Operand::kMetadata, Operand::kB}) {
      const std::size_t i = operand == Operand::kB ? 1 : 0;
      ShareOfCta::OfOperand& ratio = of_port.operands[static_cast<std::size_t>(operand)];
      ratio.from_other_partition =
          of_partition.bytes_of[i] > 0
              ? ratio.waits_for_dram * of_partition.distinct_of[i] / of_partition.bytes_of[i]
              : 0;
    }
  }
  return result;
}

}  // namespace sptc::sim
