// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/assignment.h"

#include "models/base/error.h"

#include <algorithm>
#include <limits>
#include <span>

namespace sptc::sparsity {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr float kFar = std::numeric_limits<float>::max();

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

}  // namespace

std::vector<std::size_t> best_assignment(const base::Matrix<float>& gains) {
  base::ensure(gains.rows() == gains.cols(), "an assignment problem that is not square");
  return Assignment(gains).run();
}

}  // namespace sptc::sparsity
