// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/fault_location.h"

#include "sim/check/kernel/k_samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace sptc::check::kernel {
namespace {

constexpr std::size_t kMostParts = 1024;  // rectangles of wrong elements
constexpr std::size_t kMostTried = 48;    // that are looked at one by one
constexpr std::size_t kFewLines = 8;      // rows or columns of which each may have its own fault

/// Regions of few rows, or columns, as single ones.
std::vector<Region> lines_of(const std::vector<Region>& regions, const WrongElements& wrong) {
  std::vector<Region> lines;
  for (const Region& region : regions) {
    const auto [rows, columns] = region.selection();
    const bool of_rows = rows.size() <= columns.size();
    if ((of_rows ? rows : columns).size() > kFewLines) {
      lines.push_back(region);
      continue;
    }
    for (const std::size_t line : of_rows ? rows : columns) {
      Region part = region;
      (of_rows ? part.rows : part.columns) = Intervals{{line, line + 1}};
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
    constexpr std::size_t kMostRounds = 16;  // faults, one under the other
    std::vector<Found> all;
    for (std::size_t round = 0; round < kMostRounds && kernel_.mismatches() > 0; ++round) {
      std::vector<Found> found = find_whole();
      if (found.empty()) {
        found = find_parts();
      }
      const std::size_t before = all.size();
      for (Found& one : found) {
        if (take_out(one) > 0) {
          all.push_back(std::move(one));
        }
      }
      if (all.size() == before) {
        break;
      }
      has_found_ = true;
    }
    return all;
  }

  /// What explains all of `region`: a family that takes long, or one that does not.
  std::optional<Found> find_in(const Region& region, bool takes_long) {
    constexpr double kMostOfLine = 0.5;
    const bool is_all = region.elements() == kernel_.computed.size() && !has_found_;
    const Trial place(kernel_, region);
    for (const Family& family : hypotheses::families()) {
      const auto reach = reach_of(family.reach, region);
      // Other kernels were tried on all of D.
      if (family.takes_long != takes_long || !reach || (family.reach == Reach::kKernel && is_all)) {
        continue;
      }
      std::optional<Trial> line;
      if (family.reach == Reach::kRow || family.reach == Reach::kColumn) {
        line.emplace(kernel_, *reach);
      }
      const Trial& trial = line ? *line : place;
      if (line && is_noise(trial)) {
        continue;
      }
      Proposals proposals = family.propose(trial);
      if (proposals.list.empty() || !trial.allows(proposals)) {
        continue;
      }
      const std::vector<Hypothesis> list = std::exchange(proposals.list, {});
      proposals.among = std::max(proposals.among, static_cast<double>(list.size()));
      for (const Hypothesis& hypothesis : list) {
        const double share = trial.fit(hypothesis);
        if (share == 1 && (!proposals.of_lines || region.is_regular())) {
          return Found{region, hypothesis, *reach};
        }
        // Other orders have the right bits by chance here and there, and a flipped bit has them in some of a line.
        if (share > (line ? kMostOfLine : 0) && !takes_long) {
          keep({*reach, hypothesis, share, proposals});
        }
      }
    }
    return std::nullopt;
  }

 private:
  /// The first of the ways to part the wrong elements of which every place is explained, else the one that explains
  /// most.
  std::vector<Found> find_whole() {
    constexpr std::size_t kFewParts = 8;
    constexpr std::size_t kUniform = 4;  // ways from here on part D without a look at it
    const std::vector<Region> parts = parted_regions(kernel_.wrong, kMostParts), joined = joined_regions(parts);
    const std::array ways{joined,
                          std::vector{bounding_region(kernel_.wrong)},
                          parts,
                          lines_of(joined, kernel_.wrong),
                          wrong_tiles(128),
                          wrong_tiles(64)};
    std::vector<Found> best;
    std::size_t most = 0;
    attempts_.clear();
    for (const std::vector<Region>& regions : ways) {
      // One way may be another, too; of many places none is worth the long searches.
      const bool is_new = std::ranges::find(ways, regions) == &regions;
      const bool takes_long = regions.size() <= kFewParts && &regions < &ways[kUniform];
      std::vector<Found> found;
      std::size_t explained = 0;
      for (std::size_t i = 0; is_new && regions.size() <= kMostTried && i < regions.size(); ++i) {
        std::optional<Found> one = find_in(regions[i], false);
        if (one || (takes_long && (one = find_in(regions[i], true)))) {
          explained += regions[i].mismatches;
          found.push_back(std::move(*one));
        }
      }
      if (!found.empty() && found.size() == regions.size()) {
        return found;
      }
      if (explained > most) {
        most = explained;
        best = std::move(found);
      }
    }
    return best;
  }

  /// Tiles of `edge` x `edge` in which D is wrong, without right lines around it: neighbours with a fault each look
  /// like one place. Empty where they are too many, or most of D.
  std::vector<Region> wrong_tiles(std::size_t edge) const {
    const WrongElements& wrong = kernel_.wrong;
    const std::size_t all = ((wrong.rows() + edge - 1) / edge) * ((wrong.cols() + edge - 1) / edge);
    const std::size_t most = std::min(kMostTried, all / 2);
    std::vector<Region> tiles;
    for (std::size_t row = 0; row < wrong.rows(); row += edge) {
      for (std::size_t column = 0; column < wrong.cols(); column += edge) {
        const std::size_t height = std::min(edge, wrong.rows() - row), width = std::min(edge, wrong.cols() - column);
        WrongElements tile(height, width);
        for (std::size_t i = 0; i < height; ++i) {
          std::copy_n(wrong.row(row + i).data() + column, width, tile.row(i).data());
        }
        Region found = bounding_region(tile);
        if (found.mismatches == 0) {
          continue;
        }
        if (tiles.size() == most) {
          return {};
        }
        found.rows = {{found.rows.front().begin + row, found.rows.back().end + row}};
        found.columns = {{found.columns.front().begin + column, found.columns.back().end + column}};
        tiles.push_back(std::move(found));
      }
    }
    return tiles;
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
    (of_row ? whole.columns : whole.rows) = Intervals{{0, of_row ? kernel_.wrong.cols() : kernel_.wrong.rows()}};
    whole.mismatches = wrong_in(kernel_.wrong, whole);
    return whole;
  }

  /// Whether much of D is off, and the elements of a place by no more than rounding: of these a subset fits anything.
  bool is_noise(const Trial& there) const {
    constexpr std::size_t kMuch = 8;  // one of so many
    return kernel_.near == nullptr && kMuch * kernel_.mismatches() > kernel_.wrong.size() &&
           k_samples(kernel_, there.strongest()).empty();
  }

  template <typename Visit>
  void compare_in(const Region& region, const Hypothesis& hypothesis, const Visit& visit) const {
    compare(kernel_, kernel_.model, hypothesis, region.selection(), kernel_.threads, visit);
  }

  /// Keeps the few attempts that explain most.
  void keep(Attempt attempt) {
    constexpr double kLeastShare = 0.1;
    constexpr std::size_t kMost = 6;
    if (attempt.share >= kLeastShare) {
      const auto place =
          std::ranges::find_if(attempts_, [&](const Attempt& other) { return other.share < attempt.share; });
      attempts_.insert(place, std::move(attempt));
      attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, attempts_.size())),
                      attempts_.end());
    }
  }

  /// Rectangles of a place that an attempt explains, of the first one that explains any.
  std::vector<Found> find_parts() {
    std::vector<Found> found;
    while (found.empty() && !attempts_.empty()) {
      const Attempt attempt = std::move(attempts_.front());
      attempts_.erase(attempts_.begin());
      WrongElements right(kernel_.wrong.rows(), kernel_.wrong.cols()), broken = right;
      compare_in(attempt.region, attempt.hypothesis, [&](std::size_t row, std::size_t column, bool agrees) {
        const bool is_wrong = kernel_.wrong(row, column) != 0;
        right(row, column) = is_wrong && agrees ? 1 : 0;
        broken(row, column) = !is_wrong && !agrees && kernel_.explained(row, column) == 0 ? 1 : 0;
      });
      for (const Region& part : joined_regions(parted_regions(right, kMostParts))) {
        // The wrong elements that are left have a fault of their own.
        if (part.mismatches > kFewLines && (!attempt.kind.of_lines || part.is_regular()) &&
            wrong_in(broken, part) == 0 && 2 * part.mismatches >= wrong_in(kernel_.wrong, part)) {
          const Trial there(kernel_, part);
          if (there.allows(attempt.kind) && !is_noise(there)) {
            found.push_back({part, attempt.hypothesis, part});
          }
        }
      }
    }
    return found;
  }

  /// How many wrong elements are explained now. A fault may go on beyond the region by which it was found, where
  /// another one crosses it.
  std::size_t take_out(Found& found) {
    Region hull = found.reach;
    for (Intervals* const lines : {&hull.rows, &hull.columns}) {
      *lines = Intervals{{lines->front().begin, lines->back().end}};
    }
    std::size_t explained = 0;
    bool is_whole = true;
    compare_in(hull, found.hypothesis, [&](std::size_t row, std::size_t column, bool agrees) {
      is_whole = is_whole && (agrees || kernel_.explained(row, column) != 0);
      if (agrees && kernel_.wrong(row, column) != 0) {
        kernel_.wrong(row, column) = 0;
        kernel_.explained(row, column) = 1;
        ++explained;
      }
    });
    if (is_whole && explained > found.region.mismatches) {
      found.region = hull;
      found.region.mismatches = explained;
    }
    return explained;
  }

  WrongKernel& kernel_;
  bool has_found_ = false;
  std::vector<Attempt> attempts_;  ///< those that explain most first
};

