// SPDX-License-Identifier: Apache-2.0
//
// The families of hypotheses, and all that their files need.
#pragma once

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/compress.h"
#include "sim/check/kernel/k_samples.h"
#include "sim/check/kernel/moved_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace sptc::check::kernel::hypotheses {

/// What a family proposes is said where it is defined.
using Propose = Proposals(const Trial& at);

// Hypotheses of the whole kernel.
Propose metadata_reading, operand_layouts, operand_types, pruning, k_orders, rounded_k_tiles, epilogues, alpha, d_types,
    instructions, host_sums;
// Hypotheses of places of D.
Propose flipped_bits_of_d, other_bits, limits, left_as_c, one_word, lines_of_d, lines_of_c, tiles_of_d, stores_of_d,
    leading_dimension_of_d, uncleared_accumulator, factor, factors_of_lines, rounded_addends;
// Hypotheses of operands and metadata.
Propose flipped_bit_of_a, flipped_bit_of_b, fragments, lines_of_k_tiles, nibbles_of_row, metadata_words,
    metadata_encoders, other_lines, rounded_operands, overrun_k, shifted_a, k_permutations;
// Hypotheses of K.
Propose k_ranges, k_tile_sets, stale_stages, shifted_k_tiles, stale_k_tiles, repeated_slices, rotated_k, stream_k;

}  // namespace sptc::check::kernel::hypotheses
