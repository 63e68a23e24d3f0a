// SPDX-License-Identifier: Apache-2.0
//
// A flipped bit of an element of A, which a row of D shows, or of B, which a column does.
#include "models/numerics/codec.h"
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/kernel/k_samples.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/mma_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel::hypotheses {
namespace {

using numerics::DataType;
using numerics::Word;

/// What each element of the line of an operand is multiplied with in D[row, column].
std::vector<double> multipliers(const WrongKernel& kernel, std::size_t row, std::size_t column,
                                bool of_a) {
  if (!of_a) {
    return row_in_k(kernel, row);
  }
  std::vector<double> result;
  for (const std::size_t k : positions_in_k(kernel.model, kernel.operands, row)) {
    result.push_back(
        numerics::to_double(kernel.operands.b_columns(column, k), kernel.model.instruction.b_type));
  }
  return result;
}

struct Flip {
  std::size_t t;  ///< stored element of A, or k of B
  int bit;
  double misfit;  ///< of the element of D that it was chosen by
};

/// Flips that change D[row, column] by about what it is off, best first.
std::vector<Flip> fitting_flips(const WrongKernel& kernel, std::size_t row, std::size_t column,
                                bool of_a) {
  constexpr std::size_t kMost = 512;
  const mma::MmaInstruction& instruction = kernel.model.instruction;
  const DataType type = of_a ? instruction.a_type : instruction.b_type;
  const double got = numerics::to_double(kernel.observed()(row, column), kernel.data.d_type);
  const double want = numerics::to_double(kernel.computed(row, column), kernel.data.d_type);
  const bool finite = std::isfinite(got) && std::isfinite(want);
  // What rounding may hide.
  const double slack =
      0.05 * std::fabs(got - want) + std::ldexp(std::fabs(got) + std::fabs(want), -8);
  const std::vector<double> by = multipliers(kernel, row, column, of_a);
  std::vector<Flip> flips;
  for (std::size_t t = 0; t < by.size(); ++t) {
    const Word word = of_a ? kernel.operands.a(row, t) : kernel.operands.b_columns(column, t);
    for (int bit = 0; bit < numerics::storage_bits(type); ++bit) {
      const double before = numerics::to_double(word, type);
      const double after = numerics::to_double(word ^ (Word{1} << bit), type);
      const double misfit = std::fabs((after - before) * by[t] - (got - want));
      if (!finite ? !std::isfinite(after) : misfit <= slack) {
        flips.push_back({t, bit, finite ? misfit : 0});
      }
    }
  }
  std::ranges::sort(flips, {}, &Flip::misfit);
  flips.resize(std::min(flips.size(), kMost));
  return flips;
}

}  // namespace

Proposals flipped_bit(const Trial& at, bool of_a) {
  const WrongKernel& kernel = at.kernel();
  if (at.strongest().empty()) {
    return {};
  }
  const auto [row, column] = at.strongest().front();
  const std::size_t line = of_a ? row : column;
  const mma::MmaInstruction& instruction = kernel.model.instruction;
  const DataType type = of_a ? instruction.a_type : instruction.b_type;
  const auto words = (of_a ? kernel.operands.a : kernel.operands.b_columns).row(line);
  const auto hex = [&](Word word) { return vectors::hex_bits(word, vectors::element_bytes(type)); };
  Proposals proposals;
  for (const Flip& flip : fitting_flips(kernel, row, column, of_a)) {
    const Word flipped = words[flip.t] ^ (Word{1} << flip.bit);
    const std::string place = of_a
                                  ? fmt::format("row {}, {} {}", line,
                                                instruction.sparse ? "stored element" : "k", flip.t)
                                  : fmt::format("k {}, column {}", flip.t, line);
    Hypothesis hypothesis{
        of_a ? "bit-of-a" : "bit-of-b",
        fmt::format("one bit of {} is flipped: {}, bit {} ({} instead of {})", of_a ? "A" : "B",
                    place, flip.bit, hex(flipped), hex(words[flip.t]))};
    hypothesis.change = [of_a, t = flip.t, flipped](KernelOperands& operands, const Selection&) {
      (of_a ? operands.a : operands.b_columns)(0, t) = flipped;
    };
    hypothesis.names_place = true;
    proposals.list.push_back(std::move(hypothesis));
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
