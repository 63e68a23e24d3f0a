// SPDX-License-Identifier: Apache-2.0
#include "models/batched/fallback.h"
#include "models/batched/float_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/batched/integer_gemm.cpp"
#include <hwy/foreach_target.h>
// Highway's dispatch wants its own headers after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace sptc::batched::HWY_NAMESPACE {

using numerics::Word;

#if HWY_TARGET == HWY_SCALAR

void run_integer_rows(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  run_plain(gemm, row_begin, row_end);
}

#else

namespace hn = hwy::HWY_NAMESPACE;
using IntTag = hn::ScalableTag<std::int32_t>;
using IntVector = hn::Vec<IntTag>;

// A lane of 32 bits holds kGroup neighbours in k: four bytes where the machine multiplies them
// (VNNI), else two 16-bit integers.
#if HWY_TARGET == HWY_AVX3_DL
constexpr bool kBytes = true;
#else
constexpr bool kBytes = false;
#endif
constexpr std::size_t kGroup = kBytes ? 4 : 2;
constexpr std::size_t kVectors = 4;
constexpr std::size_t kLanes = hn::MaxLanes(IntTag());
constexpr std::size_t kColumns = kVectors * kLanes;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr std::size_t kRows = 4;
#else
constexpr std::size_t kRows = 2;
#endif
constexpr std::size_t kBlockDepth = 512;
constexpr std::size_t kBlockRows = 1024;

/// sum + the products of kGroup neighbours.
HWY_INLINE IntVector multiply_add(IntVector a, IntVector b, IntVector sum) {
#if HWY_TARGET == HWY_AVX3_DL
  // Highway's target has VNNI, but before 1.0.5 does not tell GCC so: no intrinsic.
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  return sum;
#else
  const hn::Repartition<std::int16_t, IntTag> d16;
  IntVector odd = hn::Zero(IntTag());
  sum = hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(d16, a), hn::BitCast(d16, b), sum, odd);
  return sum + odd;
#endif
}

/// Elements of up to eight bits as they are: the low bits, sign extended where the type is signed.
struct ByteDecoding {
  explicit ByteDecoding(numerics::DataType type)
      : shift(32 - numerics::storage_bits(type)), is_signed(numerics::info(type).is_signed) {}
  std::int32_t operator()(Word word) const {
    const std::uint32_t up = static_cast<std::uint32_t>(word) << shift;
    return is_signed ? static_cast<std::int32_t>(up) >> shift
                     : static_cast<std::int32_t>(up >> shift);
  }
  // The same in two steps, for vectors: ((word & mask) ^ sign) - sign.
  std::uint32_t mask() const { return ~0U >> shift; }
  std::uint32_t sign() const { return is_signed ? 1U << (31 - shift) : 0U; }

  int shift;
  bool is_signed;
};

/// `count` elements plus `offset` as bytes or 16-bit integers, side by side, and the offset alone
/// up to `padded`. Returns the sum of what was written.
template <typename Narrow>
HWY_INLINE std::int32_t pack_run(const Word* words, std::size_t count, std::size_t padded,
                                 const ByteDecoding& decode, std::int32_t offset, Narrow* packed) {
  const IntTag di;
  const hn::RebindToUnsigned<IntTag> du;
  const hn::Rebind<Narrow, IntTag> narrow;
  const auto mask = hn::Set(du, decode.mask());
  const auto sign = hn::Set(du, decode.sign());
  const auto moved = hn::Set(du, static_cast<std::uint32_t>(offset));
  IntVector sums = hn::Zero(di);
  std::size_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    const auto bits = hn::Xor(hn::And(hn::LoadU(du, words + k), mask), sign) - sign + moved;
    sums = sums + hn::BitCast(di, bits);
    if constexpr (sizeof(Narrow) == 1) {
      hn::StoreU(hn::U8FromU32(hn::And(bits, hn::Set(du, 0xFF))), narrow, packed + k);
    } else {
      hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(di, bits)), narrow, packed + k);
    }
  }
  std::int32_t sum = hn::GetLane(hn::SumOfLanes(di, sums));
  for (; k < padded; ++k) {
    const std::int32_t value = (k < count ? decode(words[k]) : 0) + offset;
    packed[k] = static_cast<Narrow>(value);
    sum += value;
  }
  return sum;
}

