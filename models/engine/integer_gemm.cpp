// SPDX-License-Identifier: Apache-2.0
#include "models/engine/integer_gemm.h"

#include "models/engine/fallback.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/engine/integer_gemm.cpp"
#include <hwy/foreach_target.h>
// Highway's dispatch wants its own headers after foreach_target.h.
#include "models/engine/sparse_bytes-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace sptc::engine::HWY_NAMESPACE {

using numerics::Word;

#if HWY_TARGET == HWY_SCALAR

void run_integer_rows(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  for (std::size_t i = row_begin; i < row_end; ++i) {
    for (std::size_t j = 0; j < gemm.state->cols(); ++j) {
      Word& state = (*gemm.state)(i, j);
      state = slow_dot(gemm, i, j, gemm.depth_begin, gemm.depth_end, state);
    }
  }
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
constexpr std::size_t kBlockRows = 256;

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
  explicit IntegerRows(const GemmSlice& gemm)
      : gemm_(gemm),
        a_value_(gemm.instruction->a_type),
        b_value_(gemm.instruction->b_type),
        a_offset_(kBytes && a_value_.is_signed ? 128 : 0),
        b_offset_(kBytes && !b_value_.is_signed ? 128 : 0),
        selection_(gemm.instruction->a_type),
        rows_(kBlockRows / kRows * kRows * kBlockDepth / kGroup),
        panel_(kColumns * kBlockDepth / kGroup + kColumns) {}

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
  void run_block(std::size_t row, std::size_t row_end, std::size_t begin, std::size_t end) {
    const std::size_t groups = (end - begin + kGroup - 1) / kGroup;
    pack_rows(row, row_end, begin, end, groups);
    for (std::size_t column = 0; column < gemm_.state->cols(); column += kColumns) {
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

  static void put(std::int32_t& lane, std::size_t slot, std::int32_t value) {
    constexpr int kBits = 32 / static_cast<int>(kGroup);
    const std::uint32_t mask = (1U << kBits) - 1;
    lane |= static_cast<std::int32_t>((static_cast<std::uint32_t>(value) & mask)
                                      << (static_cast<int>(slot) * kBits));
  }

  /// Values of a row of A at logical k in [begin, end), zero where nothing is stored.
  void logical_row(std::size_t row, std::size_t begin, std::size_t end,
                   std::int32_t* values) const {
    const auto words = gemm_.a->row(row);
    if (gemm_.nibbles == nullptr) {
      for (std::size_t k = begin; k < end; ++k) {
        values[k - begin] = a_value_(words[k]);
      }
      return;
    }
    std::fill(values, values + (end - begin), 0);
    const auto nibbles = gemm_.nibbles->row(row);
    const std::size_t last = end / selection_.group * selection_.kept;
    for (std::size_t t = begin / selection_.group * selection_.kept; t < last; ++t) {
      values[selection_.logical(t, nibbles[t / selection_.kept]) - begin] = a_value_(words[t]);
    }
  }

  void pack_rows(std::size_t row, std::size_t row_end, std::size_t begin, std::size_t end,
                 std::size_t groups) {
    std::int32_t values[kBlockDepth];
    row_sums_.assign(kBlockRows + kRows, 0);
    for (std::size_t i = row; i < row + (row_end - row + kRows - 1) / kRows * kRows; ++i) {
      std::fill(values, values + groups * kGroup, 0);
      if (i < row_end) {
        logical_row(i, begin, end, values);
      }
      std::int32_t* packed = &rows_[(i - row) / kRows * kRows * groups + (i - row) % kRows];
      for (std::size_t g = 0; g < groups; ++g) {
        std::int32_t lane = 0;
        for (std::size_t slot = 0; slot < kGroup; ++slot) {
          const std::int32_t value = values[g * kGroup + slot] + a_offset_;
          put(lane, slot, value);
          row_sums_[i - row] += value;
        }
        packed[g * kRows] = lane;
      }
    }
  }

  void pack_columns(std::size_t column, std::size_t begin, std::size_t end, std::size_t groups) {
    const std::size_t count = end - begin;
    for (std::size_t j = 0; j < kColumns; ++j) {
      const bool inside = column + j < gemm_.b_columns->rows();
      const Word* words = inside ? gemm_.b_columns->row(column + j).data() + begin : nullptr;
      std::int32_t total = 0;
      for (std::size_t g = 0; g < groups; ++g) {
        std::int32_t lane = 0;
        for (std::size_t slot = 0; slot < kGroup; ++slot) {
          const std::size_t k = g * kGroup + slot;
          const std::int32_t value = (inside && k < count ? b_value_(words[k]) : 0) - b_offset_;
          put(lane, slot, value);
          total += value;
        }
        panel()[g * kColumns + j] = lane;
      }
      column_sums_[j] = total;
    }
  }

  void add_sums(std::size_t row, std::size_t count, std::size_t first_row, std::size_t column,
                std::size_t groups) {
    const std::size_t columns = std::min(kColumns, gemm_.state->cols() - column);
    const auto depth = static_cast<std::uint32_t>(groups * kGroup);
    const auto a_offset = static_cast<std::uint32_t>(a_offset_);
    const auto b_offset = static_cast<std::uint32_t>(b_offset_);
    for (std::size_t r = 0; r < count; ++r) {
      Word* state = gemm_.state->row(row + r).data() + column;
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
    for (std::size_t row = row_begin; row < row_end; row += kSparseRows) {
      for (std::size_t t = gemm_.depth_begin; t < gemm_.depth_end; t += kDepth) {
        run_block(row, std::min(row + kSparseRows, row_end), t,
                  std::min(t + kDepth, gemm_.depth_end));
      }
    }
  }

 private:
  static constexpr std::size_t kSparseRows = 1024;
  static constexpr std::size_t kOctets = kBlockDepth / kOctet;
  static constexpr std::size_t kDepth = kOctets * kKeptOfOctet;  // as stored

  struct Workspace {
    explicit Workspace(const SelectionTable& selection) : table(selection) {}
    OctetTable table;
    alignas(64) std::int32_t panel[2 * kOctets * kColumns];  // [2 octet][column]
    alignas(64) std::int32_t sums[kRows][kColumns];
    std::int32_t rows[kSparseRows * kOctets];  // [row / kRows][octet][row % kRows]
    std::uint8_t keys[kSparseRows * kOctets];  // likewise
    std::int32_t row_sums[kSparseRows];
  };

  void run_block(std::size_t row, std::size_t row_end, std::size_t begin, std::size_t end) {
    const std::size_t octets = (end - begin + kKeptOfOctet - 1) / kKeptOfOctet;
    pack_rows(row, row_end, begin, end, octets);
    const std::size_t columns = gemm_.state->cols();
    for (std::size_t column = 0; column < columns; column += kColumns) {
      pack_columns(column, begin, end, octets);
      for (std::size_t i = row; i < row_end; i += kRows) {
        const std::size_t first = (i - row) * octets;
        (a_value_.is_signed ? multiply_octets<kRows, kVectors, true>
                            : multiply_octets<kRows, kVectors, false>)(work_->rows + first,
                                                                       work_->keys + first,
                                                                       work_->table, work_->panel,
                                                                       octets, &work_->sums[0][0]);
        for (std::size_t r = 0; r < std::min(kRows, row_end - i); ++r) {
          Word* state = gemm_.state->row(i + r).data() + column;
          const auto offset = static_cast<std::uint32_t>(b_offset_) *
                              static_cast<std::uint32_t>(work_->row_sums[i + r - row]);
          for (std::size_t j = 0; j < std::min(kColumns, columns - column); ++j) {
            state[j] += static_cast<std::uint32_t>(work_->sums[r][j]) - offset;
          }
        }
      }
    }
  }

  void pack_rows(std::size_t row, std::size_t row_end, std::size_t begin, std::size_t end,
                 std::size_t octets) {
    for (std::size_t i = row; i < row + (row_end - row + kRows - 1) / kRows * kRows; ++i) {
      const std::size_t first = (i - row) / kRows * kRows * octets + (i - row) % kRows;
      std::int32_t total = 0;
      for (std::size_t o = 0; o < octets; ++o) {
        std::uint32_t lane = 0;
        std::uint8_t key = 0;
        if (i < row_end) {
          const std::size_t t = begin + o * kKeptOfOctet;
          const Word* words = gemm_.a->row(i).data() + t;
          for (std::size_t slot = 0; slot < std::min(kKeptOfOctet, end - t); ++slot) {
            const std::int32_t value = a_value_(words[slot]);
            lane |= (static_cast<std::uint32_t>(value) & 0xFFU) << (8 * slot);
            total += value;
          }
          key = octet_key(gemm_.nibbles->row(i).data(), gemm_.nibbles->cols(), t / kKeptOfOctet,
                          selection_.kept);
        }
        work_->rows[first + o * kRows] = static_cast<std::int32_t>(lane);
        work_->keys[first + o * kRows] = key;
      }
      work_->row_sums[i - row] = total;
    }
  }

  void pack_columns(std::size_t column, std::size_t begin, std::size_t end, std::size_t octets) {
    const std::size_t first = begin / kKeptOfOctet * kOctet;
    const std::size_t count =
        std::min(end / selection_.kept * selection_.group, gemm_.b_columns->cols()) - first;
    const hn::ScalableTag<std::uint32_t> du;
    const hn::Rebind<std::uint8_t, decltype(du)> db;
    const auto offset = hn::Set(du, static_cast<std::uint32_t>(b_offset_));
    const auto mask = hn::Set(du, b_value_.mask());
    const auto sign = hn::Set(du, b_value_.sign());
    alignas(64) Word tail[kLanes] = {};
    alignas(64) std::uint32_t lanes[kLanes / 4];
    for (std::size_t j = 0; j < kColumns; ++j) {
      const bool inside = column + j < gemm_.b_columns->rows();
      const Word* words = inside ? gemm_.b_columns->row(column + j).data() + first : nullptr;
      for (std::size_t k = 0; k < octets * kOctet; k += kLanes) {
        const std::size_t left = inside && k < count ? count - k : 0;
        const Word* source = left != 0 ? words + k : tail;
        if (left < kLanes) {
          std::fill_n(tail, kLanes, Word{0});
          std::copy_n(source, left, tail);
          source = tail;
        }
        const auto bits = hn::And(hn::LoadU(du, source), mask);
        const auto value = hn::Xor(bits, sign) - sign + offset;
        hn::Store(hn::U8FromU32(hn::And(value, hn::Set(du, 0xFF))), db,
                  reinterpret_cast<std::uint8_t*>(lanes));
        for (std::size_t g = 0; g < std::min(kLanes / 4, 2 * octets - k / 4); ++g) {
          work_->panel[(k / 4 + g) * kColumns + j] = static_cast<std::int32_t>(lanes[g]);
        }
      }
    }
  }

  const GemmSlice& gemm_;
  ByteDecoding a_value_;
  ByteDecoding b_value_;
  std::int32_t b_offset_;
  SelectionTable selection_;
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
  IntegerRows(gemm).run(row_begin, row_end);
}

#endif  // HWY_TARGET

}  // namespace sptc::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sptc::engine {
namespace {

/// Whether both slots of a group select the same element: then A has no dense form.
bool has_repeated_index(const GemmSlice& gemm) {
  const SelectionTable table(gemm.instruction->a_type);
  for (std::size_t i = 0; i < gemm.nibbles->size(); ++i) {
    const std::uint8_t* position = table.position[gemm.nibbles->data()[i] & 15U];
    for (std::size_t slot = 1; slot < table.kept; ++slot) {
      if (std::find(position, position + slot, position[slot]) != position + slot) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

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
  if (gemm.nibbles != nullptr && has_repeated_index(gemm)) {
    for (std::size_t i = row_begin; i < row_end; ++i) {
      for (std::size_t j = 0; j < gemm.state->cols(); ++j) {
        numerics::Word& state = (*gemm.state)(i, j);
        state = slow_dot(gemm, i, j, gemm.depth_begin, gemm.depth_end, state);
      }
    }
    return;
  }
  HWY_DYNAMIC_DISPATCH(run_integer_rows)(gemm, row_begin, row_end);
}

}  // namespace sptc::engine
#endif
