// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/catalogue.h"
#include "models/numerics/word.h"
#include "sim/check/kernel/kernel_model.h"
#include "sim/check/kernel/region_trial.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::check::kernel {

/// A way in which a kernel may differ from what it is said to be.
struct Alternative {
  std::string cause;  ///< one word for programs: "split-k", "metadata-layout", ...
  std::string text;   ///< a sentence for people
  KernelModel model;
};

/// Every single change of `from` that a kernel over `data` on `target` may have made; simple and
/// frequent ones first. Results that cannot differ are listed once.
std::vector<Alternative> alternatives(const KernelData& data, const KernelModel& from,
                                      const mma::Target& target);

/// Those of them that change the epilogue: C, bias, activation, scales, and how D's type is made.
std::vector<Alternative> epilogue_alternatives(const KernelData& data, const KernelModel& from);

/// A fault of one place, not of the method.
struct LocalFault {
  std::string_view cause;  ///< "bit-of-d", "bit-of-a", "bit-of-b", "metadata-nibble"
  std::string text;        ///< where and what, in words
  /// Whether a difference of another kind would look the same: single units in the last place.
  bool could_be_rounding = false;
};

/// Where few elements differ: the one flipped bit of D, the flipped bit of an element of A or B, or
/// the changed nibble of metadata that explains every word of `operands.d` bit for bit. `operands`
/// and `computed` are of all of D. Nothing where differences are not in one or two rows or columns,
/// or nothing fits.
std::optional<LocalFault> find_local_fault(const KernelData& data, const KernelModel& model,
                                           const KernelOperands& operands,
                                           const base::Matrix<numerics::Word>& computed);

/// Line `first` has what belongs to line `second`.
using LineMap = std::vector<std::pair<std::size_t, std::size_t>>;

/// Whether the lines of `map` exchange places among each other.
bool is_permutation(const LineMap& map);
/// c where every line i has what belongs to i ^ c; s where to i + s. `map` must not be empty.
std::optional<std::size_t> common_flip(const LineMap& map);
std::optional<std::ptrdiff_t> common_shift(const LineMap& map);
/// "rows 3 and 11 are exchanged", "rows 64 to 127 hold rows 0 to 63", "row i holds row i ^ 8 ...";
/// `unit`: "row", "column".
std::string describe_moved(const LineMap& map, std::string_view unit);

// Each of these explains every element of a region bit for bit, or finds nothing.

/// The region holds one value: zero, or another word that nothing computes.
std::optional<RegionFault> find_constant(const RegionTrial& trial);
/// Rows, columns or a tile of the region stand elsewhere in the computed D; or it is transposed.
std::optional<RegionFault> find_moved(const RegionTrial& trial);
/// The region is the computed one times a constant, or each of its rows or columns is.
std::optional<RegionFault> find_factor(const RegionTrial& trial);

/// How fragments come from shared memory: 8 x 8 blocks of A or B that are transposed, or 16-byte
/// chunks that a swizzle moved and nobody moved back.
std::optional<RegionFault> find_fragment_fault(const RegionTrial& trial);
/// In one k-tile lines of A, or of B, are other lines.
std::optional<RegionFault> find_moved_lines_of_a_tile(const RegionTrial& trial);
/// Accumulators of the region that begin with what another tile of D left in them.
std::optional<RegionFault> find_uncleared_accumulator(const RegionTrial& trial);

/// Of a sparse instruction: words of metadata that are exchanged or late, the other order of
/// PyTorch's encoders.
std::optional<RegionFault> find_metadata_fault(const RegionTrial& trial);
/// Lines of operands that are others': metadata or values of rows of a sparse A, and where C or a
/// bias keeps whole lines of D from being equal, rows of A or columns of B.
std::optional<RegionFault> find_moved_operand(const RegionTrial& trial);

/// A part of K that the region lacks or has twice, or k-tiles of A or B that meet the wrong ones:
/// stale, exchanged, shifted.
std::optional<RegionFault> find_k_fault(const RegionTrial& trial);
/// K-tiles that are summed in another order, with the right ones of A and B together.
std::optional<RegionFault> find_k_order(const RegionTrial& trial);

}  // namespace sptc::check::kernel
