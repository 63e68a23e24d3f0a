// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/k_fault.h"

#include "sim/compare/kernel/k_contributions.h"
#include "sim/compare/kernel/k_map.h"
#include "sim/compare/kernel/k_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sptc::compare::kernel {
namespace {

constexpr std::size_t kMostTried = 48;     // hypotheses of a kind that are tried bit for bit
constexpr std::size_t kMostTiles = 256;    // of which all pairs are looked at
constexpr std::size_t kMostRanges = 2048;  // parts of K of which all ranges are looked at
constexpr std::size_t kMostOrders = 64;    // k-tiles whose exchanges are tried one by one
constexpr std::size_t kLeastTile = 8;      // k

/// A hypothesis that the samples allow.
struct Candidate {
  KMap map;
  RegionFault fault;
};

class KSearch {
 public:
  explicit KSearch(const RegionTrial& trial)
      : trial_(trial),
        kernel_(trial.kernel()),
        unit_(unit_of(kernel_.model.instruction)),
        units_(kernel_.data.k / unit_) {}

  std::optional<RegionFault> find_misplaced() {
    samples_ = k_samples(trial_);
    if (samples_.empty() || units_ < 2) {
      return std::nullopt;
    }
    for (const std::size_t tile : tiles()) {
      if (auto fault = find_range(tile)) {
        return fault;
      }
    }
    if (auto fault = find_repeated_slice()) {
      return fault;
    }
    for (const std::size_t tile : tiles()) {
      if (auto fault = find_set(tile)) {
        return fault;
      }
    }
    for (const std::size_t tile : tiles()) {
      if (auto fault = find_shifted(tile)) {
        return fault;
      }
    }
    for (const std::size_t tile : tiles()) {
      if (auto fault = find_stale(tile)) {
        return fault;
      }
    }
    return std::nullopt;
  }

  std::optional<RegionFault> find_order() {
    const auto depth = static_cast<std::size_t>(kernel_.model.instruction.shape.k) / unit_;
    for (const std::size_t steps : {8U, 4U, 2U, 1U}) {
      const std::size_t tile = depth * steps;
      if (tile == 0 || units_ / tile < 2) {
        continue;
      }
      if (auto fault = find_rotated(tile)) {
        return fault;
      }
    }
    return find_exchanged_order(depth);
  }

 private:
  /// Units of k-tiles, long ones first.
  std::vector<std::size_t> tiles() const {
    std::set<std::size_t, std::greater<>> result;
    const auto depth = static_cast<std::size_t>(kernel_.model.instruction.shape.k);
    for (const std::size_t k : {std::size_t{256}, std::size_t{128}, std::size_t{64},
                                std::size_t{32}, std::size_t{16}, std::size_t{8}, depth, unit_}) {
      if (k % unit_ == 0 && k / unit_ < units_) {
        result.insert(k / unit_);
      }
    }
    return {result.begin(), result.end()};
  }

  bool allowed(const std::function<double(const KSample&)>& change) const {
    return std::ranges::all_of(
        samples_, [&](const KSample& sample) { return sample.may_be(change(sample)); });
  }

  bool fits(const KMap& map) const {
    return trial_.fits([&](KernelOperands& operands, const Selection&) {
      rearrange(operands, map, kernel_.model.instruction);
    });
  }

  /// The first of `candidates` that explains the region; `of` hypotheses were looked at.
  std::optional<RegionFault> first_fit(const std::vector<Candidate>& candidates, double of) const {
    if (!trial_.tells_apart(of)) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < std::min(kMostTried, candidates.size()); ++i) {
      if (fits(candidates[i].map)) {
        return candidates[i].fault;
      }
    }
    return std::nullopt;
  }

  std::string k_range(std::size_t begin, std::size_t end) const {
    const std::size_t first = begin * unit_, last = std::min(end * unit_, kernel_.data.k) - 1;
    return first == last ? fmt::format("k {}", first) : fmt::format("k {} to {}", first, last);
  }

  // A part of K is missing, or there twice -------------------------------------------------------

