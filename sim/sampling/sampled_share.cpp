// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/sampled_share.h"

#include "sim/memory/owning_partition.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

namespace sptc::sampling {
namespace {

void add(const std::array<double, 3>& moved, std::array<double, 3>& sums) {
  std::transform(sums.begin(), sums.end(), moved.begin(), sums.begin(), std::plus<>());
}

double of_operands(const std::array<double, 3>& moved) {
  return moved[0] + moved[1];
}

}  // namespace

SampledShare::SampledShare(const kernels::GemmKernel& kernel, const kernels::GridReuse& reuse,
                           const memory::MemorySpec& memory, std::int64_t sms,
                           std::vector<int> sm_numbers)
    : kernel_(kernel),
      reuse_(reuse),
      traffic_(kernel),
      partitions_(
          static_cast<int>(sm_numbers.size()) < memory.l2_partitions ? 1 : memory.l2_partitions),
      sms_(sms),
      sm_numbers_(std::move(sm_numbers)),
      ctas_(kernel.ctas()) {}

void SampledShare::shorten(std::int64_t ctas, bool ends_as_the_whole) {
  ctas_ = ctas;
  ends_as_the_whole_ = ends_as_the_whole;
}

SampledShare::StandIn SampledShare::stand_in_of(std::int64_t cta) const {
  const std::int64_t of_wave = reuse_.ctas_per_wave();
  const std::int64_t wave = cta / of_wave;
  if (ctas_ == kernel_.ctas() || wave == 0) {
    return {wave, wave, false};
  }
  if (ends_as_the_whole_ && wave == (ctas_ - 1) / of_wave) {
    return {wave, (kernel_.ctas() - 1) / of_wave, false};
  }
  return {wave, wave, true};
}

const kernels::ShareOfCta& SampledShare::share_of(std::size_t port, std::int64_t cta) {
  const StandIn wave = stand_in_of(cta);
  auto found = shares_.find(wave);
  if (found == shares_.end()) {
    found = shares_.emplace(wave, shares_of(wave)).first;
  }
  return found->second[port % found->second.size()];
}

SampledShare::Moved SampledShare::moved_by(const kernels::CtaTile& tile) const {
  auto a = static_cast<double>(traffic_.panel_bytes(isa::Operand::kA, tile.tile_m, tile.slice));
  if (kernel_.instruction.sparse) {
    a +=
        static_cast<double>(traffic_.panel_bytes(isa::Operand::kMetadata, tile.tile_m, tile.slice));
  }
  const auto b =
      static_cast<double>(traffic_.panel_bytes(isa::Operand::kB, tile.tile_n, tile.slice));
  const std::int64_t elements = traffic_.panel_rows(isa::Operand::kA).of(tile.tile_m) *
                                traffic_.panel_rows(isa::Operand::kB).of(tile.tile_n);
  return {a, b / kernel_.cta_group, static_cast<double>(elements)};
}

std::vector<SampledShare::Asked> SampledShare::asked_in(std::int64_t wave) const {
  const std::int64_t begin = wave * reuse_.ctas_per_wave();
  const std::int64_t end = std::min(kernel_.ctas(), begin + reuse_.ctas_per_wave());
  std::vector<Asked> result(static_cast<std::size_t>(partitions_));
  std::vector<std::array<std::set<std::int64_t>, 2>> panels(result.size());
  for (std::int64_t cta = begin; cta < end; ++cta) {
    const auto partition = static_cast<std::size_t>(
        memory::partition_of_sm(static_cast<int>(cta % sms_), static_cast<int>(partitions_)));
    const kernels::CtaTile tile = kernel_.rasterise(cta);
    const Moved moved = moved_by(tile);
    add(moved, result[partition].moved);
    const std::int64_t slice = tile.batch * kernel_.split_k + tile.slice;
    const std::array<std::int64_t, 2> of_tile{slice * kernel_.tiles_m() + tile.tile_m,
                                              slice * kernel_.tiles_n() + tile.tile_n};
    for (std::size_t i = 0; i < of_tile.size(); ++i) {
      const bool first = panels[partition][i].insert(of_tile[i]).second;
      result[partition].distinct[i] += first ? moved[i] : 0;
    }
  }
  return result;
}

std::vector<SampledShare::Simulated> SampledShare::simulated_in(std::int64_t wave) const {
  const std::int64_t begin = wave * reuse_.ctas_per_wave();
  const std::int64_t end = std::min(ctas_, begin + reuse_.ctas_per_wave());
  const double full = of_operands(moved_by(kernel_.rasterise(0)));
  std::vector<Simulated> result(static_cast<std::size_t>(partitions_));
  for (std::size_t port = 0; port < sm_numbers_.size(); ++port) {
    Simulated& of_partition = result[port % result.size()];
    for (std::int64_t cta = begin + sm_numbers_[port]; cta < end; cta += sms_) {
      add(moved_by(kernel_.rasterise(cta)), of_partition.moved);
      of_partition.full += full;
    }
  }
  return result;
}

kernels::ShareOfCta SampledShare::share_of_partition(kernels::ShareOfCta share, const Asked& asked,
                                                     const Simulated& simulated) {
  if (simulated.full > 0) {
    share.sms_asking = of_operands(asked.moved) / simulated.full;
  }
  const auto per_simulated = [&](std::size_t i) {
    return simulated.moved[i] > 0 ? asked.moved[i] / simulated.moved[i] : share.sms_asking;
  };
  for (kernels::ShareOfCta::OfOperand& ratio : share.operands) {
    ratio.reads_per_simulated = share.sms_asking;
  }
  share.stores_per_simulated = per_simulated(2);
  for (const isa::Operand operand : {isa::Operand::kA, isa::Operand::kMetadata, isa::Operand::kB}) {
    const std::size_t i = operand == isa::Operand::kB ? 1 : 0;
    kernels::ShareOfCta::OfOperand& ratio = share.operands[static_cast<std::size_t>(operand)];
    ratio.reads_per_simulated = per_simulated(i);
    ratio.from_other_partition =
        asked.moved[i] > 0 ? ratio.waits_for_dram * asked.distinct[i] / asked.moved[i] : 0;
  }
  return share;
}

std::vector<kernels::ShareOfCta> SampledShare::shares_of(const StandIn& wave) const {
  const std::vector<Asked> asked = asked_in(wave.whole);
  const std::vector<Simulated> simulated = simulated_in(wave.simulated);
  const kernels::ShareOfCta& of_all =
      wave.mean ? reuse_.later_share() : reuse_.share_of(wave.whole * reuse_.ctas_per_wave());
  std::vector<kernels::ShareOfCta> result;
  for (std::size_t partition = 0; partition < asked.size(); ++partition) {
    result.push_back(share_of_partition(of_all, asked[partition], simulated[partition]));
  }
  return result;
}

}  // namespace sptc::sampling
