// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/permutation.h"

#include "models/base/error.h"
#include "models/base/random.h"
#include "models/base/vector_clones.h"
#include "models/sparsity/criterion.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace sptc::sparsity {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr float kFar = std::numeric_limits<float>::max();

constexpr std::size_t kPanel = 32;        // columns
constexpr std::size_t kRowsAtOnce = 512;  // a panel of them stays in the second cache

/// Adds to `sums` [columns] what `rows` rows of a panel give.
SPTC_VECTOR_CLONES
void add_panel(const float* panel, const float* bounds, std::size_t rows, std::size_t columns, float* sums) {
  float block[kPanel] = {};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t j = 0; j < kPanel; ++j) {
      block[j] += std::max(bounds[r], panel[r * kPanel + j]);
    }
  }
  for (std::size_t j = 0; j < columns; ++j) {
    sums[j] += block[j];
  }
}

/// Rows are assigned one after the other; prices of columns keep every reduced cost at least 0.
class Assignment {
 public:
  explicit Assignment(const base::Matrix<float>& gains)
      : gains_(gains),
        size_(gains.rows()),
        price_(size_, 0.0F),
        row_of_(size_, kNone),
        distance_(size_),
        before_(size_),
        is_open_(size_) {}

  std::vector<std::size_t> run() {
    start();
    for (std::size_t row = 0; row < size_; ++row) {
      if (!is_assigned_[row]) {
        augment(row);
      }
    }
    std::vector<std::size_t> columns(size_);
    for (std::size_t column = 0; column < size_; ++column) {
      columns[row_of_[column]] = column;
    }
    return columns;
  }

 private:
  float cost(std::size_t row, std::size_t column) const { return -gains_(row, column); }

  /// Prices that let each column go to the row that wants it most, where that row is free.
  void start() {
    is_assigned_.assign(size_, 0);
    std::vector<std::size_t> cheapest(size_, 0);
    std::fill(price_.begin(), price_.end(), kFar);
    for (std::size_t row = 0; row < size_; ++row) {
      for (std::size_t column = 0; column < size_; ++column) {
        if (cost(row, column) < price_[column]) {
          price_[column] = cost(row, column);
          cheapest[column] = row;
        }
      }
    }
    for (std::size_t column = 0; column < size_; ++column) {
      if (!is_assigned_[cheapest[column]]) {
        is_assigned_[cheapest[column]] = 1;
        row_of_[column] = cheapest[column];
      }
    }
  }

  /// Lengths of the paths from `row` through the column that was closed last.
  void relax(std::size_t row, float length, std::size_t from) {
    const std::span<const float> gains = gains_.row(row);
    for (std::size_t column = 0; column < size_; ++column) {
      const float through = length - gains[column] - price_[column];
      const bool shorter = is_open_[column] != 0 && through < distance_[column];
      distance_[column] = shorter ? through : distance_[column];
      before_[column] = shorter ? from : before_[column];
    }
  }

  std::size_t nearest_open() const {
    std::size_t best = kNone;
    float least = kFar;
    for (std::size_t column = 0; column < size_; ++column) {
      if (is_open_[column] != 0 && distance_[column] < least) {
        least = distance_[column];
        best = column;
      }
    }
    base::ensure(best != kNone, "an assignment problem with gains that are not finite");
    return best;
  }

  void augment(std::size_t free_row) {
    std::fill(distance_.begin(), distance_.end(), kFar);
    std::fill(is_open_.begin(), is_open_.end(), 1);
    std::vector<std::size_t> closed;
    relax(free_row, 0, kNone);
    std::size_t column = nearest_open();
    while (row_of_[column] != kNone) {
      is_open_[column] = 0;
      closed.push_back(column);
      const std::size_t row = row_of_[column];
      relax(row, distance_[column] - (cost(row, column) - price_[column]), column);
      column = nearest_open();
    }
    for (const std::size_t passed : closed) {
      price_[passed] += distance_[passed] - distance_[column];
    }
    while (before_[column] != kNone) {
      row_of_[column] = row_of_[before_[column]];
      column = before_[column];
    }
    row_of_[column] = free_row;
  }

  const base::Matrix<float>& gains_;
  std::size_t size_;
  std::vector<float> price_;
  std::vector<std::size_t> row_of_;  ///< of each column
  std::vector<char> is_assigned_;    ///< rows, before augment()
  std::vector<float> distance_;
  std::vector<std::size_t> before_;  ///< column on the path to a column; kNone: the free row
  std::vector<char> is_open_;
};

