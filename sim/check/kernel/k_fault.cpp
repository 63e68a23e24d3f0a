// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/fault_finders.h"
#include "sim/check/kernel/k_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

constexpr std::size_t kMostTried = 48;     // hypotheses of a kind that are tried bit for bit
constexpr std::size_t kMostTiles = 256;    // of which all pairs are looked at
constexpr std::size_t kMostRanges = 2048;  // parts of K of which all ranges are looked at
constexpr std::size_t kLeastTile = 8;      // k

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
    using Find = std::optional<RegionFault> (KSearch::*)(std::size_t tile) const;
    const auto of_tiles = [&](Find find) {
      return first_found(tiles(), [&](std::size_t tile) { return (this->*find)(tile); });
    };
    auto fault = of_tiles(&KSearch::find_range);
    fault = fault ? fault : find_repeated_slice();
    return fault ? fault
                 : first_found(std::array<Find, 3>{&KSearch::find_set, &KSearch::find_shifted,
                                                   &KSearch::find_stale},
                               of_tiles);
  }

  std::optional<RegionFault> find_order() {
    const auto depth = static_cast<std::size_t>(kernel_.model.instruction.shape.k) / unit_;
    return first_found(std::array{8U, 4U, 2U, 1U}, [&](unsigned steps) {
      const std::size_t tile = depth * steps;
      return tile == 0 || units_ / tile < 2 ? std::nullopt : find_rotated(tile);
    });
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

  /// Whether the samples may be what they are, had their sums changed by `change(sample)`.
  template <typename ChangeOf>
  bool allowed(const ChangeOf& change) const {
    return std::ranges::all_of(
        samples_, [&](const KSample& sample) { return sample.may_be(change(sample)); });
  }

  Hypothesis summed_by(KMap map, const char* cause, std::string text) const {
    return {
        {cause, std::move(text)},
        [map = std::move(map), &instruction = kernel_.model.instruction](
            KernelOperands& operands, const Selection&) { rearrange(operands, map, instruction); }};
  }

  /// The first of `candidates` that explains the region; `of` hypotheses were looked at.
  std::optional<RegionFault> first_fit(std::vector<Hypothesis> candidates, double of) const {
    candidates.resize(std::min(kMostTried, candidates.size()));
    return trial_.first_that_fits(candidates, of);
  }

  std::string k_range(std::size_t begin, std::size_t end) const {
    const std::size_t first = begin * unit_, last = std::min(end * unit_, kernel_.data.k) - 1;
    return first == last ? fmt::format("k {}", first) : fmt::format("k {} to {}", first, last);
  }

  // A part of K is missing, or there twice -------------------------------------------------------

  std::optional<RegionFault> find_range(std::size_t tile) const {
    std::vector<Hypothesis> candidates;
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
    return first_fit(std::move(candidates), 2 * looked_at);
  }

  Hypothesis without(std::size_t begin, std::size_t end) const {
    KMap map = KMap::identity(units_);
    std::fill(map.a.begin() + static_cast<std::ptrdiff_t>(begin),
              map.a.begin() + static_cast<std::ptrdiff_t>(end), KMap::kZero);
    map.b = map.a;
    const bool is_all = begin == 0 && end == units_;
    return summed_by(std::move(map), "missing-k",
                     is_all ? "D lacks the whole sum over K" : "D lacks " + k_range(begin, end));
  }

  void add_doubled(std::size_t begin, std::size_t end, std::vector<Hypothesis>& candidates) const {
    for (const std::size_t at : std::set<std::size_t>{end, units_}) {
      KMap map = KMap::identity(units_);
      const std::vector<std::int64_t> again(map.b.begin() + static_cast<std::ptrdiff_t>(begin),
                                            map.b.begin() + static_cast<std::ptrdiff_t>(end));
      map.a.insert(map.a.begin() + static_cast<std::ptrdiff_t>(at), again.begin(), again.end());
      map.b = map.a;
      candidates.push_back(
          summed_by(std::move(map), "doubled-k", "D has " + k_range(begin, end) + " twice"));
    }
  }

  std::optional<RegionFault> find_repeated_slice() const {
    const int slices = kernel_.model.order.slices;
    std::vector<Hypothesis> hypotheses;
    for (int slice = 0; slices > 1 && slice < slices; ++slice) {
      KernelModel model = kernel_.model;
      model.order.repeated_slice = slice;
      hypotheses.push_back(
          {{"doubled-k", fmt::format("D has slice {} of the {} slices of K twice", slice, slices)},
           {},
           model});
    }
    return trial_.first_that_fits(hypotheses, slices);
  }

  /// Any set of k-tiles that are missing or there twice.
  std::optional<RegionFault> find_set(std::size_t tile) const {
    const auto times = k_contributions(trial_, tile);
    if (!times) {
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
    if (lost.size() + doubled.size() == 0 || lost.size() == times->size()) {
      return std::nullopt;
    }
    const std::string again =
        doubled.empty() ? ""
                        : "has " + tiles_text(doubled, tile, times->size()) + " more than once";
    const std::string lacks = lost.empty() ? "" : "lacks " + tiles_text(lost, tile, times->size());
    return trial_.first_that_fits(
        {summed_by(std::move(map), lost.empty() ? "doubled-k" : "missing-k",
                   "D " + again + (again.empty() || lacks.empty() ? "" : " and ") + lacks)},
        1);
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

  /// K in tiles, of which tile t of A, B or both is `source(t)`; where that is negative, zeros.
  template <typename Source>
  KMap moved(std::size_t tile, bool of_a, bool of_b, const Source& source) const {
    KMap map = KMap::identity(units_);
    const auto width = static_cast<std::int64_t>(tile);
    for (std::int64_t at = 0; at < static_cast<std::int64_t>(units_); ++at) {
      const std::int64_t from = source(at / width);
      const std::int64_t value = from * width + at % width;
      const auto unit = static_cast<std::size_t>(at);
      const bool is_there = from >= 0 && value < static_cast<std::int64_t>(units_);
      map.a[unit] = !of_a ? at : is_there ? value : KMap::kZero;
      map.b[unit] = !of_b ? at : is_there ? value : KMap::kZero;
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
    std::vector<Hypothesis> candidates;
    double looked_at = 0;
    const auto consider = [&](const std::string& formula, const auto& source) {
      for (const bool of_a : {true, false}) {
        KMap map = moved(tile, of_a, !of_a, source);
        ++looked_at;
        if (allowed([&](const KSample& sample) { return change_of(sample, map); })) {
          candidates.push_back(
              summed_by(std::move(map), "permuted-k-tiles",
                        fmt::format("tile t of {} k of {} meets tile {} of {}", tile * unit_,
                                    of_a ? "B" : "A", formula, of_a ? "A" : "B")));
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
    return first_fit(std::move(candidates), looked_at);
  }

  struct Stale {
    bool a_moves, b_moves, both_ways;
  };

  std::optional<RegionFault> find_stale(std::size_t tile) const {
    const std::size_t count = units_ / tile;
    if (count > kMostTiles || count < 2 || tile * unit_ < std::min(kLeastTile, kernel_.data.k)) {
      return std::nullopt;
    }
    std::vector<Hypothesis> candidates;
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
    return first_fit(std::move(candidates), looked_at);
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

  Hypothesis stale(std::size_t tile, std::size_t p, std::size_t q, const Stale& kind) const {
    const std::string at = k_range(p * tile, (p + 1) * tile);
    const std::string from = k_range(q * tile, (q + 1) * tile);
    const char* const who = kind.a_moves && kind.b_moves ? "A and B" : kind.a_moves ? "A" : "B";
    KMap map = moved(tile, kind.a_moves, kind.b_moves, [&](std::int64_t t) {
      const auto unmoved = static_cast<std::size_t>(t);
      return static_cast<std::int64_t>(unmoved == p                     ? q
                                       : kind.both_ways && unmoved == q ? p
                                                                        : unmoved);
    });
    return summed_by(std::move(map), kind.both_ways ? "exchanged-k-tiles" : "duplicated-k-tile",
                     kind.both_ways
                         ? fmt::format("{} and {} of {} are exchanged", at, from, who)
                         : fmt::format("in place of {} {} of {} again {}", at,
                                       kind.a_moves && kind.b_moves ? "those" : "that", who, from));
  }

  // The order of summation -----------------------------------------------------------------------

  /// K in tiles, of which tile t of both A and B is `source(t)`.
  template <typename Source>
  Hypothesis in_order(std::size_t tile, std::string text, Source source) const {
    return {{"k-order", std::move(text)}, [=, this](KernelOperands& operands, const Selection&) {
              rearrange(operands, moved(tile, true, true, source), kernel_.model.instruction);
            }};
  }

  std::optional<RegionFault> find_rotated(std::size_t tile) const {
    const auto count = static_cast<std::int64_t>(units_ / tile);
    if (units_ % tile != 0) {
      return std::nullopt;
    }
    std::vector<Hypothesis> hypotheses;
    for (std::int64_t by = 1; by < std::min<std::int64_t>(count, kMostTiles); ++by) {
      hypotheses.push_back(in_order(tile,
                                    fmt::format("K is summed from k {} on and around its end",
                                                static_cast<std::size_t>(by) * tile * unit_),
                                    [=](std::int64_t t) { return (t + by) % count; }));
    }
    for (std::int64_t by = 1; by < count; by *= 2) {
      if (count % (2 * by) == 0) {
        hypotheses.push_back(in_order(
            tile, fmt::format("K is summed in tiles of {} k in the order t ^ {}", tile * unit_, by),
            [=](std::int64_t t) { return t ^ by; }));
      }
    }
    return trial_.first_that_fits(hypotheses, 2 * static_cast<double>(count));
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

}  // namespace sptc::check::kernel
