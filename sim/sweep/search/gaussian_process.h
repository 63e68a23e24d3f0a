// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sptc::sweep::search {

/// One coordinate of a design: the places of its values, or none where their order means nothing.
struct DesignAxis {
  std::vector<double> places;  ///< of each value, in [0, 1]; empty: any two are equally far apart
  std::size_t size = 0;        ///< number of values
};

/// A design as the index of a value on each axis.
using Design = std::vector<std::uint32_t>;

/// Interpolates a figure of designs: the Gaussian process (Rasmussen and Williams, Gaussian
/// Processes for Machine Learning, 2006) with the kernel
///
///     product over axes of (1 + s k(distance / l)) / (1 + s),   k: Matern 5/2
///
/// which holds the effect of every axis alone beside those of several together (Durrande et al.,
/// J. Multivariate Analysis 115, 2013): an axis whose effect jumps is learned from all designs. s
/// and l of each axis are those of the greatest likelihood that a search by doubling finds.
class GaussianProcess {
 public:
  explicit GaussianProcess(std::span<const DesignAxis> axes);

  /// Learns `figures` of `designs`, of which there are two or more. `tune`: finds s and l anew.
  void learn(std::span<const Design* const> designs, const Eigen::VectorXd& figures, bool tune);

  double mean(const Design& design) const;
  /// Standard deviation of what is not known.
  double deviation(const Design& design) const;

 private:
  struct Scale {
    double length = 1, strength = 1;
    std::vector<double> factors;  ///< of two values; empty where there are too many
  };
  void set_factors(std::size_t axis);
  double factor(std::size_t axis, std::uint32_t a, std::uint32_t b) const;
  double kernel(const Design& a, const Design& b) const;
  Eigen::MatrixXd covariances(std::span<const Design* const> designs) const;
  double log_likelihood(std::span<const Design* const> designs,
                        const Eigen::VectorXd& figures) const;
  void tune(std::span<const Design* const> designs, const Eigen::VectorXd& figures);
  Eigen::VectorXd covariances_with(const Design& design) const;

  std::span<const DesignAxis> axes_;
  std::vector<Scale> scales_;  ///< of each axis
  std::vector<const Design*> designs_;
  double middle_ = 0, spread_ = 1;  ///< of the figures
  double variance_ = 1;             ///< of the process, with the spread as unit
  Eigen::MatrixXd factor_;          ///< of the covariances (Cholesky)
  Eigen::VectorXd weights_;
};

}  // namespace sptc::sweep::search