class Search {
 public:
  Search(const base::Matrix<float>& sizes, const PermutationSearch& search, std::uint64_t seed)
      : search_(search),
        stripe_(static_cast<std::size_t>(search.pattern.candidates())),
        kept_(static_cast<std::size_t>(search.pattern.choices())),
        random_(seed),
        columns_(sizes.transposed()),
        order_(sizes.cols()),
        score_(sizes.cols() / stripe_) {
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

  /// The share of the sum of magnitudes that stays in the present order.
  double kept() const {
    double all = 0;
    for (std::size_t c = 0; c < columns_.rows(); ++c) {
      const std::span<const float> column = columns_.row(c);
      all += std::accumulate(column.begin(), column.end(), 0.0);
    }
    return all > 0 ? total() / all : 1;
  }

 private:
  double total() const { return std::accumulate(score_.begin(), score_.end(), 0.0); }
  const float* column_at(std::size_t place) const { return columns_.row(order_[place]).data(); }

  bool is_two_of_four() const { return stripe_ == kFour && kept_ == 2; }

  /// The `count` largest elements of row `r` of `columns` come first in `elements`, in order.
  static void largest_first(const std::vector<const float*>& columns, std::size_t r, std::size_t count,
                            std::vector<float>& elements) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      elements[i] = columns[i][r];
    }
    std::partial_sort(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(count), elements.end(),
                      std::greater<>());
  }

  /// Sum over the rows of the elements of a stripe that stay.
  double score(std::size_t stripe) const {
    if (is_two_of_four()) {
      return score_of_four(stripe);
    }
    std::vector<const float*> columns;
    for (std::size_t i = 0; i < stripe_; ++i) {
      columns.push_back(column_at(stripe * stripe_ + i));
    }
    std::vector<float> elements(stripe_);
    double sum = 0;
    for (std::size_t r = 0; r < columns_.cols(); ++r) {
      largest_first(columns, r, kept_, elements);
      sum = std::accumulate(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(kept_), sum);
    }
    return sum;
  }

  double score_of_four(std::size_t stripe) const {
    std::array<const float*, kFour> four{};
    for (std::size_t i = 0; i < kFour; ++i) {
      four[i] = column_at(stripe * kFour + i);
    }
    double sum = 0;
    for (std::size_t r = 0; r < columns_.cols(); ++r) {
      const float high1 = std::max(four[0][r], four[1][r]);
      const float low1 = std::min(four[0][r], four[1][r]);
      const float high2 = std::max(four[2][r], four[3][r]);
      const float low2 = std::min(four[2][r], four[3][r]);
      const float most = std::max(high1, high2);
      sum += static_cast<double>(most + std::max(std::min(high1, high2), std::max(low1, low2)));
    }
    return sum;
  }

  /// Sets `bound` to the N-th largest of each row of the columns beside `place`; returns the sum of
  /// the larger ones.
  double bound_of(std::size_t place, std::span<float> bound) const {
    if (is_two_of_four()) {
      return bound_in_four(place, bound);
    }
    const std::size_t first = place / stripe_ * stripe_;
    std::vector<const float*> columns;
    for (std::size_t at = first; at < first + stripe_; ++at) {
      if (at != place) {
        columns.push_back(column_at(at));
      }
    }
    std::vector<float> elements(columns.size());
    double larger = 0;
    for (std::size_t r = 0; r < bound.size(); ++r) {
      largest_first(columns, r, kept_, elements);
      bound[r] = elements[kept_ - 1];
      larger = std::accumulate(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(kept_ - 1), larger);
    }
    return larger;
  }

  double bound_in_four(std::size_t place, std::span<float> bound) const {
    const std::size_t first = place / kFour * kFour, i = place % kFour;
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

  /// What the score of each stripe would gain with each of `columns` in its `place`.
  base::Matrix<float> gains_of(const std::vector<std::size_t>& place, const std::vector<std::size_t>& columns) {
    const std::size_t stripes = score_.size(), rows = columns_.cols();
    base::Matrix<float> drawn(rows, stripes), bounds(stripes, rows);
    std::vector<double> fixed;
    for (std::size_t s = 0; s < stripes; ++s) {
      const std::span<const float> column = columns_.row(columns[s]);
      for (std::size_t r = 0; r < rows; ++r) {
        drawn(r, s) = column[r];
      }
      fixed.push_back(bound_of(place[s], bounds.row(s)) - score_[s]);
    }
    base::Matrix<float> gains = max_product(bounds, drawn);
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
      place[s] = s * stripe_ + random_.below(drawn_++, stripe_);
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

  static constexpr std::size_t kFour = 4;
  const PermutationSearch search_;
  const std::size_t stripe_, kept_;  ///< columns of a group, and how many of them stay
  base::RandomStream random_;
  std::uint64_t drawn_ = 0;
  double work_ = 0;              ///< elements of products, or as much time
  base::Matrix<float> columns_;  ///< magnitudes, a row for each column
  std::vector<std::size_t> order_;
  std::vector<double> score_;  ///< of each stripe
};

/// The sums of `run` neighbours of each row.
base::Matrix<float> run_sums(const base::Matrix<float>& sizes, std::size_t run) {
  base::Matrix<float> sums(sizes.rows(), sizes.cols() / run);
  for (std::size_t r = 0; r < sums.rows(); ++r) {
    for (std::size_t c = 0; c < sizes.cols(); ++c) {
      sums(r, c / run) += sizes(r, c);
    }
  }
  return sums;
}

/// The order of columns that an order of runs of them is.
std::vector<std::size_t> order_of_columns(const std::vector<std::size_t>& runs, std::size_t run) {
  std::vector<std::size_t> order(runs.size() * run);
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = runs[i / run] * run + i % run;
  }
  return order;
}

}  // namespace