  std::optional<RegionFault> find_range(std::size_t tile) const {
    std::vector<Candidate> candidates;
    double looked_at = 0;
    const std::size_t count = (units_ + tile - 1) / tile;
    for (std::size_t first = 0; first < count; ++first) {
      for (std::size_t last = first + 1; last <= count; ++last) {
        if (count > kMostRanges && first > 0) {
          last = count;  // of many only what is missing at an end
        }
        const std::size_t begin = first * tile, end = std::min(last * tile, units_);
        ++looked_at;
        if (candidates.size() >= kMostTried) {
          continue;
        }
        const auto part = [&](const KSample& sample) {
          return sample.prefix(end) - sample.prefix(begin);
        };
        if (allowed([&](const KSample& sample) { return -part(sample); })) {
          candidates.push_back(without(begin, end));
        }
        if (allowed(part)) {
          add_doubled(begin, end, candidates);
        }
      }
    }
    return first_fit(candidates, 2 * looked_at);
  }

  Candidate without(std::size_t begin, std::size_t end) const {
    KMap map = KMap::identity(units_);
    std::fill(map.a.begin() + static_cast<std::ptrdiff_t>(begin),
              map.a.begin() + static_cast<std::ptrdiff_t>(end), KMap::kZero);
    map.b = map.a;
    const bool is_all = begin == 0 && end == units_;
    return {
        map,
        {"missing-k", is_all ? "D lacks the whole sum over K" : "D lacks " + k_range(begin, end)}};
  }

  void add_doubled(std::size_t begin, std::size_t end, std::vector<Candidate>& candidates) const {
    const KMap once = KMap::identity(units_);
    const std::vector<std::int64_t> again(once.a.begin() + static_cast<std::ptrdiff_t>(begin),
                                          once.a.begin() + static_cast<std::ptrdiff_t>(end));
    for (const std::size_t at : {end, units_}) {
      KMap map = once;
      map.a.insert(map.a.begin() + static_cast<std::ptrdiff_t>(at), again.begin(), again.end());
      map.b = map.a;
      candidates.push_back({map, {"doubled-k", "D has " + k_range(begin, end) + " twice"}});
      if (end == units_) {
        break;
      }
    }
  }

  std::optional<RegionFault> find_repeated_slice() const {
    const int slices = kernel_.model.order.slices;
    if (slices < 2 || !trial_.tells_apart(slices)) {
      return std::nullopt;
    }
    for (int slice = 0; slice < slices; ++slice) {
      KernelModel model = kernel_.model;
      model.order.repeated_slice = slice;
      if (trial_.fits(model, [](KernelOperands&, const Selection&) {})) {
        return RegionFault{
            "doubled-k", fmt::format("D has slice {} of the {} slices of K twice", slice, slices)};
      }
    }
    return std::nullopt;
  }

  /// Any set of k-tiles that are missing or there twice.
  std::optional<RegionFault> find_set(std::size_t tile) const {
    const auto times = k_contributions(trial_, tile);
    if (!times || !trial_.tells_apart(1)) {
      return std::nullopt;
    }
    KMap map;
    std::vector<std::size_t> lost, doubled;
    for (std::size_t t = 0; t < times->size(); ++t) {
      const std::size_t end = std::min((t + 1) * tile, units_);
      for (int again = 0; again < std::max(1, (*times)[t]); ++again) {
        for (std::size_t unit = t * tile; unit < end; ++unit) {
          map.a.push_back((*times)[t] == 0 ? KMap::kZero : static_cast<std::int64_t>(unit));
        }
      }
      if ((*times)[t] != 1) {
        ((*times)[t] == 0 ? lost : doubled).push_back(t);
      }
    }
    map.b = map.a;
    if (lost.size() + doubled.size() == 0 || lost.size() == times->size() || !fits(map)) {
      return std::nullopt;
    }
    if (doubled.empty()) {
      return RegionFault{"missing-k", "D lacks " + tiles_text(lost, tile, times->size())};
    }
    const std::string again =
        "D has " + tiles_text(doubled, tile, times->size()) + " more than once";
    return lost.empty() ? RegionFault{"doubled-k", again}
                        : RegionFault{"missing-k", again + " and lacks " +
                                                       tiles_text(lost, tile, times->size())};
  }

  /// "k 64 to 95 and k 256 to 287", "k-tile 1 of every 2 tiles of 32 k".
  std::string tiles_text(const std::vector<std::size_t>& chosen, std::size_t tile,
                         std::size_t count) const {
    for (const std::size_t stride : {2U, 4U, 8U}) {
      if (chosen.size() > 1 && chosen[0] < stride && chosen.size() * stride == count &&
          chosen.back() == chosen[0] + (chosen.size() - 1) * stride &&
          chosen[1] == chosen[0] + stride) {
        return fmt::format("k-tile {} of every {} tiles of {} k", chosen[0], stride, tile * unit_);
      }
    }
    constexpr std::size_t kListed = 4;
    const Intervals parts = intervals_of(chosen);
    std::string text;
    for (std::size_t i = 0; i < std::min(kListed, parts.size()); ++i) {
      text += (i == 0 ? "" : ", ") + k_range(parts[i].begin * tile, parts[i].end * tile);
    }
    return text + (parts.size() > kListed
                       ? fmt::format(" and {} other parts", parts.size() - kListed)
                       : "");
  }

