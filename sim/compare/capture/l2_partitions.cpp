// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/capture/l2_partitions.h"

#include "models/base/matrix.h"

#include <cmath>
#include <map>

namespace sptc::compare::capture {
namespace {

constexpr std::size_t kLeast = 4;

/// [SM][line], means of what was measured more than once; empty unless every pair is there.
base::Matrix<double> table_of(const std::vector<LineTime>& times) {
  std::map<long long, std::size_t> sms;
  std::map<long long, std::size_t> lines;
  for (const LineTime& time : times) {
    sms.emplace(time.sm, sms.size());
    lines.emplace(time.line, lines.size());
  }
  if (sms.size() < kLeast || lines.size() < kLeast) {
    return {};
  }
  base::Matrix<double> table(sms.size(), lines.size());
  base::Matrix<double> counts(sms.size(), lines.size());
  for (const LineTime& time : times) {
    table(sms[time.sm], lines[time.line]) += time.cycles;
    counts(sms[time.sm], lines[time.line]) += 1;
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (counts.data()[i] == 0) {
      return {};
    }
    table.data()[i] /= counts.data()[i];
  }
  return table;
}

/// The table less the means of its rows and columns.
base::Matrix<double> without_means(const base::Matrix<double>& table) {
  std::vector<double> of_row(table.rows(), 0);
  std::vector<double> of_column(table.cols(), 0);
  double of_all = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    for (std::size_t j = 0; j < table.cols(); ++j) {
      of_row[i] += table(i, j) / static_cast<double>(table.cols());
      of_column[j] += table(i, j) / static_cast<double>(table.rows());
      of_all += table(i, j) / static_cast<double>(table.size());
    }
  }
  base::Matrix<double> rest(table.rows(), table.cols());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    for (std::size_t j = 0; j < table.cols(); ++j) {
      rest(i, j) = table(i, j) - of_row[i] - of_column[j] + of_all;
    }
  }
  return rest;
}

struct Sides {
  std::vector<double> of_sm, of_line;
};

/// First singular vectors, by power iteration from the line that varies most.
Sides sides_of(const base::Matrix<double>& rest) {
  constexpr int kIterations = 50;
  Sides sides{std::vector<double>(rest.rows()), std::vector<double>(rest.cols(), 0)};
  double most = -1;
  for (std::size_t j = 0; j < rest.cols(); ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < rest.rows(); ++i) {
      sum += rest(i, j) * rest(i, j);
    }
    if (sum > most) {
      most = sum;
      sides.of_line.assign(rest.cols(), 0);
      sides.of_line[j] = 1;
    }
  }
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    double norm = 0;
    for (std::size_t i = 0; i < rest.rows(); ++i) {
      sides.of_sm[i] = 0;
      for (std::size_t j = 0; j < rest.cols(); ++j) {
        sides.of_sm[i] += rest(i, j) * sides.of_line[j];
      }
      norm += sides.of_sm[i] * sides.of_sm[i];
    }
    for (std::size_t j = 0; j < rest.cols() && norm > 0; ++j) {
      sides.of_line[j] = 0;
      for (std::size_t i = 0; i < rest.rows(); ++i) {
        sides.of_line[j] += rest(i, j) * sides.of_sm[i] / std::sqrt(norm);
      }
    }
  }
  return sides;
}

}  // namespace

std::optional<L2Partitions> find_partitions(const std::vector<LineTime>& times) {
  const base::Matrix<double> table = table_of(times);
  if (table.size() == 0) {
    return std::nullopt;
  }
  const base::Matrix<double> rest = without_means(table);
  const Sides sides = sides_of(rest);
  L2Partitions result;
  result.sms = table.rows();
  result.lines = table.cols();
  std::size_t far = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    result.sms_of_one_side += sides.of_sm[i] > 0;
    for (std::size_t j = 0; j < table.cols(); ++j) {
      const bool is_far = (sides.of_sm[i] > 0) == (sides.of_line[j] > 0);
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

}  // namespace sptc::compare::capture
