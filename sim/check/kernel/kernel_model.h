// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/catalogue.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"
#include "sim/check/vectors/metadata_input.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sptc::check::kernel {

/// A matrix in memory as a user's kernel finds it.
struct StoredMatrix {
  std::size_t rows = 0, cols = 0;
  bool column_major = false;
  std::vector<numerics::Word> words;  ///< rows * cols

  /// The element that a kernel sees which takes the memory as column-major or not, with `pitch` elements from one row
  /// (column) to the next; 0: as many as there are. Beyond the memory: 0.
  numerics::Word at(std::size_t row, std::size_t col, bool as_column_major, std::size_t pitch = 0) const {
    const std::size_t width = pitch > 0 ? pitch : as_column_major ? rows : cols;
    const std::size_t index = as_column_major ? col * width + row : row * width + col;
    return index < words.size() ? words[index] : 0;
  }
};

/// The operands and the result of one GEMM of a user's kernel, D[m,n] = A[m,k] B[k,n] + C[m,n].
struct KernelData {
  std::size_t m = 0, n = 0, k = 0;
  StoredMatrix a;                                  ///< [m, k]; [m, k/2] where `metadata` is given
  StoredMatrix b;                                  ///< [k, n]
  StoredMatrix d;                                  ///< [m, n]
  std::optional<StoredMatrix> c;                   ///< [m, n]; nothing: zeros
  std::vector<float> bias;                         ///< [m] or [n]; empty: none
  std::optional<vectors::MetadataInput> metadata;  ///< shape [1, elements]; kIndices: [1, m, k/2]
  numerics::DataType c_type = numerics::DataType::kF32, d_type = numerics::DataType::kF32;

  bool is_compressed() const { return metadata.has_value(); }
};

/// Neighbouring fields of so many bits of metadata that are exchanged before it is read.
enum class Scramble {
  kNone = 0,
  kSwappedIndices = 2,
  kSwappedNibbles = 4,
  kSwappedBytes = 8,
  kSwappedHalves = 16,
  kSwappedWords = 32,
  kIgnored = 64,  ///< metadata is not read at all: the first positions of every group
};

/// What a dense A becomes before a sparse instruction reads it.
enum class Pruning {
  kGiven,      ///< it is legal as it is
  kMagnitude,  ///< the largest of each group stay (sparsity::prune_by_magnitude)
  kZeroSigns,  ///< it is legal, but a compressor keeps the first that are not +0: -0.0 takes a place
  kSmallest,   ///< the smallest stay
  kAlongM,     ///< by magnitude, in groups along M instead of K
  kHalved,     ///< by magnitude, half as many per group (1:4 instead of 2:4)
  kNone,       ///< not pruned, executed by a dense instruction
};

/// How a kernel takes its memory for operands.
struct Reading {
  bool a_column_major = false, b_column_major = false, c_column_major = false, d_column_major = false;
  std::size_t a_pitch = 0, b_pitch = 0, c_pitch = 0;  ///< see StoredMatrix::at
  vectors::MetadataLayout layout = vectors::MetadataLayout::kCanonical;
  int selector = 0;
  Scramble scramble = Scramble::kNone;
  Pruning pruning = Pruning::kGiven;

  bool operator==(const Reading&) const = default;
};

/// The order in which the accumulators of the slices of K are added. Serial: each sum is rounded to D's type. Parallel:
/// in the accumulator's type, rounded once. Tree: pairs of neighbours, then pairs of pairs, in the accumulator's type.
/// Chained: each slice starts from the sum before it, rounded to D's type.
enum class Reduction { kSerial, kSerialReversed, kParallel, kParallelReversed, kTree, kChained };
inline constexpr std::array<std::string_view, 6> kReductions{
    "serial", "serial-reversed", "parallel", "parallel-reversed", "tree", "chained"};
inline std::string_view name(Reduction reduction) {
  return kReductions[static_cast<std::size_t>(reduction)];
}

/// The order in which a kernel adds along K.
struct KOrder {
  int slices = 1;              ///< split-K, with an accumulator each
  int granule = 0;             ///< slices are whole multiples of it, in logical k; 0: the instruction's depth
  bool interleaved = false;    ///< slice s takes granules s, s + slices, ... (sliced-K of warps)
  bool decreasing = false;     ///< the steps of a slice run from its end to its beginning
  bool c_in_epilogue = false;  ///< C is added to the sum; else the first slice starts from it
  int repeated_slice = -1;     ///< that is added twice; -1: none
  int cut = 0;                 ///< k at which a second accumulator begins (stream-K); 0: none
  Reduction reduction = Reduction::kSerial;

  bool operator==(const KOrder&) const = default;
};

