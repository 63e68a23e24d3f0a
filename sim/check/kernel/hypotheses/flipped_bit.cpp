// SPDX-License-Identifier: Apache-2.0
//
// A flipped bit of an element of A, which a row of D shows, or of B, which a column does.
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/mma_batch.h"

namespace sptc::check::kernel::hypotheses {
namespace {

using numerics::Word;

struct Flip {
  std::size_t t;  ///< stored element of A, or k of B
  int bit;
  double misfit;  ///< of the element of D that it was chosen by
};

/// Flips that change D[row, column] by about what it is off, best first.
std::vector<Flip> fitting_flips(const WrongKernel& kernel, std::size_t row, std::size_t column, bool of_a) {
  constexpr std::size_t kMost = 512;
  const mma::MmaInstruction& instruction = kernel.model.instruction;
  const numerics::DataType type = of_a ? instruction.a_type : instruction.b_type;
  const double got = kernel.observed_value(row, column), want = kernel.computed_value(row, column);
  const bool finite = std::isfinite(got) && std::isfinite(want);
  // What rounding may hide.
  const double slack = 0.05 * std::fabs(got - want) + std::ldexp(std::fabs(got) + std::fabs(want), -8);
  const std::vector<std::size_t> positions = positions_in_k(kernel.model, kernel.operands, row);
  const std::vector<double> a = row_in_k(kernel, row), b = column_in_k(kernel, column);
  std::vector<Flip> flips;
  for (std::size_t t = 0; t < (of_a ? positions.size() : b.size()); ++t) {
    const double by = of_a ? b[positions[t]] : a[t];
    const Word word = of_a ? kernel.operands.a(row, t) : kernel.operands.b_columns(column, t);
    const double before = numerics::to_double(word, type);
    for (int bit = 0; bit < numerics::storage_bits(type); ++bit) {
      const double after = numerics::to_double(word ^ (Word{1} << bit), type);
      const double misfit = std::fabs((after - before) * by - (got - want));
      if (!finite ? !std::isfinite(after) : misfit <= slack) {
        flips.push_back({t, bit, finite ? misfit : 0});
      }
    }
  }
  std::ranges::sort(flips, {}, &Flip::misfit);
  flips.resize(std::min(flips.size(), kMost));
  return flips;
}

Proposals flipped_bit(const Trial& at, bool of_a) {
  const WrongKernel& kernel = at.kernel();
  Proposals proposals;
  if (at.strongest().empty()) {
    return proposals;
  }
  const auto [row, column] = at.strongest().front();
  const std::size_t line = of_a ? row : column;
  const mma::MmaInstruction& instruction = kernel.model.instruction;
  const int bytes = vectors::element_bytes(of_a ? instruction.a_type : instruction.b_type);
  const auto words = (of_a ? kernel.operands.a : kernel.operands.b_columns).row(line);
  for (const Flip& flip : fitting_flips(kernel, row, column, of_a)) {
    const Word flipped = words[flip.t] ^ (Word{1} << flip.bit);
    const std::string place =
        of_a ? fmt::format("row {}, {} {}", line, instruction.sparse ? "stored element" : "k", flip.t)
             : fmt::format("k {}, column {}", flip.t, line);
    Hypothesis hypothesis{
        of_a ? "bit-of-a" : "bit-of-b",
        fmt::format("one bit of {} is flipped: {}, bit {} ({} instead of {})", of_a ? "A" : "B", place, flip.bit,
                    vectors::hex_bits(flipped, bytes), vectors::hex_bits(words[flip.t], bytes))};
    hypothesis.change = [of_a, t = flip.t, flipped](KernelOperands& operands, const Selection&) {
      (of_a ? operands.a : operands.b_columns)(0, t) = flipped;
    };
    hypothesis.names_place = true;
    proposals.list.push_back(std::move(hypothesis));
  }
  return proposals;
}

}  // namespace

Proposals flipped_bit_of_a(const Trial& at) {
  return flipped_bit(at, true);
}

Proposals flipped_bit_of_b(const Trial& at) {
  return flipped_bit(at, false);
}

}  // namespace sptc::check::kernel::hypotheses
