// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/fault_location.h"

#include "sim/compare/kernel/k_fault.h"
#include "sim/compare/kernel/kernel_alternatives.h"
#include "sim/compare/kernel/metadata_fault.h"
#include "sim/compare/kernel/moved_lines.h"
#include "sim/compare/kernel/operand_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sptc::compare::kernel {
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
  for (const Alternative& alternative : all) {
    if (trial.fits_read(alternative.model)) {
      return RegionFault{alternative.cause, alternative.text};
    }
  }
  return std::nullopt;
}

class Locator {
 public:
  Locator(const WrongKernel& kernel, const mma::Target& target)
      : kernel_(kernel), target_(target) {}

  FaultLocation run() const {
    const std::vector<Region> parts = parted_regions(kernel_.wrong, kMostParts);
    const std::vector<Region> joined = joined_regions(parts);
    const Region all = bounding_region(kernel_.wrong);
    FaultLocation together;
    if (joined.size() <= kMostTried) {
      together = explained(joined, joined.size() <= kFewParts);
    } else {
      together.places = unexplained(joined);
    }
    if (together.is_complete()) {
      return together;
    }
    if (joined != std::vector{all}) {
      if (FaultLocation one = explained({all}, true); one.is_complete()) {
        return one;
      }
    }
    if (parts != joined && parts.size() <= kMostTried) {
      if (FaultLocation each = explained(parts, parts.size() <= kFewParts); each.is_complete()) {
        return each;
      }
    }
    return together;
  }

  static std::vector<LocatedFault> unexplained(const std::vector<Region>& regions) {
    std::vector<LocatedFault> places;
    places.reserve(regions.size());
    for (const Region& region : regions) {
      places.push_back({region, std::nullopt});
    }
    return places;
  }

 private:
  FaultLocation explained(const std::vector<Region>& regions, bool takes_long) const {
    FaultLocation location;
    for (const Region& region : regions) {
      location.places.push_back({region, fault_of(region, takes_long)});
    }
    return location;
  }

  std::optional<RegionFault> fault_of(const Region& region, bool takes_long) const {
    constexpr std::array<Find, 10> kQuick{find_constant,
                                          find_moved,
                                          find_factor,
                                          find_fragment_fault,
                                          find_uncleared_accumulator,
                                          find_k_fault,
                                          find_metadata_fault,
                                          find_moved_operand,
                                          find_moved_columns_of_b,
                                          find_moved_lines_of_a_tile};
    const RegionTrial trial(kernel_, region);
    for (const Find find : kQuick) {
      if (auto fault = find(trial)) {
        return fault;
      }
    }
    if (!takes_long) {
      return std::nullopt;
    }
    if (trial.selection().elements() < kernel_.computed.size()) {
      if (auto fault = find_alternative(trial, target_)) {
        return fault;
      }
    }
    return find_k_order(trial);
  }

  const WrongKernel& kernel_;
  const mma::Target& target_;
};

}  // namespace

bool FaultLocation::is_complete() const {
  return !places.empty() &&
         std::ranges::all_of(places, [](const LocatedFault& place) { return bool{place.fault}; });
}

std::string FaultLocation::causes() const {
  std::vector<std::string> seen;
  for (const LocatedFault& place : places) {
    if (place.fault && std::ranges::count(seen, place.fault->cause) == 0) {
      seen.push_back(place.fault->cause);
    }
  }
  std::string text;
  for (const std::string& cause : seen) {
    text += (text.empty() ? "" : "+") + cause;
  }
  return text;
}

FaultLocation find_places(const WrongElements& wrong) {
  return {Locator::unexplained(joined_regions(parted_regions(wrong, kMostParts)))};
}

FaultLocation locate_faults(const WrongKernel& kernel, const mma::Target& target) {
  return Locator(kernel, target).run();
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
    for (std::size_t i = 0; i < std::min(kListed, places.size()); ++i) {
      text += (i == 0 ? "" : ", ") + places[i];
    }
    text +=
        places.size() > kListed ? fmt::format(" and {} other places", places.size() - kListed) : "";
    text += ": " + fault;
  }
  return text;
}

}  // namespace sptc::compare::kernel
