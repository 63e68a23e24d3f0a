// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/fault_location.h"

#include "sim/check/kernel/fault_finders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sptc::check::kernel {
namespace {

constexpr std::size_t kMostParts = 1024;  // rectangles of wrong elements
constexpr std::size_t kMostTried = 48;    // that are looked at one by one
constexpr std::size_t kFewParts = 8;      // of which each is worth the long searches

using Find = std::optional<RegionFault> (*)(const RegionTrial& trial);

/// Another method at this place: a kernel may treat an edge by another path.
std::optional<RegionFault> find_alternative(const RegionTrial& trial, const mma::Target& target) {
  const WrongKernel& kernel = trial.kernel();
  const std::vector<Alternative> all = alternatives(kernel.data, kernel.model, target);
  if (!trial.tells_apart(static_cast<double>(all.size()))) {
    return std::nullopt;
  }
  return first_found(all, [&](const Alternative& alternative) {
    return trial.fits_read(alternative.model)
               ? std::optional(RegionFault{alternative.cause, alternative.text})
               : std::nullopt;
  });
}

std::optional<RegionFault> fault_of(const WrongKernel& kernel, const mma::Target& target,
                                    const Region& region, bool takes_long) {
  constexpr std::array<Find, 9> kQuick{find_constant,
                                       find_moved,
                                       find_factor,
                                       find_fragment_fault,
                                       find_uncleared_accumulator,
                                       find_k_fault,
                                       find_metadata_fault,
                                       find_moved_operand,
                                       find_moved_lines_of_a_tile};
  const RegionTrial trial(kernel, region);
  auto fault = first_found(kQuick, [&](const Find find) { return find(trial); });
  if (!fault && takes_long && trial.selection().elements() < kernel.computed.size()) {
    fault = find_alternative(trial, target);
  }
  return fault || !takes_long ? fault : find_k_order(trial);
}

FaultLocation unexplained(const std::vector<Region>& regions) {
  FaultLocation location;
  for (const Region& region : regions) {
    location.places.push_back({region, std::nullopt});
  }
  return location;
}

/// The faults of `regions` one by one, where they are not too many.
FaultLocation explained(const WrongKernel& kernel, const mma::Target& target,
                        const std::vector<Region>& regions) {
  FaultLocation location = unexplained(regions);
  for (LocatedFault& place : location.places) {
    if (regions.size() <= kMostTried) {
      place.fault = fault_of(kernel, target, place.region, regions.size() <= kFewParts);
    }
  }
  return location;
}

}  // namespace

bool FaultLocation::is_complete() const {
  return !places.empty() &&
         std::ranges::all_of(places, [](const LocatedFault& place) { return bool{place.fault}; });
}

std::string FaultLocation::causes() const {
  std::vector<std::string_view> seen;
  for (const LocatedFault& place : places) {
    if (place.fault && std::ranges::count(seen, std::string_view(place.fault->cause)) == 0) {
      seen.push_back(place.fault->cause);
    }
  }
  return fmt::format("{}", fmt::join(seen, "+"));
}

FaultLocation find_places(const WrongElements& wrong) {
  return unexplained(joined_regions(parted_regions(wrong, kMostParts)));
}

FaultLocation locate_faults(const WrongKernel& kernel, const mma::Target& target) {
  const std::vector<Region> parts = parted_regions(kernel.wrong, kMostParts);
  const std::vector<Region> joined = joined_regions(parts);
  FaultLocation together = explained(kernel, target, joined);
  for (const std::vector<Region>& other : {std::vector{bounding_region(kernel.wrong)}, parts}) {
    if (!together.is_complete() && other != joined) {
      if (FaultLocation location = explained(kernel, target, other); location.is_complete()) {
        return location;
      }
    }
  }
  return together;
}

std::string place_text(const Region& region, const KernelData& data) {
  const TilePlace tile = tile_of(region, data.m, data.n);
  return text_of(region, data.m, data.n) +
         (tile.height > 0 ? fmt::format(" (tile [{}, {}] of {} x {})", tile.row, tile.column,
                                        tile.height, tile.width)
                          : "");
}

std::string text_of(const FaultLocation& location, const KernelData& data) {
  constexpr std::size_t kListed = 4;
  std::vector<std::pair<std::string, std::vector<std::string>>> by_fault;
  for (const LocatedFault& place : location.places) {
    if (!place.fault) {
      continue;
    }
    auto found =
        std::ranges::find(by_fault, place.fault->text, &decltype(by_fault)::value_type::first);
    if (found == by_fault.end()) {
      found = by_fault.insert(by_fault.end(), {place.fault->text, {}});
    }
    found->second.push_back(place_text(place.region, data));
  }
  std::string text;
  for (const auto& [fault, places] : by_fault) {
    text += text.empty() ? "" : "; ";
    const auto listed = static_cast<std::ptrdiff_t>(std::min(kListed, places.size()));
    text += fmt::format("{}", fmt::join(places.begin(), places.begin() + listed, ", "));
    text +=
        places.size() > kListed ? fmt::format(" and {} other places", places.size() - kListed) : "";
    text += ": " + fault;
  }
  return text;
}

}  // namespace sptc::check::kernel
