// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/search/gaussian_process.h"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sptc::sweep::search {
namespace {

constexpr std::size_t kMostTabled = 256;  // values of an axis
constexpr std::size_t kTuned = 160;       // designs from which s and l are found
constexpr int kRounds = 2;                // of tuning every axis
constexpr double kNugget = 1e-8;          // keeps the covariances of almost equal designs regular

double matern_5_2(double distance) {
  const double r = std::sqrt(5.0) * distance;
  return (1 + r + r * r / 3) * std::exp(-r);
}

}  // namespace

GaussianProcess::GaussianProcess(std::span<const DesignAxis> axes)
    : axes_(axes), scales_(axes.size()) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    set_factors(axis);
  }
}

double GaussianProcess::factor(std::size_t axis, std::uint32_t a, std::uint32_t b) const {
  const Scale& scale = scales_[axis];
  if (!scale.factors.empty()) {
    return scale.factors[a * axes_[axis].size + b];
  }
  const std::vector<double>& places = axes_[axis].places;
  const double distance = places.empty() ? (a == b ? 0.0 : 1.0) : std::abs(places[a] - places[b]);
  return (1 + scale.strength * matern_5_2(distance / scale.length)) / (1 + scale.strength);
}

void GaussianProcess::set_factors(std::size_t axis) {
  Scale& scale = scales_[axis];
  scale.factors.clear();
  const std::size_t size = axes_[axis].size;
  if (size > kMostTabled) {
    return;
  }
  std::vector<double> factors(size * size);
  for (std::size_t at = 0; at < factors.size(); ++at) {
    factors[at] =
        factor(axis, static_cast<std::uint32_t>(at / size), static_cast<std::uint32_t>(at % size));
  }
  scale.factors = std::move(factors);
}

double GaussianProcess::kernel(const Design& a, const Design& b) const {
  double product = 1;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    product *= factor(axis, a[axis], b[axis]);
  }
  return product;
}

Eigen::MatrixXd GaussianProcess::covariances(std::span<const Design* const> designs) const {
  const auto count = static_cast<Eigen::Index>(designs.size());
  Eigen::MatrixXd result(count, count);
  for (Eigen::Index column = 0; column < count; ++column) {
    for (Eigen::Index row = column; row < count; ++row) {
      result(row, column) = kernel(*designs[static_cast<std::size_t>(row)],
                                   *designs[static_cast<std::size_t>(column)]);
    }
    result(column, column) += kNugget;
  }
  return result;
}

double GaussianProcess::log_likelihood(std::span<const Design* const> designs,
                                       const Eigen::VectorXd& figures) const {
  const Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> cholesky(covariances(designs));
  if (cholesky.info() != Eigen::Success) {
    return -std::numeric_limits<double>::infinity();
  }
  const double count = static_cast<double>(figures.size());
  const double misfit = figures.dot(cholesky.solve(figures));
  // The variance of the process takes its best value.
  return -count / 2 * std::log(misfit / count) -
         cholesky.matrixLLT().diagonal().array().log().sum();
}

void GaussianProcess::tune(std::span<const Design* const> designs, const Eigen::VectorXd& figures) {
  double best = log_likelihood(designs, figures);
  const auto improve = [&](std::size_t axis, double Scale::*value, double step, double least,
                           double most) {
    for (const double by : {step, 1 / step}) {
      while (true) {
        const double before = scales_[axis].*value;
        if (before * by < least || before * by > most) {
          break;
        }
        scales_[axis].*value = before * by;
        set_factors(axis);
        const double now = log_likelihood(designs, figures);
        if (!(now > best + 1e-9)) {
          scales_[axis].*value = before;
          set_factors(axis);
          break;
        }
        best = now;
      }
    }
  };
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      improve(axis, &Scale::length, 2, 1.0 / 32, 16);
    }
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      improve(axis, &Scale::strength, 4, 1.0 / 64, 64);
    }
  }
}

void GaussianProcess::learn(std::span<const Design* const> designs, const Eigen::VectorXd& figures,
                            bool tune_scales) {
  designs_.assign(designs.begin(), designs.end());
  middle_ = figures.mean();
  Eigen::VectorXd standard = figures.array() - middle_;
  spread_ = std::sqrt(standard.squaredNorm() / static_cast<double>(figures.size()));
  if (!(spread_ > 1e-12 * std::max(1.0, std::abs(middle_)))) {
    spread_ = 1;  // all are equal
    standard.setZero();
  }
  standard /= spread_;
  if (tune_scales && !standard.isZero(0)) {
    const std::size_t some = std::min(designs.size(), kTuned);
    std::vector<const Design*> chosen(some);
    Eigen::VectorXd theirs(static_cast<Eigen::Index>(some));
    for (std::size_t i = 0; i < some; ++i) {
      const std::size_t at = i * designs.size() / some;
      chosen[i] = designs[at];
      theirs[static_cast<Eigen::Index>(i)] = standard[static_cast<Eigen::Index>(at)];
    }
    tune(chosen, theirs);
  }
  Eigen::MatrixXd matrix = covariances(designs);
  Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> cholesky(matrix);
  for (double nugget = 10 * kNugget; cholesky.info() != Eigen::Success; nugget *= 10) {
    matrix.diagonal().array() += nugget;
    cholesky.compute(matrix);
  }
  weights_ = cholesky.solve(standard);
  variance_ = standard.dot(weights_) / static_cast<double>(standard.size());
  factor_ = cholesky.matrixL();
}

Eigen::VectorXd GaussianProcess::covariances_with(const Design& design) const {
  Eigen::VectorXd result(static_cast<Eigen::Index>(designs_.size()));
  for (std::size_t i = 0; i < designs_.size(); ++i) {
    result[static_cast<Eigen::Index>(i)] = kernel(*designs_[i], design);
  }
  return result;
}

double GaussianProcess::mean(const Design& design) const {
  return middle_ + spread_ * weights_.dot(covariances_with(design));
}

double GaussianProcess::deviation(const Design& design) const {
  const Eigen::VectorXd known =
      factor_.triangularView<Eigen::Lower>().solve(covariances_with(design));
  return spread_ * std::sqrt(std::max(0.0, 1 - known.squaredNorm()) * variance_);
}

}  // namespace sptc::sweep::search
