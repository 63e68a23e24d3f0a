// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/pareto_front.h"

#include "models/base/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sptc::prune::plan {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// A set: the last choice that it took, and what it was before.
struct Node {
  std::uint32_t choice = kNone;
  std::uint32_t before = kNone;
};

struct Set {
  std::int64_t gain = 0;
  double loss = 0;
  std::uint32_t node = kNone;
};

/// Orders by rising loss, of equals the higher gain first.
bool comes_before(const Set& one, const Set& other) {
  return one.loss != other.loss ? one.loss < other.loss : one.gain > other.gain;
}

/// Those of `sets`, in order, that gain more than all before.
std::vector<Set> without_dominated(const std::vector<Set>& sets) {
  std::vector<Set> kept;
  for (const Set& set : sets) {
    if (kept.empty() || set.gain > kept.back().gain) {
      kept.push_back(set);
    }
  }
  return kept;
}

/// At most `most` of `sets`, the first and the last among them; adds to `resolution` by how much less a set that goes
/// may lose than the one that stays for it.
std::vector<Set> thinned(const std::vector<Set>& sets, std::size_t most, double& resolution) {
  const double first = sets.front().loss;
  const double step = (sets.back().loss - first) / static_cast<double>(most - 1);
  const auto cell = [&](const Set& set) { return std::ceil((set.loss - first) / step); };
  std::vector<Set> kept;
  for (const Set& set : sets) {
    if (!kept.empty() && cell(set) == cell(kept.back())) {
      kept.back() = set;
    } else {
      kept.push_back(set);
    }
  }
  resolution += step;
  return kept;
}

ParetoPoint point_of(const Set& set, const std::vector<Node>& nodes) {
  ParetoPoint point{set.gain, set.loss, {}};
  for (std::uint32_t at = set.node; at != kNone; at = nodes[at].before) {
    point.taken.push_back(nodes[at].choice);
  }
  std::ranges::reverse(point.taken);
  return point;
}

}  // namespace

ParetoFront pareto_front(std::span<const Choice> choices, std::size_t most) {
  base::ensure(most > 1, "a front of fewer than two points");
  ParetoFront front;
  std::vector<Node> nodes;
  std::vector<Set> sets{Set{}};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    base::ensure(choices[i].gain > 0, "a choice without gain");
    std::vector<Set> with;
    with.reserve(sets.size());
    for (const Set& set : sets) {
      with.push_back({set.gain + choices[i].gain, set.loss + choices[i].loss, kNone});
      nodes.push_back({static_cast<std::uint32_t>(i), set.node});
      with.back().node = static_cast<std::uint32_t>(nodes.size() - 1);
    }
    std::vector<Set> merged(sets.size() + with.size());
    std::merge(sets.begin(), sets.end(), with.begin(), with.end(), merged.begin(), comes_before);
    sets = without_dominated(merged);
    if (sets.size() > most) {
      sets = thinned(sets, most, front.resolution);
    }
  }
  for (const Set& set : sets) {
    front.points.push_back(point_of(set, nodes));
  }
  return front;
}

const ParetoPoint* within_loss(const ParetoFront& front, double loss) {
  const auto after = std::upper_bound(front.points.begin(), front.points.end(), loss,
                                      [](double most, const ParetoPoint& point) { return most < point.loss; });
  return after == front.points.begin() ? nullptr : &*(after - 1);
}

const ParetoPoint* with_gain(const ParetoFront& front, std::int64_t gain) {
  const auto found = std::lower_bound(front.points.begin(), front.points.end(), gain,
                                      [](const ParetoPoint& point, std::int64_t least) { return point.gain < least; });
  return found == front.points.end() ? nullptr : &*found;
}

}  // namespace sptc::prune::plan
