// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

std::span<const Family> families() {
  constexpr bool kLong = true;
  static constexpr auto kFamilies = std::to_array<Family>({
      {Reach::kKernel, metadata_reading, kLong},
      {Reach::kKernel, operand_layouts, kLong},
      {Reach::kKernel, pruning, kLong},
      {Reach::kKernel, operand_types, kLong},
      {Reach::kKernel, k_orders, kLong},
      {Reach::kKernel, rounded_k_tiles, kLong},
      {Reach::kKernel, epilogues, kLong},
      {Reach::kKernel, alpha, kLong},
      {Reach::kKernel, d_types, kLong},
      {Reach::kKernel, instructions, kLong},
      {Reach::kKernel, host_sums, kLong},
      {Reach::kPlace, flipped_bits_of_d},
      {Reach::kRow, nibbles_of_row},
      {Reach::kRow, flipped_bit_of_a},
      {Reach::kColumn, flipped_bit_of_b},
      {Reach::kPlace, other_bits},
      {Reach::kPlace, left_as_c},
      {Reach::kPlace, one_word},
      {Reach::kPlace, lines_of_d},
      {Reach::kPlace, tiles_of_d},
      {Reach::kPlace, factor},
      {Reach::kPlace, factors_of_lines},
      {Reach::kPlace, rounded_addends},
      {Reach::kPlace, rounded_operands},
      {Reach::kPlace, lines_of_c},
      {Reach::kPlace, shifted_a},
      {Reach::kPlace, overrun_k},
      {Reach::kPlace, fragments},
      {Reach::kPlace, k_permutations},
      {Reach::kPlace, uncleared_accumulator},
      {Reach::kPlace, k_ranges},
      {Reach::kPlace, repeated_slices},
      {Reach::kPlace, k_tile_sets},
      {Reach::kPlace, shifted_k_tiles},
      {Reach::kPlace, stale_k_tiles},
      {Reach::kPlace, metadata_encoders},
      {Reach::kPlace, metadata_words},
      {Reach::kPlace, other_lines},
      {Reach::kPlace, lines_of_k_tiles},
      {Reach::kPlace, stores_of_d, kLong},
      {Reach::kPlace, limits, kLong},
      {Reach::kPlace, leading_dimension_of_d, kLong},
      {Reach::kPlace, stale_stages, kLong},
      {Reach::kPlace, rotated_k, kLong},
      {Reach::kPlace, stream_k, kLong},
  });
  return kFamilies;
}

}  // namespace sptc::check::kernel::hypotheses