/// kRows rows of A against a panel: `a` [group][row], `b` [group][column], `sums` [row][column].
HWY_NOINLINE void multiply_block(const std::int32_t* HWY_RESTRICT a,
                                 const std::int32_t* HWY_RESTRICT b, std::size_t groups,
                                 std::int32_t* HWY_RESTRICT sums) {
  const IntTag di;
  IntVector sum[kRows][kVectors];
  for (auto& row : sum) {
    for (IntVector& vector : row) {
      vector = hn::Zero(di);
    }
  }
  for (std::size_t g = 0; g < groups; ++g) {
    IntVector column[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      column[v] = hn::Load(di, b + g * kColumns + v * kLanes);
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      const IntVector row = hn::Set(di, a[g * kRows + r]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sum[r][v] = multiply_add(row, column[v], sum[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::Store(sum[r][v], di, sums + r * kColumns + v * kLanes);
    }
  }
}

/// One thread's rows. VNNI multiplies unsigned bytes by signed ones: then a signed A is moved up by
/// 128, an unsigned B down, and the difference, linear in the sums of rows and columns, added.
class IntegerRows {
 public:
  IntegerRows(const GemmSlice& gemm, std::size_t rows)
      : gemm_(gemm),
        a_value_(gemm.instruction->a_type),
        b_value_(gemm.instruction->b_type),
        a_offset_(kBytes && a_value_.is_signed ? 128 : 0),
        b_offset_(kBytes && !b_value_.is_signed ? 128 : 0),
        selection_(gemm.instruction->a_type),
        rows_((std::min(rows, kBlockRows) + kRows - 1) / kRows * kRows * kBlockDepth / kGroup),
        panel_(kColumns * kBlockDepth / kGroup + kColumns),
        row_sums_(kBlockRows + kRows) {}

  void run(std::size_t row_begin, std::size_t row_end) {
    const std::size_t kept = gemm_.nibbles != nullptr ? selection_.kept : 1;
    const std::size_t group = gemm_.nibbles != nullptr ? selection_.group : 1;
    const std::size_t logical_begin = gemm_.depth_begin / kept * group;
    const std::size_t logical_end = gemm_.depth_end / kept * group;
    for (std::size_t row = row_begin; row < row_end; row += kBlockRows) {
      for (std::size_t k = logical_begin; k < logical_end; k += kBlockDepth) {
        run_block(row, std::min(row + kBlockRows, row_end), k,
                  std::min(k + kBlockDepth, logical_end));
      }
    }
  }

 private:
  using Narrow = std::conditional_t<kBytes, std::uint8_t, std::int16_t>;

  void run_block(std::size_t row, std::size_t row_end, std::size_t begin, std::size_t end) {
    const std::size_t groups = (end - begin + kGroup - 1) / kGroup;
    pack_rows(row, row_end, begin, end, groups);
    for (std::size_t column = 0; column < gemm_.state.cols(); column += kColumns) {
      pack_columns(column, begin, end, groups);
      for (std::size_t i = row; i < row_end; i += kRows) {
        multiply_block(&rows_[(i - row) * groups], panel(), groups, &sums_[0][0]);
        add_sums(i, std::min(kRows, row_end - i), row, column, groups);
      }
    }
  }

  std::int32_t* panel() {
    auto* bytes = reinterpret_cast<std::uint8_t*>(panel_.data());
    return panel_.data() + (64 - reinterpret_cast<std::uintptr_t>(bytes) % 64) % 64 / 4;
  }

  /// Elements of a row of A at logical k in [begin, end): where A is sparse, spread out in
  /// `expanded`.
  const Word* logical_row(std::size_t row, std::size_t begin, std::size_t end,
                          Word* expanded) const {
    if (gemm_.nibbles == nullptr) {
      return gemm_.a.words(row, begin, end, expanded);
    }
    std::fill(expanded, expanded + (end - begin), Word{0});
    const auto nibbles = gemm_.nibbles->row(row);
    const std::size_t first = begin / selection_.group * selection_.kept;
    const std::size_t last = end / selection_.group * selection_.kept;
    Word buffer[kBlockDepth];
    const Word* words = gemm_.a.words(row, first, last, buffer);
    for (std::size_t t = first; t < last; ++t) {
      expanded[selection_.logical(t, nibbles[t / selection_.kept]) - begin] = words[t - first];
    }
    return expanded;
  }

  /// The lanes of a run, `groups` of them, to every `stride`-th lane of `to`. Returns its sum.
  std::int32_t pack_groups(const Word* words, std::size_t count, std::size_t groups,
                           const ByteDecoding& decode, std::int32_t offset, std::int32_t* to,
                           std::size_t stride) {
    const std::int32_t sum =
        pack_run(words, count, groups * kGroup, decode, offset, reinterpret_cast<Narrow*>(run_));
    for (std::size_t g = 0; g < groups; ++g) {
      to[g * stride] = run_[g];
    }
    return sum;
  }

  void pack_rows(std::size_t row, std::size_t row_end, std::size_t begin, std::size_t end,
                 std::size_t groups) {
    Word expanded[kBlockDepth];
    for (std::size_t i = row; i < row + (row_end - row + kRows - 1) / kRows * kRows; ++i) {
      const bool inside = i < row_end;
      const Word* words = inside ? logical_row(i, begin, end, expanded) : nullptr;
      row_sums_[i - row] =
          pack_groups(words, inside ? end - begin : 0, groups, a_value_, a_offset_,
                      &rows_[(i - row) / kRows * kRows * groups + (i - row) % kRows], kRows);
    }
  }

  void pack_columns(std::size_t column, std::size_t begin, std::size_t end, std::size_t groups) {
    Word buffer[kBlockDepth];
    for (std::size_t j = 0; j < kColumns; ++j) {
      const bool inside = column + j < gemm_.b_columns.rows();
      const Word* words = inside ? gemm_.b_columns.words(column + j, begin, end, buffer) : nullptr;
      column_sums_[j] = pack_groups(words, inside ? end - begin : 0, groups, b_value_, -b_offset_,
                                    panel() + j, kColumns);
    }
  }

  void add_sums(std::size_t row, std::size_t count, std::size_t first_row, std::size_t column,
                std::size_t groups) {
    const std::size_t columns = std::min(kColumns, gemm_.state.cols() - column);
    const auto depth = static_cast<std::uint32_t>(groups * kGroup);
    const auto a_offset = static_cast<std::uint32_t>(a_offset_);
    const auto b_offset = static_cast<std::uint32_t>(b_offset_);
    for (std::size_t r = 0; r < count; ++r) {
      Word* state = gemm_.state.row(row + r).data() + column;
      const std::uint32_t of_row =
          b_offset * static_cast<std::uint32_t>(row_sums_[row + r - first_row]) -
          depth * a_offset * b_offset;
      for (std::size_t j = 0; j < columns; ++j) {
        state[j] += static_cast<std::uint32_t>(sums_[r][j]) + of_row -
                    a_offset * static_cast<std::uint32_t>(column_sums_[j]);
      }
    }
  }

  const GemmSlice& gemm_;
  ByteDecoding a_value_;
  ByteDecoding b_value_;
  std::int32_t a_offset_;
  std::int32_t b_offset_;
  SelectionTable selection_;
  std::vector<std::int32_t> rows_;   // [row / kRows][group][row % kRows]
  std::vector<std::int32_t> panel_;  // [group][column]
  std::vector<std::int32_t> row_sums_;
  alignas(64) std::int32_t run_[kBlockDepth / kGroup] = {};
  alignas(64) std::int32_t column_sums_[kColumns] = {};
  alignas(64) std::int32_t sums_[kRows][kColumns] = {};
};

void run_integer_rows(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  if (gemm.nibbles != nullptr && has_invalid_nibble(gemm, row_begin, row_end)) {
    run_plain(gemm, row_begin, row_end);  // A has no dense form
    return;
  }
  IntegerRows(gemm, row_end - row_begin).run(row_begin, row_end);
}

#endif  // HWY_TARGET

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sptc::batched {
HWY_EXPORT(run_integer_rows);

bool has_integer_kernel(const mma::MmaInstruction& instruction, const mma::StepRules& rules) {
  const auto is_byte = [](numerics::DataType type) {
    return !numerics::info(type).is_float() && numerics::storage_bits(type) <= 8 &&
           numerics::storage_bits(type) >= 4;
  };
  return rules.is_integer() && !instruction.satfinite && !instruction.bit_operation &&
         is_byte(instruction.a_type) && is_byte(instruction.b_type);
}

void run_integer_gemm(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  HWY_DYNAMIC_DISPATCH(run_integer_rows)(gemm, row_begin, row_end);
}

}  // namespace sptc::batched
#endif
