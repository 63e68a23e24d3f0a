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
  Search(const base::Matrix<float>& sizes, const PermutationSearch& search)
      : search_(search),
        random_(search.seed),
        product_(sizes),
        columns_(sizes.transposed()),
        order_(sizes.cols()),
        places_(sizes.cols(), sizes.cols()),
        bounds_(sizes.cols(), sizes.rows()),
        score_(sizes.cols() / kStripe) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::vector<std::size_t> all(score_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    refresh(all);
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

 private:
  double total() const { return std::accumulate(score_.begin(), score_.end(), 0.0); }
  const float* column_at(std::size_t place) const { return columns_.row(order_[place]).data(); }

  /// What each column would make of `stripes`, anew.
  void refresh(const std::vector<std::size_t>& stripes) {
    const std::size_t rows = columns_.cols();
    std::vector<const float*> bounds;
    std::vector<float*> sums;
    std::vector<double> fixed;  // what a place adds to its sum to make the score of the stripe
    for (const std::size_t stripe : stripes) {
      std::array<const float*, kStripe> four{};
      for (std::size_t i = 0; i < kStripe; ++i) {
        four[i] = column_at(stripe * kStripe + i);
      }
      score_[stripe] = score_of(four, rows);
      for (std::size_t i = 0; i < kStripe; ++i) {
        const float* const x = four[i == 0 ? 1 : 0];
        const float* const y = four[i <= 1 ? 2 : 1];
        const float* const z = four[i <= 2 ? 3 : 2];
        float* const bound = bounds_.row(stripe * kStripe + i).data();
        double largest = 0;
        for (std::size_t r = 0; r < rows; ++r) {
          const float high = std::max(x[r], y[r]);
          bound[r] = std::max(std::min(x[r], y[r]), std::min(high, z[r]));
          largest += static_cast<double>(std::max(high, z[r]));
        }
        fixed.push_back(largest - score_[stripe]);
        bounds.push_back(bound);
        sums.push_back(places_.row(stripe * kStripe + i).data());
      }
    }
    product_.run(bounds, sums);
    work_ += static_cast<double>(bounds.size()) * static_cast<double>(columns_.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      for (std::size_t column = 0; column < places_.cols(); ++column) {
        sums[i][column] = static_cast<float>(static_cast<double>(sums[i][column]) + fixed[i]);
      }
    }
  }

  /// Exchanges the columns of a place of each stripe in the best way.
  void round() {
    const std::size_t stripes = score_.size();
    std::vector<std::size_t> place(stripes), column(stripes);
    for (std::size_t s = 0; s < stripes; ++s) {
      place[s] = s * kStripe + random_.below(drawn_++, kStripe);
      column[s] = order_[place[s]];
    }
    base::Matrix<float> gains(stripes, stripes);
    for (std::size_t s = 0; s < stripes; ++s) {
      const std::span<const float> row = places_.row(place[s]);
      for (std::size_t t = 0; t < stripes; ++t) {
        gains(s, t) = s == t ? 0.0F : row[column[t]];
      }
    }
    const std::vector<std::size_t> to = best_assignment(gains);
    std::vector<std::size_t> changed;
    for (std::size_t s = 0; s < stripes; ++s) {
      if (to[s] != s) {
        order_[place[s]] = column[to[s]];
        changed.push_back(s);
      }
    }
    refresh(changed);
  }

  const PermutationSearch search_;
  base::RandomStream random_;
  std::uint64_t drawn_ = 0;
  double work_ = 0;  ///< elements of products
  MaxProduct product_;
  base::Matrix<float> columns_;  ///< magnitudes, a row for each column
  std::vector<std::size_t> order_;
  /// [place][column]: by how much the score of the stripe of the place grows with that column
  /// there.
  base::Matrix<float> places_;
  base::Matrix<float> bounds_;  ///< [place][row]: second largest of the other three
  std::vector<double> score_;   ///< of each stripe
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
  if (weights.cols() > kStripe && weights.rows() > 0) {
    std::vector<std::size_t> order = Search(sizes_of(weights), search).run();
    const double kept = kept_magnitude(weights, order);
    if (kept > result.kept_before) {
      result.order = std::move(order);
      result.kept_after = kept;
    }
  }
  return result;
}

}  // namespace sptc::sparsity
