// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/kernel/hypothesis.h"
#include "sim/check/kernel/trial.h"

// What each family proposes is said where it is defined.
namespace sptc::check::kernel::hypotheses {

// Of the whole kernel.
Proposals metadata_reading(const Trial& at);
Proposals operand_layouts(const Trial& at);
Proposals pruning(const Trial& at);
Proposals operand_types(const Trial& at);
Proposals k_orders(const Trial& at);
Proposals epilogues(const Trial& at);
Proposals scales(const Trial& at);
Proposals d_types(const Trial& at);
Proposals instructions(const Trial& at);
Proposals host_sums(const Trial& at);

// Of places of D.
Proposals flipped_bits_of_d(const Trial& at);
Proposals one_word(const Trial& at);
Proposals moved_lines(const Trial& at, bool of_rows);
Proposals moved_tile(const Trial& at);
Proposals factor(const Trial& at);
Proposals factors_of_lines(const Trial& at, bool of_rows);
Proposals uncleared_accumulator(const Trial& at);

// Of operands and metadata.
Proposals nibbles_of_row(const Trial& at);
Proposals flipped_bit(const Trial& at, bool of_a);
Proposals fragments(const Trial& at);
Proposals lines_of_k_tiles(const Trial& at);
Proposals metadata_words(const Trial& at);
Proposals metadata_encoders(const Trial& at);
Proposals other_lines(const Trial& at);

// Of K.
Proposals k_ranges(const Trial& at);
Proposals repeated_slices(const Trial& at);
Proposals k_tile_sets(const Trial& at);
Proposals shifted_k_tiles(const Trial& at);
Proposals stale_k_tiles(const Trial& at);
Proposals rotated_k(const Trial& at);
Proposals stream_k(const Trial& at);

}  // namespace sptc::check::kernel::hypotheses
