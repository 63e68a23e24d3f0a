// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "models/sparsity/pattern.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace sptc::mma {

/// The PTX instructions that run on tensor cores.
enum class MmaFamily {
  kMma,      ///< mma.sync, mma.sp.sync
  kWgmma,    ///< wgmma.mma_async (sm_90a)
  kTcgen05,  ///< tcgen05.mma (sm_100a): shape and types stand in its instruction descriptor
};

/// Warps that run an asynchronous instruction together.
inline constexpr int kWarpsPerWarpgroup = 4;

/// "mma.sync", "wgmma", "tcgen05.mma".
std::string_view name(MmaFamily family);

/// What PTX calls the groups of types that have block scales.
enum class ScaledKind {
  kMxf8f6f4,  ///< floats of 8, 6 and 4 bits
  kMxf4,      ///< e2m1
  kMxf4nvf4,  ///< e2m1
};

/// "mxf8f6f4", "mxf4", "mxf4nvf4".
constexpr std::string_view name(ScaledKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"mxf8f6f4", "mxf4", "mxf4nvf4"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// The scales of an instruction: every `block` elements of a row of A as stored, and the elements
/// of B that they meet, have one each.
struct BlockScales {
  ScaledKind kind = ScaledKind::kMxf8f6f4;
  numerics::ScaleType type = numerics::ScaleType::kUe8m0;
  int block = 32;

  bool operator==(const BlockScales&) const = default;
};

/// All that PTX has. The second and the third are the same under two names.
inline constexpr BlockScales kMxf8f6f4Scales{ScaledKind::kMxf8f6f4, numerics::ScaleType::kUe8m0, 32};
inline constexpr BlockScales kMxf4Scales{ScaledKind::kMxf4, numerics::ScaleType::kUe8m0, 32};
inline constexpr std::array kMxf4nvf4Scales{BlockScales{ScaledKind::kMxf4nvf4, numerics::ScaleType::kUe8m0, 32},
                                            BlockScales{ScaledKind::kMxf4nvf4, numerics::ScaleType::kUe8m0, 16},
                                            BlockScales{ScaledKind::kMxf4nvf4, numerics::ScaleType::kUe4m3, 16}};
/// Those of nvfp4.
inline constexpr BlockScales kNvf4Scales = kMxf4nvf4Scales.back();

/// Rows, columns and logical depth of one matrix instruction.
struct MmaShape {
  int m = 0;
  int n = 0;
  int k = 0;

  bool operator==(const MmaShape&) const = default;
  /// "m16n8k16"
  std::string name() const { return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k); }
};

/// What b1 elements are combined with before their bits are counted.
enum class BitOperation { kXor, kAnd };

/// The mma instruction that a tensor core is built around. The default is PTX's.
struct MmaDesign {
  int m = 16, n = 8;
  int a_bytes_per_row = 32;
  bool operator==(const MmaDesign&) const = default;
};

/// One matrix instruction D[m,n] = A[m,k] B[k,n] + C[m,n]. With `sparse`, A holds the kept elements
/// of each row and a metadata operand selects the rows of B that they meet.
struct MmaInstruction {
  MmaShape shape;
  numerics::DataType a_type;
  numerics::DataType b_type;
  numerics::DataType accumulator;  ///< type of D, and of C unless `addend` says otherwise
  bool sparse = false;
  MmaFamily family = MmaFamily::kMma;
  std::optional<numerics::DataType> addend = std::nullopt;  ///< C of m8n8k4: f16 beside an f32 D
  bool satfinite = false;                            ///< integers: one clamp of the exact sum instead of wrapping
  std::optional<BlockScales> scales = std::nullopt;  ///< of block-scaled instructions
  std::optional<BitOperation> bit_operation = std::nullopt;  ///< b1 only
  /// The pattern of a sparse instruction that no GPU has; else the hardware's for the type.
  std::optional<sparsity::Pattern> pattern = std::nullopt;
  /// Spelt .sp::ordered_metadata; block-scaled mma.sp, which always is, has false. Not of others
  /// than mma.
  bool ordered_metadata = false;

  bool operator==(const MmaInstruction&) const = default;

  /// Whether it multiplies straight from shared memory, for warps that go on meanwhile: wgmma and
  /// tcgen05.mma.
  bool is_asynchronous() const { return family != MmaFamily::kMma; }
  /// Warps that run it together.
  int warps() const { return is_asynchronous() ? kWarpsPerWarpgroup : 1; }
  numerics::DataType c_type() const { return addend.value_or(accumulator); }
  sparsity::Pattern sparse_pattern() const { return pattern.value_or(sparsity::hardware_pattern(a_type)); }
  /// Elements of A per row: k, or the kept ones where sparse.
  int compressed_k() const {
    const int halves = sparse ? shape.k / 2 : shape.k;
    return pattern ? shape.k / pattern->group * pattern->kept : halves;
  }
  int b_elements() const { return shape.n * shape.k; }
  int metadata_bits_per_row() const;
  int macs() const { return shape.m * shape.n * compressed_k(); }  ///< executed
  /// Whether the indices of a group of A must rise, else D is undefined (PTX ISA, mma.sp).
  bool needs_order() const { return sparse && family == MmaFamily::kMma && (ordered_metadata || scales.has_value()); }
  /// "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
  std::string ptx_name() const;
};

/// The instructions that GEMM kernels for `operand` are built from on Ampere: m16n8 with 32 bytes
/// of A per row. Throws InputError where the type has none.
MmaInstruction gemm_instruction(numerics::DataType operand, bool sparse);

/// The same on the GPUs of `architecture` ("volta", a row set of models/mma/step_rules): Volta has
/// m8n8k4, Turing m16n8k8 and for bytes m8n8k16, all later ones what Ampere has (CUTLASS,
/// include/cutlass/arch/mma_sm70.h and mma_sm75.h). A type that the architecture does not take gets
/// Ampere's instruction, which the catalogue then refuses with the near ones.
MmaInstruction gemm_instruction(std::string_view architecture, numerics::DataType operand, bool sparse);

/// The same for a tensor core of one's own. A sparse instruction of another pattern than the
/// hardware's is as deep as the dense one (compressed), or deeper where the groups do not fill
/// steps of 16 bytes: 6:8 of 16-bit types takes 48 bytes of A per row.
MmaInstruction gemm_instruction(numerics::DataType operand, bool sparse, const MmaDesign& design,
                                const sparsity::Pattern& pattern);

/// The scales of GEMM kernels for `operand` that have one for every `block` elements: those of
/// nvfp4 (16) and mxfp4 (32) for e2m1, those of mxf8f6f4 for all others.
BlockScales gemm_scales(numerics::DataType operand, int block);

/// Registers per lane that the operands of an instruction fill.
struct OperandRegisters {
  int a = 0, b = 0, accumulator = 0;
  int metadata = 0;            ///< registers of one instruction; 0: dense
  int metadata_selectors = 1;  ///< instructions that share a metadata register
};
OperandRegisters operand_registers(const MmaInstruction& instruction);

}  // namespace sptc::mma
