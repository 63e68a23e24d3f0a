// SPDX-License-Identifier: Apache-2.0
#include "models/reference/checker.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sptc::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Edge of the blocks of D that are referenced at once: a few 32 KiB arrays of doubles.
constexpr std::size_t kBlockEdge = 64;

/// Records one compared element with a definite expectation.
void record(Findings& findings, double error, double bound, bool wrong, const Violation& violation) {
  ++findings.elements;
  const double ratio = error == 0 ? 0 : (bound == 0 ? kInfinity : error / bound);
  if (error > findings.worst_error || findings.elements == 1) {
    findings.worst_error = error;
    findings.bound_at_worst = bound;
  }
  findings.worst_ratio = std::max(findings.worst_ratio, ratio);
  if (wrong) {
    ++findings.mismatches;
    if (!findings.first_violation) {
      findings.first_violation = violation;
    }
  }
}

/// The value that a non-finite expectation stands for.
double special_value(Expectation expectation) {
  return expectation == Expectation::kPositiveInfinity   ? kInfinity
         : expectation == Expectation::kNegativeInfinity ? -kInfinity
                                                         : std::numeric_limits<double>::quiet_NaN();
}

void compare_block(const Reference& reference, const Block& block, const base::Matrix<numerics::Word>& d,
                   numerics::DataType d_type, Findings& findings) {
  for (std::size_t i = 0; i < block.rows; ++i) {
    for (std::size_t j = 0; j < block.cols; ++j) {
      const numerics::Word word = d(block.row + i, block.col + j);
      const double got = numerics::to_double(word, d_type);
      const Expectation expectation = reference.expectation(i, j);
      if (expectation == Expectation::kUndecided) {
        ++findings.elements;
        ++findings.undecided;
        continue;
      }
      const bool finite = expectation == Expectation::kWithinBound;
      const double value = finite ? reference.value(i, j) : special_value(expectation);
      const double bound = finite ? reference.bound(i, j) : 0;
      const bool same = std::isnan(value) ? std::isnan(got) : got == value;
      const double error = same ? 0 : finite && std::isfinite(got) ? std::fabs(got - value) : kInfinity;
      record(findings, error, bound, error > bound,
             {block.row + i, block.col + j, word, numerics::from_double(value, d_type)});
    }
  }
}

}  // namespace

void Findings::add(const Findings& other) {
  if (other.worst_error > worst_error || elements == 0) {
    worst_error = other.worst_error;
    bound_at_worst = other.bound_at_worst;
  }
  worst_ratio = std::max(worst_ratio, other.worst_ratio);
  elements += other.elements;
  mismatches += other.mismatches;
  undecided += other.undecided;
  if (!first_violation) {
    first_violation = other.first_violation;
  }
}

Findings check_against_reference(const GemmInputs& inputs, const BlockFma& arithmetic,
                                 const base::Matrix<numerics::Word>& d, numerics::DataType d_type) {
  base::ensure(d.rows() == inputs.a->rows() && d.cols() == inputs.b_columns->rows(),
               "checker: D has not the shape of A B");
  Findings findings;
  for (std::size_t row = 0; row < d.rows(); row += kBlockEdge) {
    for (std::size_t col = 0; col < d.cols(); col += kBlockEdge) {
      const Block block{row, std::min(kBlockEdge, d.rows() - row), col, std::min(kBlockEdge, d.cols() - col)};
      compare_block(multiply(inputs, arithmetic, block), block, d, d_type, findings);
    }
  }
  return findings;
}

Findings check_bits(const base::Matrix<numerics::Word>& d, const base::Matrix<numerics::Word>& expected,
                    numerics::DataType d_type) {
  base::ensure(d.rows() == expected.rows() && d.cols() == expected.cols(),
               "checker: D and the expected words differ in shape");
  Findings findings;
  for (std::size_t i = 0; i < d.rows(); ++i) {
    for (std::size_t j = 0; j < d.cols(); ++j) {
      const double difference =
          std::fabs(numerics::to_double(d(i, j), d_type) - numerics::to_double(expected(i, j), d_type));
      const bool wrong = d(i, j) != expected(i, j);
      // NaN against anything else has no distance; equal words have distance 0, NaN and infinity
      // included.
      const double error = !wrong ? 0 : (std::isnan(difference) ? kInfinity : difference);
      record(findings, error, 0, wrong, {i, j, d(i, j), expected(i, j)});
    }
  }
  return findings;
}

}  // namespace sptc::reference
