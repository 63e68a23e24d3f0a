// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/sampled_share.h"

#include "sim/memory/owning_partition.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace sptc::sim {
namespace {

/// What the SMs of one partition move in a wave: of A with its metadata, of B, and of D.
struct Moved {
  std::array<double, 3> bytes{};
  std::array<double, 2> distinct{};  ///< of operands, each tile counted once
  std::array<std::set<std::int64_t>, 2> panels;
  std::array<double, 3> simulated{};  ///< by the SMs that are simulated
  double full = 0;  ///< of operands, by those, were none of their tiles at an edge
};

double of_operands(const std::array<double, 3>& bytes) {
  return bytes[0] + bytes[1];
}

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
    return {wave, wave, false};
  }
  if (ends_as_the_whole_ && wave == (ctas_ - 1) / of_wave) {
    return {(kernel_.ctas() - 1) / of_wave, wave, false};
  }
  return {wave, wave, true};
}

const ShareOfCta& SampledShare::share_of(std::size_t port, std::int64_t cta) {
  const WaveName name = wave_of(cta);
  auto found = waves_.find(name);
  if (found == waves_.end()) {
    found = waves_.emplace(name, look_at(name)).first;
  }
  return found->second.of_port[port];
}

std::array<double, 3> SampledShare::bytes_of(const CtaTile& tile) const {
  auto a = static_cast<double>(traffic_.panel_bytes(Operand::kA, tile.tile_m, tile.slice));
  if (kernel_.instruction.sparse) {
    a += static_cast<double>(traffic_.panel_bytes(Operand::kMetadata, tile.tile_m, tile.slice));
  }
  const auto b = static_cast<double>(traffic_.panel_bytes(Operand::kB, tile.tile_n, tile.slice));
  const std::int64_t elements = traffic_.panel_rows(Operand::kA).of(tile.tile_m) *
                                traffic_.panel_rows(Operand::kB).of(tile.tile_n);
  return {a, b / kernel_.cta_group, static_cast<double>(elements)};
}

SampledShare::Wave SampledShare::look_at(const WaveName& name) const {
  const std::int64_t begin = name.wave * reuse_.ctas_per_wave();
  const std::int64_t end = std::min(kernel_.ctas(), begin + reuse_.ctas_per_wave());
  std::vector<Moved> moved(static_cast<std::size_t>(partitions_));
  for (std::int64_t cta = begin; cta < end; ++cta) {
    Moved& of_partition = moved[static_cast<std::size_t>(
        partition_of_sm(static_cast<int>(cta % sms_), static_cast<int>(partitions_)))];
    const CtaTile tile = kernel_.rasterise(cta);
    const std::int64_t slice = tile.batch * kernel_.split_k + tile.slice;
    const std::array<double, 3> bytes = bytes_of(tile);
    const std::array<std::int64_t, 2> panels{slice * kernel_.tiles_m() + tile.tile_m,
                                             slice * kernel_.tiles_n() + tile.tile_n};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      of_partition.bytes[i] += bytes[i];
    }
    for (std::size_t i = 0; i < panels.size(); ++i) {
      of_partition.distinct[i] += of_partition.panels[i].insert(panels[i]).second ? bytes[i] : 0;
    }
  }
  const double full = of_operands(bytes_of(kernel_.rasterise(0)));
  const std::int64_t first = name.simulated * reuse_.ctas_per_wave();
  const std::int64_t behind = std::min(ctas_, first + reuse_.ctas_per_wave());
  for (std::size_t port = 0; port < parts_.size(); ++port) {
    Moved& of_partition = moved[port % moved.size()];
    for (std::int64_t cta = first + parts_[port]; cta < behind; cta += sms_) {
      const std::array<double, 3> bytes = bytes_of(kernel_.rasterise(cta));
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        of_partition.simulated[i] += bytes[i];
      }
      of_partition.full += full;
    }
  }
  const ShareOfCta& share =
      name.mean ? reuse_.later_share() : reuse_.share_of(name.wave * reuse_.ctas_per_wave());
  Wave result;
  for (std::size_t port = 0; port < parts_.size(); ++port) {
    const Moved& of_partition = moved[port % moved.size()];
    ShareOfCta& of_port = result.of_port.emplace_back(share);
    if (of_partition.full > 0) {
      of_port.active_sms = of_operands(of_partition.bytes) / of_partition.full;
    }
    for (ShareOfCta::OfOperand& ratio : of_port.operands) {
      ratio.alike = of_port.active_sms;
    }
    of_port.storing_alike = of_partition.simulated[2] > 0
                                ? of_partition.bytes[2] / of_partition.simulated[2]
                                : of_port.active_sms;
    for (const Operand operand : {Operand::kA, Operand::kMetadata, Operand::kB}) {
      const std::size_t i = operand == Operand::kB ? 1 : 0;
      ShareOfCta::OfOperand& ratio = of_port.operands[static_cast<std::size_t>(operand)];
      if (of_partition.simulated[i] > 0) {
        ratio.alike = of_partition.bytes[i] / of_partition.simulated[i];
      }
      ratio.from_other_partition =
          of_partition.bytes[i] > 0
              ? ratio.waits_for_dram * of_partition.distinct[i] / of_partition.bytes[i]
              : 0;
    }
  }
  return result;
}

}  // namespace sptc::sim
