// SPDX-License-Identifier: Apache-2.0
//
// The table of matrix instructions. Sources: PTX ISA 9.x, "mma", "mma.sp", "wgmma.mma_async" and
// "tcgen05.mma"; SASS names from ptxas 13.0.88 and nvdisasm 12.4, for sm_70 from Jia et al. (arXiv
// 1804.06826). What sm_100 and sm_120 make of a name is accepted by ptxas, but nvdisasm 12.4 does
// not know them.
#include "models/mma/catalogue_rows.h"

#include <optional>

namespace sptc::mma {
namespace {

using enum TypePairs;

constexpr auto kMma = MmaFamily::kMma;
constexpr auto kWgmma = MmaFamily::kWgmma;
constexpr auto kTcgen05 = MmaFamily::kTcgen05;
constexpr auto kF32Acc = numerics::DataType::kF32;
constexpr auto kF16Acc = numerics::DataType::kF16;
constexpr auto kF64Acc = numerics::DataType::kF64;
constexpr auto kS32Acc = numerics::DataType::kS32;
constexpr bool kDense = false;
constexpr bool kSparse = true;

using Sass = std::array<std::string_view, kSassColumns>;

/// mma on the targets that nvdisasm knows; sm_100 and sm_120 have it too.
constexpr Sass on(std::string_view sm75, std::string_view sm80, std::string_view sm89, std::string_view sm90) {
  return {"-", sm75, sm80, sm89, sm90, "+", "+"};
}
/// One name from sm_80 to sm_90.
constexpr Sass since_sm80(std::string_view name) {
  return on("-", name, name, name);
}
constexpr Sass since_sm75(std::string_view name) {
  return on(name, name, name, name);
}
constexpr Sass volta_step(std::string_view name) {
  return {name, name, "software", "software", "software", "software", "software"};
}
constexpr Sass only_sm90(std::string_view name) {
  return {"-", "-", "-", "-", name, "-", "-"};
}
constexpr Sass kOnlySm100{"-", "-", "-", "-", "-", "+", "-"};
constexpr Sass kOnlySm120{"-", "-", "-", "-", "-", "-", "+"};

constexpr CatalogueRow row(MmaFamily family, const MmaShape& shape, bool sparse, TypePairs types,
                           numerics::DataType result, const Sass& sass,
                           std::optional<numerics::DataType> addend = std::nullopt) {
  const bool runs = family != kMma;
  const int step = shape.n == 8 ? 8 : 16;
  return {.family = family,
          .shape = shape,
          .max_n = !runs                            ? shape.n
                   : result == kS32Acc && step == 8 ? 24
                                                    : 256,
          .n_step = runs ? step : 1,
          .sparse = sparse,
          .types = types,
          .accumulator = result,
          .addend = addend.value_or(result),
          .saturates = types == kEightBit || types == kFourBit,
          .sass = sass};
}

// Columns: family, shape (the smallest n), sparse, types, D, SASS, C where it is not D.
// clang-format off
constexpr CatalogueRow kRows[] = {
    row(kMma, {8, 8, 4}, kDense, kF16, kF32Acc, volta_step("HMMA.884.F32.F32.STEP0..3")),
    row(kMma, {8, 8, 4}, kDense, kF16, kF32Acc, volta_step("HMMA.884.F32.F16.STEP0..3"), kF16Acc),
    row(kMma, {8, 8, 4}, kDense, kF16, kF16Acc, volta_step("HMMA.884.F16.F16.STEP0..1")),
    row(kMma, {16, 8, 8}, kDense, kF16, kF32Acc, since_sm75("HMMA.1688.F32")),
    row(kMma, {16, 8, 16}, kDense, kF16, kF32Acc, since_sm80("HMMA.16816.F32")),
    row(kMma, {16, 8, 8}, kDense, kF16, kF16Acc, since_sm75("HMMA.1688.F16")),
    row(kMma, {16, 8, 16}, kDense, kF16, kF16Acc, since_sm80("HMMA.16816.F16")),
    row(kMma, {16, 8, 8}, kDense, kBf16, kF32Acc, since_sm80("HMMA.1688.F32.BF16")),
    row(kMma, {16, 8, 16}, kDense, kBf16, kF32Acc, since_sm80("HMMA.16816.F32.BF16")),
    row(kMma, {16, 8, 4}, kDense, kTf32, kF32Acc, since_sm80("HMMA.1684.F32.TF32")),
    row(kMma, {16, 8, 8}, kDense, kTf32, kF32Acc, since_sm80("HMMA.1688.F32.TF32")),
    row(kMma, {8, 8, 16}, kDense, kEightBit, kS32Acc, since_sm75("IMMA.8816.{A}.{B}")),
    row(kMma, {16, 8, 16}, kDense, kEightBit, kS32Acc, since_sm80("IMMA.16816.{A}.{B}")),
    row(kMma, {16, 8, 32}, kDense, kEightBit, kS32Acc, since_sm80("IMMA.16832.{A}.{B}")),
    row(kMma, {8, 8, 32}, kDense, kFourBit, kS32Acc,
        on("IMMA.8832.{A}.{B}", "IMMA.8832.{A}.{B}", "IMMA.8832.{A}.{B}", "IMMA.8816.{A8}.{B8} x2")),
    row(kMma, {16, 8, 32}, kDense, kFourBit, kS32Acc,
        on("-", "IMMA.16832.{A}.{B}", "IMMA.16832.{A}.{B}", "IMMA.16816.{A8}.{B8} x2")),
    row(kMma, {16, 8, 64}, kDense, kFourBit, kS32Acc,
        on("-", "IMMA.16864.{A}.{B}", "IMMA.16864.{A}.{B}", "IMMA.16832.{A8}.{B8} x2")),
    row(kMma, {8, 8, 128}, kDense, kXor, kS32Acc,
        on("BMMA.88128.XOR.POPC", "BMMA.88128.XOR.POPC", "BMMA.88128.XOR.POPC", "BMMA.88128.AND.POPC x2")),
    row(kMma, {16, 8, 128}, kDense, kXor, kS32Acc,
        on("-", "BMMA.168128.XOR.POPC", "BMMA.168128.XOR.POPC", "BMMA.168128.AND.POPC x2")),
    row(kMma, {16, 8, 256}, kDense, kXor, kS32Acc,
        on("-", "BMMA.168256.XOR.POPC", "BMMA.168256.XOR.POPC", "BMMA.168256.AND.POPC x2")),
    row(kMma, {8, 8, 128}, kDense, kAnd, kS32Acc, since_sm80("BMMA.88128.AND.POPC")),
    row(kMma, {16, 8, 128}, kDense, kAnd, kS32Acc, since_sm80("BMMA.168128.AND.POPC")),
    row(kMma, {16, 8, 256}, kDense, kAnd, kS32Acc, since_sm80("BMMA.168256.AND.POPC")),
    row(kMma, {8, 8, 4}, kDense, kF64, kF64Acc, on("-", "DMMA.884", "DMMA.884", "DMMA.8x8x4")),
    row(kMma, {16, 8, 4}, kDense, kF64, kF64Acc, on("-", "-", "-", "DMMA.16x8x4")),
    row(kMma, {16, 8, 8}, kDense, kF64, kF64Acc, on("-", "-", "-", "DMMA.16x8x8")),
    row(kMma, {16, 8, 16}, kDense, kF64, kF64Acc, on("-", "-", "-", "DMMA.16x8x16")),
    row(kMma, {16, 8, 16}, kDense, kFp8, kF32Acc,
        on("-", "-", "QMMA.16816.F32.{A}.{B}", "HMMA.1688.F32 x2")),
    row(kMma, {16, 8, 32}, kDense, kFp8, kF32Acc,
        on("-", "-", "QMMA.16832.F32.{A}.{B}", "HMMA.16816.F32 x2")),
    row(kMma, {16, 8, 16}, kDense, kFp8, kF16Acc,
        on("-", "-", "QMMA.16816.F16.{A}.{B}", "HMMA.1688.F16 x2")),
    row(kMma, {16, 8, 32}, kDense, kFp8, kF16Acc,
        on("-", "-", "QMMA.16832.F16.{A}.{B}", "HMMA.16816.F16 x2")),
    row(kMma, {16, 8, 32}, kDense, kNarrow, kF32Acc, kOnlySm120),
    row(kMma, {16, 8, 32}, kDense, kNarrow, kF16Acc, kOnlySm120),
    row(kMma, {16, 8, 32}, kDense, kScaled, kF32Acc, kOnlySm120),
    row(kMma, {16, 8, 64}, kDense, kScaledFp4, kF32Acc, kOnlySm120),
    row(kMma, {16, 8, 16}, kSparse, kF16, kF32Acc, since_sm80("HMMA.SP.16816.F32")),
    row(kMma, {16, 8, 16}, kSparse, kF16, kF16Acc, since_sm80("HMMA.SP.16816.F16")),
    row(kMma, {16, 8, 16}, kSparse, kBf16, kF32Acc, since_sm80("HMMA.SP.16816.F32.BF16")),
    row(kMma, {16, 8, 32}, kSparse, kF16, kF32Acc, since_sm80("HMMA.SP.16832.F32")),
    row(kMma, {16, 8, 32}, kSparse, kF16, kF16Acc, since_sm80("HMMA.SP.16832.F16")),
    row(kMma, {16, 8, 32}, kSparse, kBf16, kF32Acc, since_sm80("HMMA.SP.16832.F32.BF16")),
    row(kMma, {16, 8, 8}, kSparse, kTf32, kF32Acc, since_sm80("HMMA.SP.1688.F32.TF32")),
    row(kMma, {16, 8, 16}, kSparse, kTf32, kF32Acc, since_sm80("HMMA.SP.16816.F32.TF32")),
    row(kMma, {16, 8, 32}, kSparse, kEightBit, kS32Acc, since_sm80("IMMA.SP.16832.{A}.{B}")),
    row(kMma, {16, 8, 64}, kSparse, kEightBit, kS32Acc, since_sm80("IMMA.SP.16864.{A}.{B}")),
    row(kMma, {16, 8, 64}, kSparse, kFourBit, kS32Acc,
        on("-", "IMMA.SP.16864.{A}.{B}", "IMMA.SP.16864.{A}.{B}", "IMMA.SP.16832.{A8}.{B8} x2")),
    row(kMma, {16, 8, 128}, kSparse, kFourBit, kS32Acc,
        on("-", "IMMA.SP.168128.{A}.{B}", "IMMA.SP.168128.{A}.{B}", "IMMA.SP.16864.{A8}.{B8} x2")),
    row(kMma, {16, 8, 64}, kSparse, kFp8, kF32Acc,
        on("-", "-", "QMMA.SP.16864.F32.{A}.{B}", "HMMA.SP.16832.F32 x2")),
    row(kMma, {16, 8, 64}, kSparse, kFp8, kF16Acc, kOnlySm120),
    row(kMma, {16, 8, 128}, kSparse, kScaledFp4, kF32Acc, kOnlySm120),
    row(kWgmma, {64, 8, 16}, kDense, kF16, kF32Acc, only_sm90("HGMMA.64x{N}x16.F32")),
    row(kWgmma, {64, 8, 16}, kDense, kF16, kF16Acc, only_sm90("HGMMA.64x{N}x16.F16")),
    row(kWgmma, {64, 8, 16}, kDense, kBf16, kF32Acc, only_sm90("HGMMA.64x{N}x16.F32.BF16")),
    row(kWgmma, {64, 8, 8}, kDense, kTf32, kF32Acc, only_sm90("HGMMA.64x{N}x8.F32.TF32")),
    row(kWgmma, {64, 8, 32}, kDense, kFp8, kF32Acc, only_sm90("QGMMA.64x{N}x32.F32.{A}.{B}")),
    row(kWgmma, {64, 8, 32}, kDense, kFp8, kF16Acc, only_sm90("QGMMA.64x{N}x32.F16.{A}.{B}")),
    row(kWgmma, {64, 8, 32}, kDense, kEightBit, kS32Acc, only_sm90("IGMMA.64x{N}x32.{A}.{B}")),
    row(kWgmma, {64, 32, 32}, kDense, kEightBit, kS32Acc, only_sm90("IGMMA.64x{N}x32.{A}.{B}")),
    row(kWgmma, {64, 8, 32}, kSparse, kF16, kF32Acc, only_sm90("HGMMA.SP.64x{N}x32.F32")),
    row(kWgmma, {64, 8, 32}, kSparse, kF16, kF16Acc, only_sm90("HGMMA.SP.64x{N}x32.F16")),
    row(kWgmma, {64, 8, 32}, kSparse, kBf16, kF32Acc, only_sm90("HGMMA.SP.64x{N}x32.F32.BF16")),
    row(kWgmma, {64, 8, 16}, kSparse, kTf32, kF32Acc, only_sm90("HGMMA.SP.64x{N}x16.F32.TF32")),
    row(kWgmma, {64, 8, 64}, kSparse, kFp8, kF32Acc, only_sm90("QGMMA.SP.64x{N}x64.F32.{A}.{B}")),
    row(kWgmma, {64, 8, 64}, kSparse, kFp8, kF16Acc, only_sm90("QGMMA.SP.64x{N}x64.F16.{A}.{B}")),
    row(kWgmma, {64, 8, 64}, kSparse, kEightBit, kS32Acc, only_sm90("IGMMA.SP.64x{N}x64.{A}.{B}")),
    row(kWgmma, {64, 32, 64}, kSparse, kEightBit, kS32Acc, only_sm90("IGMMA.SP.64x{N}x64.{A}.{B}")),
    row(kWgmma, {64, 8, 256}, kDense, kAnd, kS32Acc, only_sm90("BGMMA.64x{N}x256.AND.POPC")),
    row(kWgmma, {64, 32, 256}, kDense, kAnd, kS32Acc, only_sm90("BGMMA.64x{N}x256.AND.POPC")),
    row(kTcgen05, {64, 8, 16}, kDense, kF16, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 16}, kDense, kF16, kF32Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 16}, kDense, kF16, kF16Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 16}, kDense, kF16, kF16Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 16}, kDense, kBf16, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 16}, kDense, kBf16, kF32Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 8}, kDense, kTf32, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 8}, kDense, kTf32, kF32Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 32}, kDense, kFp8, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 32}, kDense, kFp8, kF32Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 32}, kDense, kNarrow, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 32}, kDense, kNarrow, kF32Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 32}, kDense, kFp8, kF16Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 32}, kDense, kFp8, kF16Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 32}, kDense, kNarrow, kF16Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 32}, kDense, kNarrow, kF16Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 32}, kDense, kEightBit, kS32Acc, kOnlySm100),
    row(kTcgen05, {64, 32, 32}, kDense, kEightBit, kS32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 32}, kDense, kEightBit, kS32Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 32}, kSparse, kF16, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 32}, kSparse, kF16, kF32Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 32}, kSparse, kF16, kF16Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 32}, kSparse, kF16, kF16Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 32}, kSparse, kBf16, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 32}, kSparse, kBf16, kF32Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 16}, kSparse, kTf32, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 16}, kSparse, kTf32, kF32Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 64}, kSparse, kFp8, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 64}, kSparse, kFp8, kF32Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 64}, kSparse, kFp8, kF16Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 64}, kSparse, kFp8, kF16Acc, kOnlySm100),
    row(kTcgen05, {64, 8, 64}, kSparse, kEightBit, kS32Acc, kOnlySm100),
    row(kTcgen05, {64, 32, 64}, kSparse, kEightBit, kS32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 64}, kSparse, kEightBit, kS32Acc, kOnlySm100),
    row(kTcgen05, {128, 16, 32}, kDense, kScaled, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 8, 64}, kDense, kScaledFp4, kF32Acc, kOnlySm100),
    row(kTcgen05, {128, 8, 128}, kSparse, kScaledFp4, kF32Acc, kOnlySm100),
};
// clang-format on

}  // namespace

std::span<const CatalogueRow> catalogue_rows() {
  return kRows;
}

}  // namespace sptc::mma
