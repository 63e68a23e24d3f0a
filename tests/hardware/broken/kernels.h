// SPDX-License-Identifier: Apache-2.0
//
// Right kernels name what tile_gemm.h asks of them; a kernel with a mistake hides a part of it.
#pragma once

#include "tests/hardware/broken/tile_gemm.h"

#include <cmath>

namespace sptc::hardware::broken {

/// f16 to f32, A [m, k], B [k, n] column by column.
struct Dense {
  static constexpr const char* kInstruction = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  static constexpr const char* kDeclares = "{}";  ///< what its kernel file says more, as JSON
  static constexpr int kK = 256, kSlices = 1;
  static constexpr bool kSparse = false, kWgmma = false, kFp8 = false;
  static constexpr bool kHalfSums = false, kHalfD = false;  ///< f16 in place of f32
  static constexpr bool kTowardZero = false;                ///< rounding to f16
  static constexpr bool kPads = true;                       ///< K with zeros to whole stages
  static constexpr bool kRowMajorB = false, kTransposesB = false;
  static constexpr bool kIsRace = false;  ///< a GPU may compute what the twin does, or not

  SPTC_HOOK int stages(int stages_of_k) { return stages_of_k; }
  SPTC_HOOK bool waits_for_others(int, int) { return true; }
  SPTC_HOOK bool commits(int, int) { return true; }
  SPTC_HOOK int fetched(int stage, int) { return stage; }

  SPTC_HOOK int tile_of_b(int block) { return block; }
  SPTC_HOOK int pitch_of_a(int bytes) { return bytes; }
  SPTC_HOOK int b_at(int, int) { return 0; }
  SPTC_HOOK int selector(int) { return 0; }
  SPTC_HOOK LdmatrixPlace place_of_a(int lane) { return ldmatrix_a(lane); }