  // Tiles of A and B that do not belong together -------------------------------------------------

  using Source = std::function<std::int64_t(std::int64_t tile)>;

  /// K in tiles, of which that of the operand is `source`.
  KMap moved(std::size_t tile, bool of_a, const Source& source) const {
    KMap map = KMap::identity(units_);
    std::vector<std::int64_t>& units = of_a ? map.a : map.b;
    const auto width = static_cast<std::int64_t>(tile);
    for (std::size_t unit = 0; unit < units_; ++unit) {
      const auto at = static_cast<std::int64_t>(unit);
      const std::int64_t from = source(at / width);
      const std::int64_t value = from * width + at % width;
      units[unit] = from < 0 || value >= static_cast<std::int64_t>(units_) ? KMap::kZero : value;
    }
    return map;
  }

  double change_of(const KSample& sample, const KMap& map) const {
    double sum = 0;
    for (std::size_t unit = 0; unit < units_; ++unit) {
      if (map.a[unit] >= 0 && map.b[unit] >= 0) {
        sum += sample.products(static_cast<std::size_t>(map.a[unit]),
                               static_cast<std::size_t>(map.b[unit]), 1);
      }
    }
    return sum - sample.prefix(units_);
  }

  std::optional<RegionFault> find_shifted(std::size_t tile) const {
    const auto count = static_cast<std::int64_t>(units_ / tile);
    std::vector<Candidate> candidates;
    double looked_at = 0;
    const auto consider = [&](const std::string& formula, const Source& source) {
      for (const bool of_a : {true, false}) {
        const KMap map = moved(tile, of_a, source);
        ++looked_at;
        if (allowed([&](const KSample& sample) { return change_of(sample, map); })) {
          candidates.push_back(
              {map,
               {"permuted-k-tiles",
                fmt::format("tile t of {} k of B meets tile {} of A", tile * unit_, formula)}});
          if (!of_a) {
            candidates.back().fault.text =
                fmt::format("tile t of {} k of A meets tile {} of B", tile * unit_, formula);
          }
        }
      }
    };
    for (std::int64_t by = 1; by < count; by *= 2) {
      consider(fmt::format("t ^ {}", by), [&](std::int64_t t) { return t ^ by; });
    }
    for (const std::int64_t by : {-3, -2, -1, 1, 2, 3}) {
      const auto formula = fmt::format("t {} {}", by < 0 ? '-' : '+', std::abs(by));
      consider(formula + ", around the end",
               [&](std::int64_t t) { return (t + by + 3 * count) % count; });
      consider(formula + " or zeros",
               [&](std::int64_t t) { return t + by < count ? t + by : std::int64_t{-1}; });
      consider(formula + " or the last one there is",
               [&](std::int64_t t) { return std::clamp<std::int64_t>(t + by, 0, count - 1); });
    }
    consider(fmt::format("{} - t", count - 1), [&](std::int64_t t) { return count - 1 - t; });
    return first_fit(candidates, looked_at);
  }

  struct Stale {
    bool a_moves, b_moves, both_ways;
  };

  std::optional<RegionFault> find_stale(std::size_t tile) const {
    const std::size_t count = units_ / tile;
    if (count > kMostTiles || count < 2 || tile * unit_ < std::min(kLeastTile, kernel_.data.k)) {
      return std::nullopt;
    }
    std::vector<Candidate> candidates;
    double looked_at = 0;
    constexpr std::array kKinds{Stale{true, false, false}, Stale{false, true, false},
                                Stale{true, true, false}, Stale{true, false, true},
                                Stale{false, true, true}};
    for (std::size_t p = 0; p < count; ++p) {
      for (std::size_t q = 0; q < count; ++q) {
        for (const Stale& kind : kKinds) {
          if (p == q || (kind.both_ways && p > q)) {
            continue;
          }
          ++looked_at;
          if (candidates.size() < kMostTried && allowed([&](const KSample& sample) {
                return stale_change(sample, tile, p, q, kind);
              })) {
            candidates.push_back(stale(tile, p, q, kind));
          }
        }
      }
    }
    return first_fit(candidates, looked_at);
  }

