// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/search/pareto_search.h"

#include "models/base/random.h"

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace sptc::sweep::search {
namespace {

constexpr std::size_t kFirstPerAxis = 5;        // random points, of each workload
constexpr std::size_t kMostOfOneAxis = 16;      // values of an axis that all are among them
constexpr std::size_t kLeastBatch = 4;          // points of a workload
constexpr std::size_t kBatchShare = 32;         // or this part of those that are known
constexpr std::size_t kMostLearned = 1024;      // points that a model learns
constexpr std::size_t kMostWeighed = 1024;      // candidates whose deviation is computed
constexpr std::uint64_t kMostListed = 1 << 16;  // larger products are sampled for candidates
constexpr std::uint64_t kSampled = 1 << 14;
constexpr double kOptimism = 0.5;  // standard deviations
constexpr double kNoGain = 1e-9;

/// Numbers by their logarithm where all are positive, words by nothing.
DesignAxis coordinate(const space::SweepAxis& axis) {
  DesignAxis result;
  result.size = axis.values.size();
  bool numbers = true;
  bool positive = true;
  for (const nlohmann::json& value : axis.values) {
    numbers = numbers && value.is_number();
    positive = positive && value.is_number() && value.get<double>() > 0;
  }
  if (!numbers) {
    return result;
  }
  for (const nlohmann::json& value : axis.values) {
    const double number = value.get<double>();
    result.places.push_back(positive ? std::log(number) : number);
  }
  const auto [least, most] = std::minmax_element(result.places.begin(), result.places.end());
  const double from = *least;
  const double width = *most - *least;
  for (double& place : result.places) {
    place = width > 0 ? (place - from) / width : 0;
  }
  return result;
}

/// Costs with the unit in which a model is learned: the logarithm where all have one sign, over the
/// range of all. What failed costs as much as the worst.
std::vector<std::vector<double>> learnable(const std::vector<Costs>& costs) {
  std::size_t count = 0;
  for (const Costs& one : costs) {
    count = std::max(count, one.size());
  }
  std::vector<std::vector<double>> result(costs.size(), std::vector<double>(count));
  for (std::size_t objective = 0; objective < count; ++objective) {
    bool positive = true;
    bool negative = true;
    for (const Costs& one : costs) {
      positive = positive && (one.empty() || one[objective] > 0);
      negative = negative && (one.empty() || one[objective] < 0);
    }
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (costs[i].empty()) {
        continue;
      }
      const double cost = costs[i][objective];
      double& value = result[i][objective];
      value = positive ? std::log(cost) : negative ? -std::log(-cost) : cost;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    const double range = most > least ? most - least : 1;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      result[i][objective] = costs[i].empty() ? most / range : result[i][objective] / range;
    }
  }
  return result;
}

/// By how much `value` undercuts `other` in the cost in which it does so most: what is left of it
/// over all points of a front is the gain of `value`.
double undercut(const std::vector<double>& value, const std::vector<double>& other) {
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < value.size(); ++i) {
    most = std::max(most, other[i] - value[i]);
  }
  return most;
}

double gain(const std::vector<double>& value, const std::vector<std::vector<double>>& front) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& other : front) {
    least = std::min(least, undercut(value, other));
  }
  return least;
}

/// The distinct values that no other one undercuts or equals in all costs.
std::vector<std::vector<double>> front_of(std::vector<std::vector<double>> values) {
  std::sort(values.begin(), values.end());  // nothing beats what came before it
  std::vector<std::vector<double>> front;
  for (std::vector<double>& value : values) {
    if (gain(value, front) > 0) {
      front.push_back(std::move(value));
    }
  }
  return front;
}

/// A design that may be simulated next, and what its costs may be.
struct Candidate {
  std::uint64_t position = 0;
  std::vector<double> mean, hoped;
  double gain = 0;  ///< of what is hoped over the front and what is chosen already
};

