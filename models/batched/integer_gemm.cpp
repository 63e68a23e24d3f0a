// SPDX-License-Identifier: Apache-2.0
#include "models/batched/integer_gemm.h"

#include "models/batched/fallback.h"
#include "models/batched/prefetch.h"
#include "models/numerics/data_type_info.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/batched/integer_gemm.cpp"
#include <hwy/foreach_target.h>
// Highway's dispatch wants its own headers after foreach_target.h.
#include "models/batched/sparse_bytes-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <memory>
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
  return multiply_add_bytes(a, b, sum);
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
    return is_signed ? static_cast<std::int32_t>(up) >> shift : static_cast<std::int32_t>(up >> shift);
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
HWY_INLINE std::int32_t pack_run(const Word* words, std::size_t count, std::size_t padded, const ByteDecoding& decode,
                                 std::int32_t offset, Narrow* packed) {
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
HWY_NOINLINE void multiply_block(const std::int32_t* HWY_RESTRICT a, const std::int32_t* HWY_RESTRICT b,
                                 std::size_t groups, std::int32_t* HWY_RESTRICT sums) {
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
  explicit IntegerRows(const GemmSlice& gemm)
      : gemm_(gemm),
        a_value_(gemm.instruction->a_type),
        b_value_(gemm.instruction->b_type),
        a_offset_(kBytes && a_value_.is_signed ? 128 : 0),
        b_offset_(kBytes && !b_value_.is_signed ? 128 : 0),
        selection_(gemm.instruction->a_type),
        rows_(kBlockRows / kRows * kRows * kBlockDepth / kGroup),
        panel_(kColumns * kBlockDepth / kGroup + kColumns),
        row_sums_(kBlockRows + kRows) {}

  void run(std::size_t row_begin, std::size_t row_end) {
    const std::size_t kept = gemm_.nibbles != nullptr ? selection_.kept : 1;
    const std::size_t group = gemm_.nibbles != nullptr ? selection_.group : 1;
    const std::size_t logical_begin = gemm_.depth_begin / kept * group;
    const std::size_t logical_end = gemm_.depth_end / kept * group;
    for (std::size_t row = row_begin; row < row_end; row += kBlockRows) {
      for (std::size_t k = logical_begin; k < logical_end; k += kBlockDepth) {
        run_block(row, std::min(row + kBlockRows, row_end), k, std::min(k + kBlockDepth, logical_end));
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
  const Word* logical_row(std::size_t row, std::size_t begin, std::size_t end, Word* expanded) const {
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
  std::int32_t pack_groups(const Word* words, std::size_t count, std::size_t groups, const ByteDecoding& decode,
                           std::int32_t offset, std::int32_t* to, std::size_t stride) {
    const std::int32_t sum = pack_run(words, count, groups * kGroup, decode, offset, reinterpret_cast<Narrow*>(run_));
    for (std::size_t g = 0; g < groups; ++g) {
      to[g * stride] = run_[g];
    }
    return sum;
  }

  void pack_rows(std::size_t row, std::size_t row_end, std::size_t begin, std::size_t end, std::size_t groups) {
    Word expanded[kBlockDepth];
    for (std::size_t i = row; i < row + (row_end - row + kRows - 1) / kRows * kRows; ++i) {
      const bool inside = i < row_end;
      const Word* words = inside ? logical_row(i, begin, end, expanded) : nullptr;
      row_sums_[i - row] = pack_groups(words, inside ? end - begin : 0, groups, a_value_, a_offset_,
                                       &rows_[(i - row) / kRows * kRows * groups + (i - row) % kRows], kRows);
    }
  }

  void pack_columns(std::size_t column, std::size_t begin, std::size_t end, std::size_t groups) {
    Word buffer[kBlockDepth];
    for (std::size_t j = 0; j < kColumns; ++j) {
      const bool inside = column + j < gemm_.b_columns.rows();
      const Word* words = inside ? gemm_.b_columns.words(column + j, begin, end, buffer) : nullptr;
      column_sums_[j] =
          pack_groups(words, inside ? end - begin : 0, groups, b_value_, -b_offset_, panel() + j, kColumns);
    }
  }

  void add_sums(std::size_t row, std::size_t count, std::size_t first_row, std::size_t column, std::size_t groups) {
    const std::size_t columns = std::min(kColumns, gemm_.state.cols() - column);
    const auto depth = static_cast<std::uint32_t>(groups * kGroup);
    const auto a_offset = static_cast<std::uint32_t>(a_offset_);
    const auto b_offset = static_cast<std::uint32_t>(b_offset_);
    for (std::size_t r = 0; r < count; ++r) {
      Word* state = gemm_.state.row(row + r).data() + column;
      const std::uint32_t of_row =
          b_offset * static_cast<std::uint32_t>(row_sums_[row + r - first_row]) - depth * a_offset * b_offset;
      for (std::size_t j = 0; j < columns; ++j) {
        state[j] +=
            static_cast<std::uint32_t>(sums_[r][j]) + of_row - a_offset * static_cast<std::uint32_t>(column_sums_[j]);
      }
    }
  }

  const GemmSlice& gemm_;
  ByteDecoding a_value_;
  ByteDecoding b_value_;
  std::int32_t a_offset_;
  std::int32_t b_offset_;
  sparsity::SelectionTable selection_;
  std::vector<std::int32_t> rows_;   // [row / kRows][group][row % kRows]
  std::vector<std::int32_t> panel_;  // [group][column]
  std::vector<std::int32_t> row_sums_;
  alignas(64) std::int32_t run_[kBlockDepth / kGroup] = {};
  alignas(64) std::int32_t column_sums_[kColumns] = {};
  alignas(64) std::int32_t sums_[kRows][kColumns] = {};
};

#if HWY_TARGET == HWY_AVX3_DL

/// One thread's rows of a sparse GEMM, A as stored. Which bytes of B a row meets differs from row
/// to row, so a signed A is the signed factor and B the unsigned one, moved up by 128 where it is
/// signed; an unsigned A the other way around. The difference is linear in the sums of rows.
class SparseByteRows {
 public:
  explicit SparseByteRows(const GemmSlice& gemm)
      : gemm_(gemm),
        a_value_(gemm.instruction->a_type),
        b_value_(gemm.instruction->b_type),
        b_offset_(a_value_.is_signed == b_value_.is_signed ? (a_value_.is_signed ? 128 : -128) : 0),
        selection_(gemm.instruction->a_type),
        work_(std::make_unique<Workspace>(selection_)) {}

  void run(std::size_t row_begin, std::size_t row_end) {
    const std::size_t columns = gemm_.state.cols();
    for (std::size_t column = 0; column < columns; column += kBlockColumns) {
      for (std::size_t t = gemm_.depth_begin; t < gemm_.depth_end; t += kDepth) {
        run_block(row_begin, row_end, column, std::min(column + kBlockColumns, columns), t,
                  std::min(t + kDepth, gemm_.depth_end));
      }
    }
  }

 private:
  static constexpr std::size_t kRowVectors = 2;
  static constexpr std::size_t kPanelRows = kRowVectors * kLanes;
  static constexpr std::size_t kPanelColumns = 8;
  static constexpr std::size_t kLineColumns = 16;  // of D: a line of the cache
  // A block of B is in the second level of the cache, a panel of A in the first.
  static constexpr std::size_t kBlockColumns = 512;
  static constexpr std::size_t kOctets = 128;
  static constexpr std::size_t kDepth = kOctets * kKeptOfOctet;  // as stored

  struct Workspace {
    explicit Workspace(const sparsity::SelectionTable& selection) : table(selection) {}
    OctetTable table;
    alignas(64) std::int32_t rows[kOctets * kPanelRows];      // [octet][row], four bytes in k
    alignas(64) std::int32_t selected[kOctets * kPanelRows];  // likewise, where they find B's
    std::uint64_t columns[kBlockColumns * kOctets];           // [column / kPanelColumns][octet][column]
    std::int32_t row_sums[kPanelRows];
    alignas(64) std::int32_t sums[kLineColumns * kPanelRows];  // [column][row]
    alignas(64) std::uint8_t run[kOctets * kOctet];            // a row or column
  };

  void run_block(std::size_t row_begin, std::size_t row_end, std::size_t column, std::size_t column_end,
                 std::size_t begin, std::size_t end) {
    const std::size_t octets = (end - begin + kKeptOfOctet - 1) / kKeptOfOctet;
    pack_columns(column, column_end, begin, end, octets);
    const auto multiply = a_value_.is_signed ? multiply_octets<kRowVectors, kPanelColumns, true>
                                             : multiply_octets<kRowVectors, kPanelColumns, false>;
    for (std::size_t row = row_begin; row < row_end; row += kPanelRows) {
      const std::size_t rows = std::min(kPanelRows, row_end - row);
      pack_rows(row, rows, begin, end, octets);
      for (std::size_t line = column; line < column_end; line += kLineColumns) {
        const std::size_t columns = std::min(kLineColumns, column_end - line);
        for (std::size_t i = 0; i < rows; ++i) {
          __builtin_prefetch(gemm_.state.row(row + i).data() + line, 1);
        }
        for (std::size_t j = 0; j < columns; j += kPanelColumns) {
          multiply(work_->rows, work_->selected, work_->columns + (line + j - column) * octets, octets,
                   work_->sums + j * kPanelRows);
        }
        add_sums(row, rows, line, columns);
      }
    }
  }

  void pack_rows(std::size_t row, std::size_t rows, std::size_t begin, std::size_t end, std::size_t octets) {
    if (rows < kPanelRows) {
      std::fill_n(work_->rows, octets * kPanelRows, 0);
      std::fill_n(work_->selected, octets * kPanelRows, 0);
    }
    Word buffer[kDepth];
    for (std::size_t i = 0; i < rows; ++i) {
      prefetch_elements(gemm_.a, row + i + kPrefetchRows, begin, end);
      work_->row_sums[i] = pack_run(gemm_.a.words(row + i, begin, end, buffer), end - begin, octets * kKeptOfOctet,
                                    a_value_, 0, work_->run);
      for (std::size_t o = 0; o < octets; ++o) {
        std::memcpy(&work_->rows[o * kPanelRows + i], work_->run + o * kKeptOfOctet, kKeptOfOctet);
      }
      select_of_octets<kPanelRows>(gemm_.nibbles->row(row + i), begin / kKeptOfOctet, octets, selection_.kept,
                                   work_->table, work_->selected + i);
    }
  }

  void pack_columns(std::size_t column, std::size_t column_end, std::size_t begin, std::size_t end,
                    std::size_t octets) {
    const std::size_t first = begin / kKeptOfOctet * kOctet;
    const std::size_t count = std::min(end / selection_.kept * selection_.group, gemm_.b_columns.cols()) - first;
    const std::size_t last = (column_end - column) / kPanelColumns * kPanelColumns * octets;
    if ((column_end - column) % kPanelColumns != 0) {
      std::fill_n(work_->columns + last, kPanelColumns * octets, 0);
    }
    Word buffer[kOctets * kOctet];
    for (std::size_t j = column; j < column_end; ++j) {
      prefetch_elements(gemm_.b_columns, j + kPrefetchRows, first, first + count);
      pack_run(gemm_.b_columns.words(j, first, first + count, buffer), count, octets * kOctet, b_value_, b_offset_,
               work_->run);
      std::uint64_t* panel = work_->columns + (j - column) / kPanelColumns * kPanelColumns * octets;
      for (std::size_t o = 0; o < octets; ++o) {
        std::memcpy(&panel[o * kPanelColumns + (j - column) % kPanelColumns], work_->run + o * kOctet, kOctet);
      }
    }
  }

  void add_sums(std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) {
    const hn::Simd<std::uint32_t, 4, 0> four_words;
    alignas(64) std::uint32_t transposed[kLineColumns / 4][4][kLanes];
    for (std::size_t v = 0; v < kRowVectors; ++v) {
      const std::int32_t* sums = work_->sums + v * kLanes;
      for (std::size_t four = 0; 4 * four < columns; ++four) {
        IntVector quarters[4];
        transpose_four<kPanelRows>(sums + 4 * four * kPanelRows, quarters);
        for (std::size_t i = 0; i < 4; ++i) {
          hn::Store(hn::BitCast(hn::RebindToUnsigned<IntTag>(), quarters[i]), hn::RebindToUnsigned<IntTag>(),
                    transposed[four][i]);
        }
      }
      for (std::size_t i = v * kLanes; i < std::min(rows, (v + 1) * kLanes); ++i) {
        Word* state = gemm_.state.row(row + i).data() + column;
        const auto offset = static_cast<std::uint32_t>(b_offset_) * static_cast<std::uint32_t>(work_->row_sums[i]);
        const std::size_t block = i % kLanes / 4 * 4;
        std::size_t j = 0;
        for (; j + 4 <= columns; j += 4) {
          const auto sum = hn::Load(four_words, &transposed[j / 4][i % 4][block]);
          const auto moved = hn::LoadU(four_words, state + j) - hn::Set(four_words, offset);
          hn::StoreU(moved + sum, four_words, state + j);
        }
        for (; j < columns; ++j) {
          state[j] += transposed[j / 4][i % 4][block + j % 4] - offset;
        }
      }
    }
  }

  const GemmSlice& gemm_;
  ByteDecoding a_value_;
  ByteDecoding b_value_;
  std::int32_t b_offset_;
  sparsity::SelectionTable selection_;
  std::unique_ptr<Workspace> work_;
};

#endif

void run_integer_rows(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
#if HWY_TARGET == HWY_AVX3_DL
  if (gemm.nibbles != nullptr) {
    SparseByteRows(gemm).run(row_begin, row_end);
    return;
  }
#endif
  if (gemm.nibbles != nullptr && has_invalid_nibble(gemm, row_begin, row_end)) {
    run_plain(gemm, row_begin, row_end);  // A has no dense form
    return;
  }
  IntegerRows(gemm).run(row_begin, row_end);
}

#endif  // HWY_TARGET

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sptc::batched {
HWY_EXPORT(run_integer_rows);

bool has_integer_kernel(const mma::MmaInstruction& instruction, const mma::StepRules& rules) {
  const auto is_byte = [](numerics::DataType type) {
    return !numerics::info(type).is_float() && numerics::storage_bits(type) <= 8 && numerics::storage_bits(type) >= 4;
  };
  return rules.is_integer() && !instruction.satfinite && !instruction.bit_operation && is_byte(instruction.a_type) &&
         is_byte(instruction.b_type);
}

void run_integer_gemm(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  HWY_DYNAMIC_DISPATCH(run_integer_rows)(gemm, row_begin, row_end);
}

}  // namespace sptc::batched
#endif