/// How the last conversion makes D's type of the sum. Saturating: overflow becomes the largest number. Flushing:
/// subnormal numbers become zero.
enum class Narrowing { kNearestEven, kTowardZero, kTiesAway, kSaturating, kFlushing };
enum class Activation { kNone, kRelu };

/// What follows the sum over K. In f32, each operation rounded to nearest even: y = fma(alpha', sum, beta C) with
/// alpha' = alpha scale_a scale_b; y += bias; y = activation(y); D = scale_d y.
struct Epilogue {
  float alpha = 1, beta = 1;
  float scale_a = 1, scale_b = 1, scale_d = 1;
  int c_times = 1, bias_times = 1;  ///< how often C and the bias are added; 2: once more at the end; -1: subtracted
  bool bias_of_columns = false;
  int bias_shift = 0;  ///< a line takes the bias of so many lines on, around the end
  bool bias_after_activation = false;
  bool bias_before_alpha = false;  ///< alpha' multiplies the sum with the bias
  Activation activation = Activation::kNone;
  /// Types to which the sum is rounded before all that, and the bias before it is added.
  std::optional<numerics::DataType> through = std::nullopt, bias_through = std::nullopt;
  Narrowing narrowing = Narrowing::kNearestEven;

  bool operator==(const Epilogue&) const = default;
};

enum class KernelArithmetic {
  kTensorCore,
  kFmaChain,  ///< f32 fused multiply-adds in increasing k, as CUDA cores execute them
  kExact,     ///< one float64 sum, rounded once: what a reference on the host computes
};

/// Everything that decides the bits of D.
struct KernelModel {
  Reading reading;
  mma::MmaInstruction instruction;
  mma::StepRules rules;
  KernelArithmetic arithmetic = KernelArithmetic::kTensorCore;
  KOrder order;
  Epilogue epilogue;
};

/// Rows and columns of D.
struct Selection {
  std::vector<std::size_t> rows, columns;

  std::size_t elements() const { return rows.size() * columns.size(); }
  static Selection all(const KernelData& data);
  /// Calls `visit(row, column)` or `visit(row, column, i, j)` for D[row, column], element [i, j] of the selection.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        if constexpr (std::is_invocable_v<Visit, std::size_t, std::size_t>) {
          visit(rows[i], columns[j]);
        } else {
          visit(rows[i], columns[j], i, j);
        }
      }
    }
  }
};

/// The operands of a selection of D in matrix order.
struct KernelOperands {
  base::Matrix<numerics::Word> a;          ///< [rows, k], sparse: [rows, compressed k]
  base::Matrix<std::uint8_t> nibbles;      ///< sparse: [rows, groups], valid or not
  base::Matrix<numerics::Word> b_columns;  ///< [columns, k]
  base::Matrix<numerics::Word> c;          ///< [rows, columns], in the type of C; empty: zeros
  base::Matrix<float> bias;                ///< [rows, columns]; empty: none
  base::Matrix<numerics::Word> d;          ///< [rows, columns], what the kernel returned
};

/// Parts of K that are multiplied with each other, one after the other: `count` units of A from `a` and of B from `b`;
/// negative: zeros. A unit is a group of the pattern of a sparse instruction, one k of a dense one.
struct KPart {
  std::int64_t a, b;
  std::size_t count;
};
using KMap = std::vector<KPart>;

/// Logical k of a unit.
std::size_t unit_of(const mma::MmaInstruction& instruction);
/// A, its metadata and B as a kernel by `map` multiplies them.
KernelOperands rearranged(const KernelOperands& operands, const KMap& map, const mma::MmaInstruction& instruction);

/// Reads the memory as `model` does. Throws InputError where it cannot be read so.
KernelOperands arrange(const KernelData& data, const KernelModel& model, const Selection& selection);
/// Whether both models arrange the same operands from the same memory.
bool reads_alike(const KernelModel& a, const KernelModel& b);
/// The part of `operands`, which are of all of D, that `selection` needs.
KernelOperands taken(const KernelOperands& operands, const Selection& selection);
/// Where in K each stored element of row `row` of A stands.
std::vector<std::size_t> positions_in_k(const KernelModel& model, const KernelOperands& operands, std::size_t row);

/// What `epilogue` makes of a sum in exact arithmetic; `c` and `bias` as they are.
double epilogue_value(const Epilogue& epilogue, double sum, double c, double bias);
/// The words of D [rows, columns], in `data.d_type`, that `model` computes from `operands`.
base::Matrix<numerics::Word> execute(const KernelData& data, const KernelModel& model, const KernelOperands& operands,
                                     int threads = 1);

}  // namespace sptc::check::kernel