/// The candidates with the greatest gain by their means; `models` says what they may cost.
std::vector<Candidate> weigh(std::vector<Candidate> all,
                             const std::vector<std::vector<double>>& front,
                             const std::vector<GaussianProcess>& models,
                             const std::function<Design(std::uint64_t)>& design) {
  for (Candidate& one : all) {
    const Design place = design(one.position);
    for (const GaussianProcess& model : models) {
      one.mean.push_back(model.mean(place));
    }
    one.gain = gain(one.mean, front);
  }
  const std::size_t kept = std::min(all.size(), kMostWeighed);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return a.gain != b.gain ? a.gain > b.gain : a.position < b.position;
                    });
  all.resize(kept);
  for (Candidate& one : all) {
    const Design place = design(one.position);
    for (std::size_t i = 0; i < models.size(); ++i) {
      one.hoped.push_back(one.mean[i] - kOptimism * models[i].deviation(place));
    }
    one.gain = gain(one.hoped, front);
  }
  return all;
}

/// Takes the best of `candidates` one after the other, each as if the ones before it cost what is
/// expected of them.
std::vector<std::uint64_t> take_best(std::vector<Candidate>& candidates, std::size_t count) {
  std::vector<std::uint64_t> taken;
  while (taken.size() < count) {
    const auto best =
        std::max_element(candidates.begin(), candidates.end(),
                         [](const Candidate& a, const Candidate& b) { return a.gain < b.gain; });
    if (best == candidates.end() || !(best->gain > kNoGain)) {
      break;
    }
    taken.push_back(best->position);
    best->gain = -std::numeric_limits<double>::infinity();
    const std::vector<double> expected = best->mean;
    for (Candidate& one : candidates) {
      one.gain = std::min(one.gain, undercut(one.hoped, expected));
    }
  }
  return taken;
}

}  // namespace

ParetoSearch::ParetoSearch(const space::SweepPlan& plan) : plan_(plan) {
  const std::vector<space::SweepAxis>& axes = plan.spec().axes;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].kind != space::SweepAxis::Kind::kWorkload && axes[axis].values.size() > 1) {
      varied_.push_back(axis);
      axes_.push_back(coordinate(axes[axis]));
    }
  }
  fronts_.resize(plan.spec().dimensions.front().size);
}

Design ParetoSearch::design(std::uint64_t position) const {
  Design result;
  for (const std::size_t axis : varied_) {
    result.push_back(static_cast<std::uint32_t>(plan_.index(plan_.dimension_of(axis), position)));
  }
  return result;
}

void ParetoSearch::ask(Front& front, std::uint64_t position) {
  known_.insert(position);
  front.positions.push_back(position);
  front.designs.push_back(design(position));
}

std::vector<std::uint64_t> ParetoSearch::first_points() const {
  std::size_t each = std::max<std::size_t>(1, kFirstPerAxis * axes_.size());
  for (const DesignAxis& axis : axes_) {
    each = std::max(each, std::min(axis.size, kMostOfOneAxis));
  }
  std::vector<std::uint64_t> chosen;
  plan_.for_each_in_latin_hypercubes(each * fronts_.size(), [&](std::uint64_t position) {
    chosen.push_back(position);
    return true;
  });
  return chosen;
}

void ParetoSearch::add_neighbours(const Front& front, std::vector<std::uint64_t>& found) const {
  std::vector<std::vector<double>> values = learnable(front.costs);
  const std::vector<std::vector<double>> best = front_of(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::find(best.begin(), best.end(), values[i]) == best.end()) {
      continue;
    }
    const std::uint64_t position = front.positions[i];
    for (std::size_t d = 1; d < plan_.spec().dimensions.size(); ++d) {
      const std::size_t index = plan_.index(d, position);
      if (index > 0) {
        found.push_back(position - plan_.stride(d));
      }
      if (index + 1 < plan_.spec().dimensions[d].size) {
        found.push_back(position + plan_.stride(d));
      }
    }
  }
}

