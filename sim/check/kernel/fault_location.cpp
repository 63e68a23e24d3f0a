// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/fault_location.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

namespace sptc::check::kernel {
namespace {

constexpr std::size_t kMostParts = 1024;  // rectangles of wrong elements
constexpr std::size_t kMostTried = 48;    // that are looked at one by one
constexpr std::size_t kFewParts = 8;      // of which each is worth the long searches
constexpr std::size_t kMostRounds = 16;   // faults, one under the other
constexpr std::size_t kFewLines = 8;      // rows or columns of which each may have its own fault

/// The rectangle from the first to the last row and column of `region`.
Region hull_of(const Region& region) {
  return {{{region.rows.front().begin, region.rows.back().end}},
          {{region.columns.front().begin, region.columns.back().end}},
          region.mismatches};
}

Selection selection_of(const Region& region) {
  return {numbers(region.rows), numbers(region.columns)};
}

std::size_t wrong_in(const WrongElements& wrong, const Region& region) {
  std::size_t count = 0;
  for (const std::size_t row : numbers(region.rows)) {
    for (const std::size_t column : numbers(region.columns)) {
      count += wrong(row, column);
    }
  }
  return count;
}

/// Regions of few rows, or columns, as single ones.
std::vector<Region> lines_of(const std::vector<Region>& regions, const WrongElements& wrong) {
  std::vector<Region> lines;
  for (const Region& region : regions) {
    const auto rows = numbers(region.rows), columns = numbers(region.columns);
    const bool of_rows = rows.size() <= columns.size();
    if ((of_rows ? rows : columns).size() > kFewLines) {
      lines.push_back(region);
      continue;
    }
    for (const std::size_t line : of_rows ? rows : columns) {
      const Intervals single{{line, line + 1}};
      Region part{of_rows ? single : region.rows, of_rows ? region.columns : single};
      part.mismatches = wrong_in(wrong, part);
      if (part.mismatches > 0) {
        lines.push_back(std::move(part));
      }
    }
  }
  return lines;
}

/// A hypothesis that explains a part of a region.
struct Attempt {
  Region region;
  Hypothesis hypothesis;
  double share;
  Proposals kind;  ///< without its list
};

class Search {
 public:
  explicit Search(WrongKernel& kernel) : kernel_(kernel) {}

  /// What explains places, after one another.
  std::vector<Found> run() {
    std::vector<Found> all;
    for (std::size_t round = 0; round < kMostRounds && kernel_.mismatches() > 0; ++round) {
      std::vector<Found> found = find_whole();
      if (found.empty()) {
        found = find_parts();
      }
      std::size_t taken = 0;
      for (Found& one : found) {
        if (const std::size_t explained = take_out(one); explained > 0) {
          taken += explained;
          all.push_back(std::move(one));
        }
      }
      if (taken == 0) {
        break;
      }
      has_found_ = true;
    }
    return all;
  }

  /// Of regions that part all wrong elements those that an order of the sums explains.
  std::vector<Found> find_orders(const std::vector<Region>& regions) {
    std::vector<Found> found;
    for (const Region& region : regions) {
      if (auto one = find_in(region, true)) {
        found.push_back(std::move(*one));
      }
    }
    return found;
  }

 private:
  /// Of the ways to part the wrong elements the first of which every place is explained, else the
  /// one that explains most.
  std::vector<Found> find_whole() {
    const std::vector<Region> parts = parted_regions(kernel_.wrong, kMostParts);
    const std::vector<Region> joined = joined_regions(parts);
    std::vector<Found> best;
    std::size_t most = 0;
    for (const std::vector<Region>& regions : {joined, std::vector{bounding_region(kernel_.wrong)},
                                               parts, lines_of(joined, kernel_.wrong)}) {
      if (regions.empty() || regions.size() > kMostTried) {
        continue;
      }
      std::vector<Found> found;
      std::size_t explained = 0;
      for (const Region& region : regions) {
        if (auto one = find(region, regions.size() <= kFewParts)) {
          explained += region.mismatches;
          found.push_back(std::move(*one));
        }
      }
      if (found.size() == regions.size()) {
        return found;
      }
      if (explained > most) {
        most = explained;
        best = std::move(found);
      }
    }
    return best;
  }

  /// What explains all of `region`; each region is looked at once.
  std::optional<Found> find(const Region& region, bool takes_long) {
    const auto known =
        std::ranges::find_if(tried_, [&](const Tried& tried) { return tried.region == region; });
    if (known != tried_.end() && (known->found || known->took_long || !takes_long)) {
      return known->found;
    }
    std::optional<Found> found = find_in(region, false);
    if (!found && takes_long) {
      found = find_in(region, true);
    }
    if (known != tried_.end()) {
      *known = {region, found, takes_long};
    } else {
      tried_.push_back({region, found, takes_long});
    }
    return found;
  }

