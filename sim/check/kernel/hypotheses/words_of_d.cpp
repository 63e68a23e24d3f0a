// SPDX-License-Identifier: Apache-2.0
//
// One word everywhere: zeros of a CTA that did not run, or what stood in memory before.
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/mma_batch.h"

#include <bit>

namespace sptc::check::kernel::hypotheses {

using numerics::Word;

Proposals one_word(const Trial& at) {
  constexpr std::size_t kLeast = 4;
  const WrongKernel& kernel = at.kernel();
  const auto is_zero = [type = kernel.data.d_type](Word word) { return numerics::to_double(word, type) == 0; };
  std::map<Word, std::size_t> seen;
  for (const auto& [row, column] : at.strongest()) {
    const Word word = kernel.observed()(row, column);
    ++seen[is_zero(word) ? 0 : word];
  }
  if (seen.empty() || at.region().mismatches < kLeast) {
    return {};
  }
  const Word word = std::ranges::max_element(seen, {}, [](const auto& entry) { return entry.second; })->first;
  Hypothesis written{"unwritten-region",
                     fmt::format("D holds {} everywhere: nobody wrote it{}",
                                 vectors::hex_bits(word, vectors::element_bytes(kernel.data.d_type)),
                                 std::isnan(numerics::to_double(word, kernel.data.d_type))
                                     ? ", or NaN came in from padding of K or memory that nobody set"
                                     : "")};
  written.word = [word](std::size_t, std::size_t) { return word; };
  if (is_zero(word)) {  // of either sign
    written = {"zero-region", "D is zero: no thread wrote it, or its loop over K ran zero times"};
    written.word = [&kernel, is_zero](std::size_t row, std::size_t column) {
      const Word zero = kernel.observed()(row, column);
      return is_zero(zero) ? zero : 0;
    };
  }
  return {{written}, 0, true, true};
}

// Single bits of D: a cosmic ray, a race, a store that another one overtook.
Proposals flipped_bits_of_d(const Trial& at) {
  constexpr std::size_t kMost = 8;
  constexpr std::uint64_t kFar = 64;  // units in the last place
  const WrongKernel& kernel = at.kernel();
  const numerics::DataType type = kernel.data.d_type;
  const auto hex = [&](Word word) { return vectors::hex_bits(word, vectors::element_bytes(type)); };
  std::string text;
  bool could_be_rounding = numerics::info(type).is_float(), is_far = true;
  std::size_t bits = 0;
  for (const std::size_t row : at.lines(true)) {
    for (const std::size_t column : at.lines(false)) {
      const Word x = kernel.computed(row, column), y = kernel.observed()(row, column);
      if (kernel.wrong(row, column) == 0) {
        continue;
      }
      if (!std::has_single_bit(x ^ y) || ++bits > kMost) {
        return {};
      }
      const auto ulps = ulp_distance(x, y, type);
      could_be_rounding = could_be_rounding && ulps && KSample(kernel, row, column).certainty() <= 1;
      is_far = is_far && ulps.value_or(kFar) >= kFar;
      text += fmt::format("{}one bit of D[{}, {}] is flipped: bit {} ({} instead of {})", text.empty() ? "" : "; ", row,
                          column, std::countr_zero(x ^ y), hex(y), hex(x));
    }
  }
  // Many wrong elements, of which some are off by a small power of two, are of another order, and so may be few that
  // are off by no more than rounding.
  if (text.empty() || could_be_rounding || kernel.near != nullptr || (!is_far && kernel.mismatches() > kMost)) {
    return {};
  }
  Hypothesis flipped{"bit-of-d", text};
  flipped.word = [&kernel](std::size_t row, std::size_t column) { return kernel.observed()(row, column); };
  flipped.names_place = true;
  return {{flipped}, 0, true};
}

}  // namespace sptc::check::kernel::hypotheses