  static double stale_change(const KSample& sample, std::size_t tile, std::size_t p, std::size_t q,
                             const Stale& kind) {
    const auto meet = [&](std::size_t a, std::size_t b) {
      return sample.products(a * tile, b * tile, tile);
    };
    if (kind.both_ways) {
      return meet(p, q) + meet(q, p) - meet(p, p) - meet(q, q);
    }
    return meet(kind.a_moves ? q : p, kind.b_moves ? q : p) - meet(p, p);
  }

  Candidate stale(std::size_t tile, std::size_t p, std::size_t q, const Stale& kind) const {
    const auto source = [&](std::int64_t t) {
      const auto at = static_cast<std::size_t>(t);
      return static_cast<std::int64_t>(at == p ? q : kind.both_ways && at == q ? p : at);
    };
    KMap map = KMap::identity(units_);
    if (kind.a_moves) {
      map.a = moved(tile, true, source).a;
    }
    if (kind.b_moves) {
      map.b = moved(tile, false, source).b;
    }
    const std::string at = k_range(p * tile, (p + 1) * tile);
    const std::string from = k_range(q * tile, (q + 1) * tile);
    const char* const who = kind.a_moves && kind.b_moves ? "A and B" : kind.a_moves ? "A" : "B";
    return {
        map,
        {kind.both_ways ? "exchanged-k-tiles" : "duplicated-k-tile",
         kind.both_ways ? fmt::format("{} and {} of {} are exchanged", at, from, who)
                        : fmt::format("in place of {} {} of {} again {}", at,
                                      kind.a_moves && kind.b_moves ? "those" : "that", who, from)}};
  }

  // The order of summation -----------------------------------------------------------------------

  std::optional<RegionFault> find_rotated(std::size_t tile) const {
    const auto count = static_cast<std::int64_t>(units_ / tile);
    if (units_ % tile != 0 || !trial_.tells_apart(2 * static_cast<double>(count))) {
      return std::nullopt;
    }
    const auto in_order = [&](const Source& source) {
      KMap map = moved(tile, true, source);
      map.b = map.a;
      return fits(map);
    };
    for (std::int64_t by = 1; by < std::min<std::int64_t>(count, kMostTiles); ++by) {
      if (in_order([&](std::int64_t t) { return (t + by) % count; })) {
        return RegionFault{"k-order", fmt::format("K is summed from k {} on and around its end",
                                                  static_cast<std::size_t>(by) * tile * unit_)};
      }
    }
    for (std::int64_t by = 1; by < count; by *= 2) {
      if (count % (2 * by) == 0 && in_order([&](std::int64_t t) { return t ^ by; })) {
        return RegionFault{
            "k-order",
            fmt::format("K is summed in tiles of {} k in the order t ^ {}", tile * unit_, by)};
      }
    }
    return std::nullopt;
  }

  std::optional<RegionFault> find_exchanged_order(std::size_t depth) const {
    const std::size_t tile =
        std::max(depth, (units_ + kMostOrders - 1) / kMostOrders / depth * depth);
    const std::size_t count = units_ / std::max<std::size_t>(1, tile);
    const auto pairs = static_cast<double>(count * count) / 2;
    if (depth == 0 || count > kMostOrders || !trial_.tells_apart(pairs)) {
      return std::nullopt;
    }
    for (std::size_t p = 0; p < count; ++p) {
      for (std::size_t q = p + 1; q < count; ++q) {
        KMap map = stale(tile, p, q, {true, true, true}).map;
        if (fits(map)) {
          return RegionFault{"k-order", fmt::format("{} and {} are summed in each other's place",
                                                    k_range(p * tile, (p + 1) * tile),
                                                    k_range(q * tile, (q + 1) * tile))};
        }
      }
    }
    return std::nullopt;
  }

  const RegionTrial& trial_;
  const WrongKernel& kernel_;
  std::size_t unit_;
  std::size_t units_;
  std::vector<KSample> samples_;
};

}  // namespace

std::optional<RegionFault> find_k_fault(const RegionTrial& trial) {
  return KSearch(trial).find_misplaced();
}

std::optional<RegionFault> find_k_order(const RegionTrial& trial) {
  return KSearch(trial).find_order();
}

}  // namespace sptc::compare::kernel
