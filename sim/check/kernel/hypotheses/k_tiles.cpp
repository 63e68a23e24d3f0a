// SPDX-License-Identifier: Apache-2.0
//
// Tiles of K that are missing or there twice, or meet those that do not belong to them.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

// A range of whole k-tiles that D lacks, or has twice: the second time right behind the first, or at the end of K.
Proposals k_ranges(const Trial& at) {
  constexpr std::size_t kMostRanges = 2048;  // tiles of which all ranges are looked at
  KMaps maps(at);
  const std::size_t units = maps.units();
  for (const std::size_t tile : maps.sizes()) {
    const std::size_t count = (units + tile - 1) / tile;
    for (std::size_t first = 0; first < count; ++first) {
      // Many k-tiles: only what is missing at an end.
      for (std::size_t last = count > kMostRanges && first > 0 ? count : first + 1; last <= count; ++last) {
        const std::size_t begin = first * tile, end = std::min(last * tile, units);
        const KPart part = part_of_k(begin, end);
        maps.add_if_likely(
            tile, "missing-k", {part_of_k(0, begin), zeros_of_k(end - begin), part_of_k(end, units)},
            [&] { return "D lacks " + (end - begin == units ? "the whole sum over K" : maps.range(begin, end)); });
        const auto twice = [&] { return "D has " + maps.range(begin, end) + " twice"; };
        maps.add_if_likely(tile, "doubled-k", {part_of_k(0, end), part, part_of_k(end, units)}, twice);
        if (end < units) {
          maps.add_if_likely(tile, "doubled-k", {part_of_k(0, units), part}, twice);
        }
      }
    }
  }
  return std::move(maps.proposals);
}

// K-tiles of A that meet those of B which do not belong to them, all in the same way: a pipeline that is a stage early
// or late.
Proposals shifted_k_tiles(const Trial& at) {
  using Shift = std::pair<std::string, std::function<std::int64_t(std::int64_t)>>;
  KMaps maps(at);
  for (const std::size_t tile : maps.sizes()) {
    const auto count = static_cast<std::int64_t>(maps.units() / tile);
    std::vector<Shift> shifts;
    for (std::int64_t by = 1; by < count; by *= 2) {
      shifts.emplace_back(fmt::format("t ^ {}", by), [by](std::int64_t t) { return t ^ by; });
    }
    for (const std::int64_t by : {-3, -2, -1, 1, 2, 3}) {
      const std::string formula = fmt::format("t {} {}", by < 0 ? '-' : '+', std::abs(by));
      shifts.emplace_back(formula + ", around the end", [=](std::int64_t t) { return (t + by + 3 * count) % count; });
      shifts.emplace_back(formula + " or zeros", [=](std::int64_t t) { return t + by < count ? t + by : -1; });
      shifts.emplace_back(formula + " or the last one there is",
                          [=](std::int64_t t) { return std::clamp<std::int64_t>(t + by, 0, count - 1); });
    }
    shifts.emplace_back(fmt::format("{} - t", count - 1), [=](std::int64_t t) { return count - 1 - t; });
    const std::size_t shifted = shifts.size();
    for (std::int64_t of = 2; of <= 8 && of < 2 * count; of *= 2) {  // an address that is not advanced
      shifts.emplace_back(fmt::format("t - t % {}", of), [of](std::int64_t t) { return t - t % of; });
    }
    for (const auto& [formula, source] : shifts) {
      for (const bool of_a : {true, false}) {
        maps.add_if_likely(tile, "permuted-k-tiles", maps.moved(tile, of_a, !of_a, source), [&, said = formula] {
          return fmt::format("tile t of {} k of {} meets tile {} of {}", tile * maps.unit(), of_a ? "B" : "A", said,
                             of_a ? "A" : "B");
        });
      }
    }
    for (std::size_t i = shifted; i < shifts.size(); ++i) {
      maps.add_if_likely(tile, "duplicated-k-tile", maps.moved(tile, true, true, shifts[i].second), [&] {
        return fmt::format("in place of tile t of {} k of A and B stand those of tile {}", tile * maps.unit(),
                           shifts[i].first);
      });
    }
  }
  return std::move(maps.proposals);
}

}  // namespace sptc::check::kernel::hypotheses