  SPTC_HOOK float finished(const Memory&, int, int, float sum) { return sum; }
};

struct DenseWithRemainder : Dense {
  static constexpr int kK = 240;  ///< ends in the middle of a stage
};

struct RowMajorB : Dense {
  static constexpr bool kRowMajorB = true;
  SPTC_HOOK int b_at(int k, int column) { return k * kExtent + column; }
};

struct HalfD : Dense {
  static constexpr bool kHalfD = true;
};

struct WithC : Dense {
  static constexpr const char* kDeclares =
      R"({"c": {"file": "operands.npz", "tensor": "c"}, "epilogue": {"alpha": 0.75, "beta": 0.5}})";
  static constexpr float kAlpha = 0.75F, kBeta = 0.5F;
  SPTC_HOST_DEVICE static float finished(const Memory& g, int at, int, float sum) {
    return fmaf(kAlpha, sum, kBeta * g.c[at]);
  }
};

struct WithBias : Dense {
  static constexpr const char* kDeclares =
      R"({"epilogue": {"bias": {"file": "operands.npz", "tensor": "bias", "along": "n"}}})";
  SPTC_HOOK float finished(const Memory& g, int, int column, float sum) { return sum + g.bias[column]; }
};

/// Four slices of K, each of CTAs of their own.
struct SplitK : Dense {
  static constexpr const char* kDeclares = R"({"k_order": {"split_k": 4, "reduction": "parallel"}})";
  static constexpr int kSlices = 4;
  SPTC_HOOK int slices() { return kSlices; }
  SPTC_HOOK int slice(int i) { return i; }
};

/// A of 2:4. As CUTLASS keeps metadata: a register serves both instructions of a stage, the lanes 0
/// and 1 of each quad the first, 2 and 3 the second.
struct Sparse : Dense {
  static constexpr const char* kInstruction = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32";
  static constexpr bool kSparse = true;
  SPTC_HOOK int selector(int step) { return step; }
  SPTC_HOOK std::uint32_t metadata(const Memory& g, int rows, int stage, int, int lane) {
    return g.metadata[(rows * (kK / 64) + stage) * kWarp + lane];
  }
};

/// Each instruction has a register of its own, in lanes 0 and 1 of each quad.
struct OneStepMetadata : Sparse {
  SPTC_HOOK int selector(int) { return 0; }
  SPTC_HOOK std::uint32_t metadata(const Memory& g, int rows, int stage, int step, int lane) {
    return g.step_metadata[(rows * (kK / 32) + 2 * stage + step) * kWarp + lane];
  }
};

struct Wgmma : Dense {
  static constexpr const char* kInstruction = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16";
  static constexpr bool kWgmma = true, kPromotes = false;
  SPTC_HOOK int chunk_of_a(int line, int chunk) { return swizzled_chunk(128, line, chunk); }
};

/// fp8 of Hopper, whose accumulators are added to f32 every 128 k.
struct PromotedFp8 : Wgmma {
  static constexpr const char* kInstruction = "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3";
  static constexpr const char* kDeclares = R"({"k_order": {"split_k": 4, "tile_k": 128, "reduction": "parallel"}})";
  static constexpr int kK = 512;
  static constexpr bool kFp8 = true, kPromotes = true;
  SPTC_HOOK bool promotes(int) { return true; }
};

// Kernels with a mistake -------------------------------------------------------------------------

/// The register that is prefetched for the next stage is used one stage late.
struct StaleMetadata : Sparse {
  SPTC_HOOK std::uint32_t metadata(const Memory& g, int rows, int stage, int step, int lane) {
    return Sparse::metadata(g, rows, stage > 0 ? stage - 1 : 0, step, lane);
  }
};

/// The instructions of a stage take each other's lanes.
struct ExchangedSelectors : Sparse {
  SPTC_HOOK int selector(int step) { return 1 - step; }
};

/// The selector is never advanced.
struct SelectorStays : Sparse {
  SPTC_HOOK int selector(int) { return 0; }
};

/// The selector names lanes in which nobody has put metadata.
struct WrongSelector : OneStepMetadata {
  SPTC_HOOK int selector(int) { return 1; }
};

/// The half-words of the rows q and q + 8 are packed the wrong way round.
struct WrongHalfWord : Sparse {
  SPTC_HOOK std::uint32_t metadata(const Memory& g, int rows, int stage, int step, int lane) {
    const std::uint32_t word = Sparse::metadata(g, rows, stage, step, lane);
    return word >> 16 | word << 16;
  }
};

/// The encoder writes the second index of each pair first.
struct SwappedIndices : Sparse {
  SPTC_HOOK std::uint32_t metadata(const Memory& g, int rows, int stage, int step, int lane) {
    const std::uint32_t word = Sparse::metadata(g, rows, stage, step, lane);
    return (word & 0x33333333) << 2 | (word >> 2 & 0x33333333);
  }
};

/// The fragments of a warp take each other's metadata.
struct MetadataOfOtherRows : Sparse {
  SPTC_HOOK std::uint32_t metadata(const Memory& g, int rows, int stage, int step, int lane) {
    return Sparse::metadata(g, rows ^ 1, stage, step, lane);
  }
};

/// The lanes of the upper eight rows give ldmatrix the addresses of the lower ones.
struct SwappedLanesOfA : Dense {
  SPTC_HOOK LdmatrixPlace place_of_a(int lane) { return {(lane % 16) ^ 8, lane / 16}; }
};

/// A is loaded with the addresses that are right for B: registers 1 and 2 are exchanged.
struct AddressesOfB : Dense {
  SPTC_HOOK LdmatrixPlace place_of_a(int lane) { return ldmatrix_b_dense(lane); }
};

/// ldmatrix.trans, which a row-major B would need.
struct TransposedFragments : Dense {
  static constexpr bool kTransposesB = true;
};

/// The chunks of A are written where they stand, and wgmma undoes a swizzle.
struct UnswizzledA : Wgmma {
  SPTC_HOOK int chunk_of_a(int, int chunk) { return chunk; }
};

/// No barrier before the last stage, "because nothing is fetched any more". The twin's first warp
/// is ahead of the others.
struct MissingBarrier : Dense {
  static constexpr bool kIsRace = true;
  SPTC_HOOK bool waits_for_others(int stage, int stages) { return stage + 1 < stages; }
};

/// Groups of copies are committed only where there is something to fetch: the wait for all but the
/// newest does not wait for the last one. The copies of the twin come as late as they may.
struct NoEmptyCommit : Dense {
  static constexpr bool kIsRace = true;
  SPTC_HOOK bool commits(int stage, int stages) { return stage < stages; }
};

struct LastTileDropped : Dense {
  SPTC_HOOK int stages(int stages_of_k) { return stages_of_k - 1; }
};

/// One iteration too many, and the fetch stops at the end of K.
struct LastTileTwice : Dense {
  SPTC_HOOK int stages(int stages_of_k) { return stages_of_k + 1; }
  SPTC_HOOK int fetched(int stage, int all) { return stage < all ? stage : all - 1; }
};

/// What lies behind K is not copied, and an older stage is still there.
struct RemainderNotZeroed : DenseWithRemainder {
  static constexpr bool kPads = false;
};

struct SliceMissing : SplitK {
  SPTC_HOOK int slices() { return kSlices - 1; }
};

/// The reduction begins with the slice that finished last.
struct SlicesBackwards : SplitK {
  SPTC_HOOK int slice(int i) { return kSlices - 1 - i; }
};

/// The two upper warps add the accumulators of fp8 every 128 k, the two lower ones at the end.
struct HalfPromoted : PromotedFp8 {
  SPTC_HOOK bool promotes(int warp) { return warp < 2; }
};

/// B is read as if it stood column by column.
struct TransposedB : RowMajorB {
  SPTC_HOOK int b_at(int k, int column) { return column * kK + k; }
};

/// Rows of A are taken for padded by eight elements.
struct PaddedRows : Dense {
  SPTC_HOOK int pitch_of_a(int bytes) { return bytes + 8 * 2; }
};

/// The second column of CTAs takes the columns of B of the first.
struct TileColumnTwice : Dense {
  SPTC_HOOK int tile_of_b(int block) { return block > 0 ? block - 1 : 0; }
};

struct HalfAccumulator : HalfD {
  static constexpr bool kHalfSums = true;
};

struct TowardZero : HalfD {
  static constexpr bool kTowardZero = true;
};

/// beta C is added by the epilogue, and once more by the store.
struct BetaTwice : WithC {
  SPTC_HOST_DEVICE static float finished(const Memory& g, int at, int column, float sum) {
    return WithC::finished(g, at, column, sum) + kBeta * g.c[at];
  }
};

struct BiasOfNeighbour : WithBias {
  SPTC_HOOK float finished(const Memory& g, int at, int column, float sum) {
    return WithBias::finished(g, at, (column + 1) % kExtent, sum);
  }
};

// clang-format off
/// Every kernel of the gallery.
#define SPTC_RIGHT_KERNELS(X)                                                                      \
  X(Dense) X(DenseWithRemainder) X(RowMajorB) X(HalfD) X(WithC) X(WithBias) X(SplitK) X(Sparse)    \
  X(OneStepMetadata) X(Wgmma) X(PromotedFp8)
#define SPTC_BROKEN_KERNELS(X)                                                                     \
  X(StaleMetadata) X(ExchangedSelectors) X(SelectorStays) X(WrongSelector) X(WrongHalfWord)        \
  X(SwappedIndices) X(MetadataOfOtherRows) X(SwappedLanesOfA) X(AddressesOfB)                      \
  X(TransposedFragments) X(UnswizzledA) X(MissingBarrier) X(NoEmptyCommit) X(LastTileDropped)      \
  X(LastTileTwice) X(RemainderNotZeroed) X(SliceMissing) X(SlicesBackwards) X(HalfPromoted)        \
  X(TransposedB) X(PaddedRows) X(TileColumnTwice) X(HalfAccumulator) X(TowardZero) X(BetaTwice)    \
  X(BiasOfNeighbour)
// clang-format on

}  // namespace sptc::hardware::broken