  std::optional<Found> find_in(const Region& region, bool takes_long) {
    const bool is_all = region.elements() == kernel_.computed.size() && !has_found_;
    const Trial place(kernel_, region);
    for (const Family& family : hypotheses::families()) {
      const auto reach = reach_of(family.reach, region);
      // Other kernels were tried on all of D.
      if (family.takes_long != takes_long || !reach || (family.reach == Reach::kKernel && is_all)) {
        continue;
      }
      const bool is_line = family.reach == Reach::kRow || family.reach == Reach::kColumn;
      const std::optional<Trial> line =
          is_line ? std::optional<Trial>(std::in_place, kernel_, *reach) : std::nullopt;
      const Trial& trial = line ? *line : place;
      Proposals proposals = family.propose(trial);
      if (proposals.list.empty() || !trial.allows(proposals)) {
        continue;
      }
      std::vector<Hypothesis> list = std::move(proposals.list);
      proposals.among = std::max(proposals.among, static_cast<double>(list.size()));
      proposals.list.clear();
      for (Hypothesis& hypothesis : list) {
        const double share = trial.fit(hypothesis);
        if (share == 1) {
          return Found{region, std::move(hypothesis), *reach};
        }
        // Other orders have the right bits by chance here and there.
        if (share > 0 && !takes_long) {
          keep({*reach, std::move(hypothesis), share, proposals});
        }
      }
    }
    return std::nullopt;
  }

  /// The rows and columns on which a fault of `region` acts; nothing where it cannot be there.
  std::optional<Region> reach_of(Reach reach, const Region& region) const {
    if (reach != Reach::kRow && reach != Reach::kColumn) {
      return region;
    }
    const bool of_row = reach == Reach::kRow;
    const Intervals& lines = of_row ? region.rows : region.columns;
    if (lines.size() != 1 || lines.front().size() != 1) {
      return std::nullopt;
    }
    Region whole = region;
    (of_row ? whole.columns : whole.rows) =
        Intervals{{0, of_row ? kernel_.wrong.cols() : kernel_.wrong.rows()}};
    whole.mismatches = wrong_in(kernel_.wrong, whole);
    return whole;
  }

  // Parts of a place ------------------------------------------------------------------------------

  /// Keeps the few attempts that explain most.
  void keep(Attempt attempt) {
    constexpr double kLeastShare = 0.1;
    constexpr std::size_t kMost = 6;
    if (attempt.share < kLeastShare ||
        (attempts_.size() == kMost && attempts_.back().share >= attempt.share)) {
      return;
    }
    const auto place = std::ranges::find_if(
        attempts_, [&](const Attempt& other) { return other.share < attempt.share; });
    attempts_.insert(place, std::move(attempt));
    if (attempts_.size() > kMost) {
      attempts_.pop_back();
    }
  }

  /// Rectangles of a place that an attempt explains, of the first one that explains any.
  std::vector<Found> find_parts() {
    while (!attempts_.empty()) {
      const Attempt attempt = std::move(attempts_.front());
      attempts_.erase(attempts_.begin());
      const Selection all = selection_of(attempt.region);
      const auto made =
          outcome_of(kernel_, kernel_.model, attempt.hypothesis, all, kernel_.threads);
      WrongElements right(kernel_.wrong.rows(), kernel_.wrong.cols()), broken = right;
      for (std::size_t i = 0; made && i < all.rows.size(); ++i) {
        for (std::size_t j = 0; j < all.columns.size(); ++j) {
          const std::size_t row = all.rows[i], column = all.columns[j];
          const bool agrees =
              kernel_.agrees(row, column, made->computed(i, j), made->observed(i, j));
          const bool is_wrong = kernel_.wrong(row, column) != 0;
          right(row, column) = is_wrong && agrees ? 1 : 0;
          broken(row, column) = !is_wrong && !agrees && kernel_.explained(row, column) == 0 ? 1 : 0;
        }
      }
      std::vector<Found> found;
      for (const Region& part : joined_regions(parted_regions(right, kMostParts))) {
        // The wrong elements that are left have a fault of their own.
        if (part.mismatches > kFewLines && wrong_in(broken, part) == 0 &&
            2 * part.mismatches >= wrong_in(kernel_.wrong, part) &&
            Trial(kernel_, part).allows(attempt.kind)) {
          found.push_back({part, attempt.hypothesis, part});
        }
      }
      if (!found.empty()) {
        return found;
      }
    }
    return {};
  }

  // What is explained -----------------------------------------------------------------------------