std::vector<std::uint64_t> ParetoSearch::candidates(const Front& front, std::size_t workload) {
  std::vector<std::uint64_t> found;
  if (plan_.product() <= kMostListed) {
    found.resize(plan_.stride(0));  // the workload is the outermost dimension
    std::iota(found.begin(), found.end(), workload * plan_.stride(0));
  } else {
    const std::uint64_t end = std::min(plan_.product(), drawn_ + kSampled);
    for (; drawn_ < end; ++drawn_) {
      // Of whatever workload it is, its design is as good as another one.
      found.push_back(plan_.drawn(drawn_) % plan_.stride(0) + workload * plan_.stride(0));
    }
    add_neighbours(front, found);
  }
  std::erase_if(found, [&](std::uint64_t position) {
    return known_.contains(position) || !plan_.holds(position);
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void ParetoSearch::learn(Front& front, const std::vector<std::vector<double>>& known) const {
  // The latest, which lie at the front, and some of all others.
  std::vector<std::size_t> chosen;
  const std::size_t count = known.size();
  const std::size_t latest = std::min(count, kMostLearned / 2);
  const std::size_t others = std::min(count - latest, kMostLearned / 2);
  for (std::size_t i = 0; i < others; ++i) {
    chosen.push_back(i * (count - latest) / others);
  }
  for (std::size_t i = count - latest; i < count; ++i) {
    chosen.push_back(i);
  }
  std::vector<const Design*> designs;
  for (const std::size_t i : chosen) {
    designs.push_back(&front.designs[i]);
  }
  const bool tune = 10 * count >= 11 * front.tuned;
  front.tuned = tune ? count : front.tuned;
  front.models.resize(known.front().size(), GaussianProcess(axes_));
  for (std::size_t objective = 0; objective < front.models.size(); ++objective) {
    Eigen::VectorXd figures(static_cast<Eigen::Index>(chosen.size()));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      figures[static_cast<Eigen::Index>(i)] = known[chosen[i]][objective];
    }
    front.models[objective].learn(designs, figures, tune);
  }
}

std::vector<std::uint64_t> ParetoSearch::batch(Front& front, std::size_t workload) {
  const std::size_t count = std::max(kLeastBatch, front.positions.size() / kBatchShare);
  const std::vector<std::uint64_t> open = candidates(front, workload);
  std::vector<std::uint64_t> chosen;
  const std::vector<std::vector<double>> known = learnable(front.costs);
  if (known.size() > 1 && !known.front().empty()) {
    learn(front, known);
    std::vector<Candidate> all;
    for (const std::uint64_t position : open) {
      all.push_back({position, {}, {}, 0});
    }
    std::vector<Candidate> weighed =
        weigh(std::move(all), front_of(known), front.models,
              [&](std::uint64_t position) { return design(position); });
    chosen = take_best(weighed, count);
  }
  // Where nothing promises a gain, one that nobody knows.
  const base::RandomStream random(plan_.spec().sample_seed);
  for (std::uint64_t i = 0; chosen.size() < std::min(count, open.size()); ++i) {
    const std::uint64_t position =
        open[random.below(front.positions.size() << 16 | i, open.size())];
    if (std::find(chosen.begin(), chosen.end(), position) == chosen.end()) {
      chosen.push_back(position);
    }
  }
  return chosen;
}

std::vector<std::uint64_t> ParetoSearch::next(std::size_t most) {
  std::vector<std::uint64_t> chosen;
  if (known_.empty()) {
    chosen = first_points();
  } else {
    for (std::size_t workload = 0; workload < fronts_.size(); ++workload) {
      const std::vector<std::uint64_t> more = batch(fronts_[workload], workload);
      chosen.insert(chosen.end(), more.begin(), more.end());
    }
  }
  chosen.resize(std::min(chosen.size(), most));
  asked_.clear();
  for (const std::uint64_t position : chosen) {
    const std::size_t workload = plan_.index(0, position);
    asked_.emplace_back(workload, fronts_[workload].positions.size());
    ask(fronts_[workload], position);
  }
  return chosen;
}

void ParetoSearch::tell(std::span<const Costs> costs) {
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    fronts_[asked_[i].first].costs.push_back(costs[i]);
  }
}

}  // namespace sptc::sweep::search