std::vector<std::size_t> best_assignment(const base::Matrix<float>& gains) {
  base::ensure(gains.rows() == gains.cols(), "an assignment problem that is not square");
  return Assignment(gains).run();
}

base::Matrix<float> max_product(const base::Matrix<float>& bounds, const base::Matrix<float>& columns) {
  base::Matrix<float> sums(bounds.rows(), columns.cols());
  std::vector<float> panel(kRowsAtOnce * kPanel);
  for (std::size_t first = 0; first < columns.cols(); first += kPanel) {
    const std::size_t width = std::min(kPanel, columns.cols() - first);
    for (std::size_t row = 0; row < columns.rows(); row += kRowsAtOnce) {
      const std::size_t rows = std::min(kRowsAtOnce, columns.rows() - row);
      for (std::size_t r = 0; r < rows; ++r) {
        std::copy_n(columns.row(row + r).data() + first, width, panel.data() + r * kPanel);
      }
      for (std::size_t i = 0; i < bounds.rows(); ++i) {
        add_panel(panel.data(), bounds.row(i).data() + row, rows, width, sums.row(i).data() + first);
      }
    }
  }
  return sums;
}

ColumnOrder permutation_search(const base::Matrix<float>& weights, const PermutationSearch& search) {
  const Pattern& pattern = search.pattern;
  const auto group = static_cast<std::size_t>(pattern.group);
  const auto run = static_cast<std::size_t>(pattern.run);
  if (weights.cols() % group != 0) {
    throw base::InputError("k = " + std::to_string(weights.cols()) + " cannot be permuted for " + pattern.name() +
                           ": it must be a multiple of " + std::to_string(group));
  }
  const base::Matrix<float> sizes = run == 1 ? magnitudes(weights) : run_sums(magnitudes(weights), run);
  std::vector<std::size_t> best(sizes.cols());
  std::iota(best.begin(), best.end(), std::size_t{0});
  ColumnOrder result;
  result.kept_before = Search(sizes, search, 0).kept();
  result.kept_after = result.kept_before;
  const bool has_choice = weights.cols() > group && weights.rows() > 0 && pattern.kept < pattern.group;
  double work = 0;
  for (int start = 0; has_choice && start < search.starts && work <= search.most_work_to_restart; ++start) {
    Search one(sizes, search,
               search.seed * static_cast<std::uint64_t>(search.starts) + static_cast<std::uint64_t>(start));
    std::vector<std::size_t> order = one.run();
    work += one.work();
    if (one.kept() > result.kept_after) {
      best = std::move(order);
      result.kept_after = one.kept();
    }
  }
  result.order = order_of_columns(best, run);
  return result;
}

}  // namespace sptc::sparsity
