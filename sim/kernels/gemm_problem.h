// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/base/shape.h"
#include "models/mma/instruction.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "sim/isa/warp_instruction.h"
#include "sim/kernels/launch_conditions.h"
#include "sim/kernels/operand_storage.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <utility>

namespace sptc::kernels {

/// What one launch computes: `batch` GEMMs D[m,n] = A[m,k] B[k,n].
struct GemmProblem {
  base::GemmShape shape;
  std::int64_t batch = 1;
  numerics::DataType dtype = numerics::DataType::kF16;
  bool sparse = false;  ///< A at an N:M pattern
  /// That mma.sp executes; nothing: the hardware's for the type.
  std::optional<sparsity::Pattern> pattern = std::nullopt;
  /// V:N:M weights: rows of A that share a choice of columns; `shape.k` counts those columns of
  /// the `source_k` that A and B have. 0: all columns.
  int vector_rows = 0;
  std::int64_t source_k = 0;
  /// Share of the elements of B that are distinct in DRAM: the windows of a convolution overlap,
  /// and what they share is fetched once and found in the L2.
  double distinct_b = 1;
  /// Of D in memory; nothing: that of the operands, of integers the accumulator's.
  std::optional<numerics::DataType> d_dtype = std::nullopt;
  LaunchConditions conditions = {};
  /// What its epilogue does with an element of D beside converting and storing it [instructions of
  /// a lane]: bias, activation, scales.
  double epilogue_operations = 0;
  OperandStorage storage = {};
  /// Whether A and B, M and N have changed places: A is the activations, and B the weights.
  bool transposed = false;

  auto operator<=>(const GemmProblem&) const = default;

  /// Of integers in memory, too: an integer kernel of a library.
  bool is_integer() const { return !numerics::info(dtype).is_float() && !storage.weight; }

  bool is_weight(isa::Operand operand) const { return (operand == isa::Operand::kB) == transposed; }
  /// Share of the elements of A or B that are distinct in DRAM.
  double distinct(isa::Operand operand) const { return is_weight(operand) ? 1 : distinct_b; }

  /// The same with A and B, M and N in each other's place.
  GemmProblem turned() const {
    GemmProblem result = *this;
    std::swap(result.shape.m, result.shape.n);
    result.transposed = !transposed;
    return result;
  }

  /// A tile of the kernel with m and n where they were asked for.
  base::GemmShape as_asked(base::GemmShape tile) const {
    return transposed ? base::GemmShape{tile.n, tile.m, tile.k} : tile;
  }

  /// Bits of an element of an operand in memory.
  int bits_of(isa::Operand operand) const {
    const int bits = numerics::storage_bits(dtype);
    return operand == isa::Operand::kA ? storage.a_bits(bits) : bits;
  }
};

/// Operand values of one GEMM of the batch, as storage words.
struct GemmOperands {
  base::Matrix<numerics::Word> a;           ///< [m, k]; used when dense
  sparsity::CompressedMatrix compressed_a;  ///< used when sparse
  /// Of a pattern that no GPU has, instead of nibbles: [m, compressed k], where in its group each
  /// kept element stands.
  base::Matrix<std::uint8_t> indices;
  base::Matrix<numerics::Word> b_columns;  ///< [n, k]: column j of B is row j here (k contiguous)
};

/// How a launch cuts a GEMM into CTAs, in CUTLASS's words; slices of K ("split-K") go with the
/// first.
enum class Decomposition {
  kDataParallel,  ///< an output tile, or a slice of it, is the work of one CTA
  kStreamK,       ///< all CTAs have as many k-tiles, whichever output tiles those belong to
};

/// What a user may ask for at most, beyond what libraries have.
inline constexpr int kMaxStages = 16;
inline constexpr int kMaxSplitK = 64;
inline constexpr int kMaxClusterCtas = 16;
inline constexpr std::int64_t kMaxTileExtent = 1024;

/// Choices a user may force; the heuristic fills the rest.
struct KernelOverrides {
  std::optional<base::GemmShape> cta_tile;  ///< logical k
  std::optional<int> stages;
  std::optional<int> split_k;
  std::optional<Decomposition> decomposition = std::nullopt;
  /// Whether `cta_tile` stands for a pair of kernels, dense and sparse, that stage as many bytes of
  /// A, and its k may be that of the other one.
  bool tile_of_pair = false;
  /// Of tcgen05.mma: CTAs that share an instruction. Both kinds may have a tile of that size.
  std::optional<int> cta_group = std::nullopt;
  /// Of the instructions that run: two families may have a tile of that size.
  std::optional<mma::MmaFamily> family = std::nullopt;
  /// Among all kernels that fit the SM instead of those of the library: see kernel_search.h. With
  /// `cta_tile` the kernel that a search found, which these tell from others of that tile.
  bool search = false;
  base::GemmShape warp_tile = {};
  int swizzle = 0, cluster_ctas = 0, ctas_per_sm = 0;
  bool transposed = false;

  auto operator<=>(const KernelOverrides&) const = default;
};

}  // namespace sptc::kernels
