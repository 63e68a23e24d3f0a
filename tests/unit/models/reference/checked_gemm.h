// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/random.h"
#include "models/mma/dot_step.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/codec.h"
#include "models/reference/checker.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string_view>

namespace sptc::reference {

/// The value of element i of a matrix, row-major.
using Generator = std::function<double(std::uint64_t)>;

inline Generator normal(std::uint64_t seed) {
  return [stream = base::RandomStream(seed)](std::uint64_t i) { return stream.normal(i); };
}
inline Generator non_negative(std::uint64_t seed) {
  return [stream = base::RandomStream(seed)](std::uint64_t i) { return std::fabs(stream.normal(i)); };
}

/// One dense GEMM with D by the plain arithmetic of a generation beside it.
struct Gemm {
  mma::MmaInstruction instruction;
  mma::StepRules rules;
  base::Matrix<numerics::Word> a, b_columns, d;
  BlockFma arithmetic;

  Gemm(std::string_view numerics, const mma::MmaInstruction& which, std::size_t m, std::size_t n, std::size_t k,
       const Generator& a_value, const Generator& b_value)
      : instruction(which),
        rules(mma::step_rules(numerics, which)),
        a(m, k),
        b_columns(n, k),
        d(m, n),
        arithmetic{rules.products_per_step,   rules.fraction_bits, rules.exponent_floor, rules.products_per_step,
                   rules.cleared_output_bits, rules.output,        rules.lowered_fp8} {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a.data()[i] = numerics::from_double(a_value(i), instruction.a_type);
    }
    for (std::size_t i = 0; i < b_columns.size(); ++i) {
      b_columns.data()[i] = numerics::from_double(b_value(i), instruction.b_type);
    }
    compute();
  }
  /// On an A100.
  Gemm(numerics::DataType operand, std::size_t m, std::size_t n, std::size_t k, const Generator& a_value,
       const Generator& b_value)
      : Gemm("ampere", mma::gemm_instruction(operand, false), m, n, k, a_value, b_value) {}

  void compute() {
    for (std::size_t i = 0; i < d.rows(); ++i) {
      for (std::size_t j = 0; j < d.cols(); ++j) {
        d(i, j) = mma::dense_dot(a.row(i), b_columns.row(j), 0, instruction, rules);
      }
    }
  }

  GemmInputs inputs() const { return {instruction.a_type, &a, &b_columns, nullptr}; }
  Findings check() const { return check_against_reference(inputs(), arithmetic, d, instruction.accumulator); }
};

}  // namespace sptc::reference