  /// How many wrong elements are explained now. A fault may go on beyond the region by which it was
  /// found, where another one crosses it.
  std::size_t take_out(Found& found) {
    const Region hull = hull_of(found.reach);
    const Selection all = selection_of(hull);
    const auto made = outcome_of(kernel_, kernel_.model, found.hypothesis, all, kernel_.threads);
    std::size_t explained = 0;
    bool is_whole = made.has_value();
    for (std::size_t i = 0; made && i < all.rows.size(); ++i) {
      for (std::size_t j = 0; j < all.columns.size(); ++j) {
        const std::size_t row = all.rows[i], column = all.columns[j];
        const bool agrees = kernel_.agrees(row, column, made->computed(i, j), made->observed(i, j));
        is_whole = is_whole && (agrees || kernel_.explained(row, column) != 0);
        if (agrees && kernel_.wrong(row, column) != 0) {
          kernel_.wrong(row, column) = 0;
          kernel_.explained(row, column) = 1;
          ++explained;
        }
      }
    }
    if (is_whole && explained > found.region.mismatches) {
      found.region = hull;
      found.region.mismatches = explained;
    }
    return explained;
  }

  struct Tried {
    Region region;
    std::optional<Found> found;
    bool took_long;
  };

  WrongKernel& kernel_;
  bool has_found_ = false;
  std::vector<Tried> tried_;
  std::vector<Attempt> attempts_;  ///< those that explain most first
};

FaultLocation location_of(const std::vector<Found>& found) {
  FaultLocation location;
  for (const Found& one : found) {
    const Hypothesis& hypothesis = one.hypothesis;
    location.places.push_back(
        {one.region, RegionFault{hypothesis.cause, hypothesis.text, hypothesis.names_place}});
  }
  return location;
}

/// Tiles of `edge` rows and columns with a wrong element.
std::vector<Region> tiles_of(const WrongElements& wrong, std::size_t edge) {
  std::vector<Region> tiles;
  for (std::size_t row = 0; row < wrong.rows(); row += edge) {
    for (std::size_t column = 0; column < wrong.cols(); column += edge) {
      Region tile{{{row, std::min(row + edge, wrong.rows())}},
                  {{column, std::min(column + edge, wrong.cols())}}};
      tile.mismatches = wrong_in(wrong, tile);
      if (tile.mismatches > 0) {
        tiles.push_back(std::move(tile));
      }
    }
  }
  return tiles;
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

bool FaultLocation::has_fault() const {
  return std::ranges::any_of(places, [](const LocatedFault& place) { return bool{place.fault}; });
}

FaultLocation find_places(const WrongElements& wrong) {
  FaultLocation location;
  for (Region& region : joined_regions(parted_regions(wrong, kMostParts))) {
    location.places.push_back({std::move(region), std::nullopt});
  }
  return location;
}

FaultLocation locate_faults(WrongKernel& kernel, std::vector<Found>* found) {
  const std::vector<Found> explained = Search(kernel).run();
  FaultLocation location = location_of(explained);
  const FaultLocation rest = find_places(kernel.wrong);
  location.places.insert(location.places.end(), rest.places.begin(), rest.places.end());
  if (found != nullptr) {
    found->insert(found->end(), explained.begin(), explained.end());
  }
  return location;
}

FaultLocation locate_orders(WrongKernel& kernel) {
  for (const std::size_t edge : {256U, 128U, 64U}) {
    const std::vector<Region> tiles = tiles_of(kernel.wrong, edge);
    if (tiles.size() < 2 || tiles.size() > kMostTried) {
      continue;
    }
    const std::vector<Found> found = Search(kernel).find_orders(tiles);
    if (found.size() == tiles.size()) {
      return location_of(found);
    }
  }
  return {};
}

std::vector<Hypothesis> kernel_changes(const Trial& trial) {
  std::vector<Hypothesis> changes;
  for (const Family& family : hypotheses::families()) {
    if (family.reach == Reach::kKernel) {
      std::ranges::move(family.propose(trial).list, std::back_inserter(changes));
    }
  }
  return changes;
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
    if (!place.fault->names_place) {
      found->second.push_back(place_text(place.region, data));
    }
  }
  std::string text;
  for (const auto& [fault, places] : by_fault) {
    text += text.empty() ? "" : "; ";
    const auto listed = static_cast<std::ptrdiff_t>(std::min(kListed, places.size()));
    text += fmt::format("{}", fmt::join(places.begin(), places.begin() + listed, ", "));
    text +=
        places.size() > kListed ? fmt::format(" and {} other places", places.size() - kListed) : "";
    text += (places.empty() ? "" : ": ") + fault;
  }
  return text;
}

}  // namespace sptc::check::kernel
