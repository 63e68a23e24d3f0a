// SPDX-License-Identifier: Apache-2.0
#include "sim/check/capture/l2_partitions.h"

#include <Eigen/Dense>

#include <map>

namespace sptc::check::capture {
namespace {

/// [SM, line], means of what was measured more than once; empty unless every pair is there.
Eigen::MatrixXd table_of(const std::vector<LineTime>& times) {
  constexpr Eigen::Index kLeast = 4;
  std::map<long long, Eigen::Index> sms, lines;
  for (const LineTime& time : times) {
    sms.emplace(time.sm, static_cast<Eigen::Index>(sms.size()));
    lines.emplace(time.line, static_cast<Eigen::Index>(lines.size()));
  }
  const auto rows = static_cast<Eigen::Index>(sms.size());
  const auto columns = static_cast<Eigen::Index>(lines.size());
  if (rows < kLeast || columns < kLeast) {
    return {};
  }
  Eigen::MatrixXd table = Eigen::MatrixXd::Zero(rows, columns);
  Eigen::MatrixXd counts = table;
  for (const LineTime& time : times) {
    table(sms[time.sm], lines[time.line]) += time.cycles;
    counts(sms[time.sm], lines[time.line]) += 1;
  }
  if (counts.minCoeff() == 0) {
    return {};
  }
  return table.cwiseQuotient(counts);
}

struct Sides {
  Eigen::VectorXd of_sm, of_line;
};

/// First singular vectors, by power iteration from the line that varies most.
Sides sides_of(const Eigen::MatrixXd& rest) {
  constexpr int kIterations = 50;
  Eigen::Index most = 0;
  rest.colwise().squaredNorm().maxCoeff(&most);
  Sides sides;
  sides.of_line = Eigen::VectorXd::Unit(rest.cols(), most);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    sides.of_sm = rest * sides.of_line;
    if (const double norm = sides.of_sm.norm(); norm > 0) {
      sides.of_line = rest.transpose() * sides.of_sm / norm;
    }
  }
  return sides;
}

}  // namespace

std::optional<L2Partitions> find_partitions(const std::vector<LineTime>& times) {
  const Eigen::MatrixXd table = table_of(times);
  if (table.size() == 0) {
    return std::nullopt;
  }
  Eigen::MatrixXd rest = table;  // less the means of its rows and columns
  rest.colwise() -= table.rowwise().mean();
  rest.rowwise() -= table.colwise().mean();
  rest.array() += table.mean();
  const Sides sides = sides_of(rest);
  L2Partitions result;
  result.sms = static_cast<std::size_t>(table.rows());
  result.lines = static_cast<std::size_t>(table.cols());
  Eigen::Index far = 0;
  for (Eigen::Index i = 0; i < table.rows(); ++i) {
    result.sms_of_one_side += sides.of_sm(i) > 0;
    for (Eigen::Index j = 0; j < table.cols(); ++j) {
      const bool is_far = (sides.of_sm(i) > 0) == (sides.of_line(j) > 0);
      far += is_far;
      (is_far ? result.far_cycles : result.near_cycles) += table(i, j);
      result.fitting += (rest(i, j) > 0) == is_far ? 1.0 / static_cast<double>(table.size()) : 0.0;
    }
  }
  if (far == 0 || far == table.size()) {
    result.fitting = 0;  // all the same
    return result;
  }
  result.far_cycles /= static_cast<double>(far);
  result.near_cycles /= static_cast<double>(table.size() - far);
  return result;
}

}  // namespace sptc::check::capture
