// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/permutation.h"

#include "models/base/error.h"
#include "models/base/random.h"
#include "models/sparsity/assignment.h"
#include "models/sparsity/max_product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <numeric>
#include <span>
#include <string>

namespace sptc::sparsity {
namespace {

constexpr std::size_t kStripe = 4;  // columns of a group

base::Matrix<float> sizes_of(const base::Matrix<float>& weights) {
  base::Matrix<float> sizes(weights.rows(), weights.cols());
  std::transform(weights.data(), weights.data() + weights.size(), sizes.data(),
                 [](float w) { return std::fabs(w); });
  return sizes;
}

/// Sum over the rows of the two largest of four columns.
double score_of(std::span<const float* const> columns, std::size_t rows) {
  double sum = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const float high1 = std::max(columns[0][r], columns[1][r]);
    const float low1 = std::min(columns[0][r], columns[1][r]);
    const float high2 = std::max(columns[2][r], columns[3][r]);
    const float low2 = std::min(columns[2][r], columns[3][r]);
    const float most = std::max(high1, high2);
    sum += static_cast<double>(most + std::max(std::min(high1, high2), std::max(low1, low2)));
  }
  return sum;
}

class Search {
 public:
  Search(const base::Matrix<float>& sizes, const PermutationSearch& search, std::uint64_t seed)
      : search_(search),
        random_(seed),
        columns_(sizes.transposed()),
        order_(sizes.cols()),
        score_(sizes.cols() / kStripe) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t s = 0; s < score_.size(); ++s) {
      score_[s] = score(s);
    }
  }

  std::vector<std::size_t> run() {
    double kept = total();
    std::deque<double> last;
    for (int i = 0; i < search_.most_rounds && work_ < search_.most_work; ++i) {
      round();
      last.push_back(kept);
      kept = total();
      if (static_cast<int>(last.size()) == search_.patience) {
        if (kept - last.front() <= search_.least_gain * kept) {
          break;
        }
        last.pop_front();
      }
    }
    return order_;
  }
  double work() const { return work_; }

 private:
  double total() const { return std::accumulate(score_.begin(), score_.end(), 0.0); }
  const float* column_at(std::size_t place) const { return columns_.row(order_[place]).data(); }

  double score(std::size_t stripe) const {
    std::array<const float*, kStripe> four{};
    for (std::size_t i = 0; i < kStripe; ++i) {
      four[i] = column_at(stripe * kStripe + i);
    }
    return score_of(four, columns_.cols());
  }

  /// Of the three columns beside `place`: the second largest of each row into `bound`, and the sum
  /// of the largest.
  double bound_of(std::size_t place, std::span<float> bound) const {
    const std::size_t first = place / kStripe * kStripe, i = place % kStripe;
    const float* const x = column_at(first + (i == 0 ? 1 : 0));
    const float* const y = column_at(first + (i <= 1 ? 2 : 1));
    const float* const z = column_at(first + (i <= 2 ? 3 : 2));
    double largest = 0;
    for (std::size_t r = 0; r < bound.size(); ++r) {
      const float high = std::max(x[r], y[r]);
      bound[r] = std::max(std::min(x[r], y[r]), std::min(high, z[r]));
      largest += static_cast<double>(std::max(high, z[r]));
    }
    return largest;
  }

  /// By how much the score of each stripe would grow with each of `columns` in its `place`.
  base::Matrix<float> gains_of(const std::vector<std::size_t>& place,
                               const std::vector<std::size_t>& columns) {
    const std::size_t stripes = score_.size(), rows = columns_.cols();
    base::Matrix<float> drawn(rows, stripes), bounds(stripes, rows), gains(stripes, stripes);
    std::vector<const float*> from;
    std::vector<float*> to;
    std::vector<double> fixed;
    for (std::size_t s = 0; s < stripes; ++s) {
      const std::span<const float> column = columns_.row(columns[s]);
      for (std::size_t r = 0; r < rows; ++r) {
        drawn(r, s) = column[r];
      }
      fixed.push_back(bound_of(place[s], bounds.row(s)) - score_[s]);
      from.push_back(bounds.row(s).data());
      to.push_back(gains.row(s).data());
    }
    MaxProduct(drawn).run(from, to);
    // The assignment takes about as long as a product with as many rows as there are stripes.
    work_ += static_cast<double>(stripes * stripes) * static_cast<double>(rows + stripes);
    for (std::size_t s = 0; s < stripes; ++s) {
      for (float& gain : gains.row(s)) {
        gain = static_cast<float>(static_cast<double>(gain) + fixed[s]);
      }
      gains(s, s) = 0;  // it stays
    }
    return gains;
  }

  /// Exchanges the columns of a place of each stripe in the best way.
  void round() {
    const std::size_t stripes = score_.size();
    std::vector<std::size_t> place(stripes), column(stripes);
    for (std::size_t s = 0; s < stripes; ++s) {
      place[s] = s * kStripe + random_.below(drawn_++, kStripe);
      column[s] = order_[place[s]];
    }
    const std::vector<std::size_t> to = best_assignment(gains_of(place, column));
    for (std::size_t s = 0; s < stripes; ++s) {
      if (to[s] != s) {
        order_[place[s]] = column[to[s]];
        score_[s] = score(s);
      }
    }
  }

  const PermutationSearch search_;
  base::RandomStream random_;
  std::uint64_t drawn_ = 0;
  double work_ = 0;              ///< elements of products, or as much time
  base::Matrix<float> columns_;  ///< magnitudes, a row for each column
  std::vector<std::size_t> order_;
  std::vector<double> score_;  ///< of each stripe
};

}  // namespace

double kept_magnitude(const base::Matrix<float>& weights, const std::vector<std::size_t>& order) {
  const base::Matrix<float> columns = sizes_of(weights).transposed();
  double kept = 0;
  for (std::size_t at = 0; at + kStripe <= order.size(); at += kStripe) {
    std::array<const float*, kStripe> four{};
    for (std::size_t i = 0; i < kStripe; ++i) {
      four[i] = columns.row(order[at + i]).data();
    }
    kept += score_of(four, columns.cols());
  }
  double all = 0;
  for (std::size_t c = 0; c < columns.rows(); ++c) {
    const std::span<const float> column = columns.row(c);
    all += std::accumulate(column.begin(), column.end(), 0.0);
  }
  return all > 0 ? kept / all : 1;
}

ColumnOrder permutation_search(const base::Matrix<float>& weights,
                               const PermutationSearch& search) {
  if (weights.cols() % kStripe != 0) {
    throw base::InputError("k = " + std::to_string(weights.cols()) +
                           " cannot be permuted for 2:4: it must be a multiple of 4");
  }
  ColumnOrder result;
  result.order.resize(weights.cols());
  std::iota(result.order.begin(), result.order.end(), std::size_t{0});
  result.kept_before = kept_magnitude(weights, result.order);
  result.kept_after = result.kept_before;
  if (weights.cols() <= kStripe || weights.rows() == 0) {
    return result;
  }
  const base::Matrix<float> sizes = sizes_of(weights);
  double work = 0;
  for (int start = 0; start < search.starts && work <= search.most_work_to_restart; ++start) {
    Search one(sizes, search,
               search.seed * static_cast<std::uint64_t>(search.starts) +
                   static_cast<std::uint64_t>(start));
    std::vector<std::size_t> order = one.run();
    work += one.work();
    const double kept = kept_magnitude(weights, order);
    if (kept > result.kept_after) {
      result.order = std::move(order);
      result.kept_after = kept;
    }
  }
  return result;
}

}  // namespace sptc::sparsity