FaultLocation location_of(const std::vector<Found>& found) {
  FaultLocation location;
  for (const auto& [region, hypothesis, reach] : found) {
    location.places.push_back({region, RegionFault{hypothesis.cause, hypothesis.text, hypothesis.names_place}});
  }
  return location;
}

bool is_explained(const LocatedFault& place) {
  return place.fault.has_value();
}

}  // namespace

bool FaultLocation::is_complete() const {
  return !places.empty() && std::ranges::all_of(places, is_explained);
}

bool FaultLocation::has_fault() const {
  return std::ranges::any_of(places, is_explained);
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
  FaultLocation location;
  for (Region& region : joined_regions(parted_regions(wrong, kMostParts))) {
    location.places.push_back({std::move(region), std::nullopt});
  }
  return location;
}

FaultLocation locate_faults(WrongKernel& kernel, std::vector<Found>* found) {
  std::vector<Found> explained = Search(kernel).run();
  FaultLocation location = location_of(explained);
  std::ranges::move(find_places(kernel.wrong).places, std::back_inserter(location.places));
  if (found != nullptr) {
    *found = std::move(explained);
  }
  return location;
}

FaultLocation locate_orders(WrongKernel& kernel) {
  for (const std::size_t edge : {256U, 128U, 64U}) {
    std::vector<Found> found;
    std::size_t tiles = 0;
    Search search(kernel);
    for (std::size_t row = 0; row < kernel.data.m; row += edge) {
      for (std::size_t column = 0; column < kernel.data.n; column += edge) {
        Region tile{{{row, std::min(row + edge, kernel.data.m)}}, {{column, std::min(column + edge, kernel.data.n)}}};
        tile.mismatches = wrong_in(kernel.wrong, tile);
        // The first tile without an order ends it.
        if (tile.mismatches == 0 || found.size() < tiles++ || tiles > kMostTried) {
          continue;
        }
        if (auto one = search.find_in(tile, true)) {
          found.push_back(std::move(*one));
        }
      }
    }
    if (found.size() == tiles && tiles > 1) {
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

std::string text_of(const FaultLocation& location, const KernelData& data) {
  constexpr std::size_t kListed = 4;
  using Places = std::pair<std::string, std::vector<std::string>>;
  std::vector<Places> by_fault;
  for (const auto& [region, fault] : location.places) {
    if (!fault) {
      continue;
    }
    auto found = std::ranges::find(by_fault, fault->text, &Places::first);
    if (found == by_fault.end()) {
      found = by_fault.insert(by_fault.end(), {fault->text, {}});
    }
    if (!fault->names_place) {
      found->second.push_back(place_text(region, data));
    }
  }
  std::string text;
  for (const auto& [fault, places] : by_fault) {
    const auto listed = static_cast<std::ptrdiff_t>(std::min(kListed, places.size()));
    text += text.empty() ? "" : "; ";
    text += fmt::format("{}", fmt::join(places.begin(), places.begin() + listed, ", "));
    text += places.size() > kListed ? fmt::format(" and {} other places", places.size() - kListed) : "";
    text += (places.empty() ? "" : ": ") + fault;
  }
  return text;
}

}  // namespace sptc::check::kernel
