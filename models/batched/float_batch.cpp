// SPDX-License-Identifier: Apache-2.0
#include "models/batched/batch_run.h"
#include "models/batched/half.h"
#include "models/batched/lowered_operand.h"
#include "models/batched/rounding_mode.h"
#include "models/batched/window.h"
#include "models/numerics/data_type_info.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/batched/float_batch.cpp"
#include <hwy/foreach_target.h>
// Highway's dispatch wants its own headers after foreach_target.h.
#if HWY_TARGET != HWY_SCALAR
#include "models/batched/lane_kernel-inl.h"
#endif

#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cfenv>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace sptc::batched::HWY_NAMESPACE {

using numerics::Word;

#if HWY_TARGET == HWY_SCALAR

// No vectors: the plain arithmetic.
void run_float_cases(const BatchRun& run, std::size_t begin, std::size_t end) {
  run.run_plain(begin, end);
}

#else

template <typename T>
using AlignedArray = hwy::AlignedFreeUniquePtr<T[]>;

/// One thread's cases.
class FloatCases {
 public:
  explicit FloatCases(const BatchRun& run)
      : run_(run),
        batch_(run.batch),
        lowered_a_(run.instruction.a_type, run.rules),
        lowered_b_(run.instruction.b_type, run.rules),
        a_format_(decoded_format(run.instruction.a_type)),
        b_format_(decoded_format(run.instruction.b_type)),
        constants_(step_constants(run.rules)),
        output_(output_of(run.rules)),
        is_sparse_(!batch_.indices.empty()),
        columns_((batch_.n + kVectors - 1) / kVectors * kVectors) {
    const std::size_t whole = is_lowered() ? lowered_a_.depth() : constants_.step;
    constants_.steps = (batch_.depth + whole - 1) / whole * (whole / constants_.step);
    depth_ = constants_.steps * constants_.step;
    b_rows_ = is_sparse_ ? (batch_.k + kNeighbours - 1) / kNeighbours * kNeighbours : depth_;
    is_wide_ = static_cast<float>(2 * constants_.step) > narrow_step_sum(run.rules, b_format_);
    allocate(a_words_, depth_ * kLanes);
    allocate(a_value_, depth_ * kLanes);
    allocate(a_bytes_, depth_ * kLanes);
    allocate(a_exponent_, depth_ * kLanes);
    allocate(value_bytes_, depth_ * kLanes);
    allocate(exponent_bytes_, depth_ * kLanes);
    first_of_block_.resize(depth_);
    allocate(b_words_, b_rows_ * columns_);
    allocate(b_value_, b_rows_ * columns_);
    allocate(b_exponent_, b_rows_ * columns_);
    allocate(state_, columns_ * kLanes);
    allocate(unsafe_, columns_ * kLanes);
    allocate(result_of_steps_, columns_ * kLanes);
    column_flags_.resize(columns_);
    strided_.resize(batch_.k);
    const std::size_t longest = std::max(batch_.k, batch_.depth);
    allocate(spare_value_, longest);
    allocate(spare_bytes_, longest);
    f16_.resize(longest);
  }

  void run(std::size_t begin, std::size_t end) {
    const RoundingMode toward_zero(FE_TOWARDZERO);
    for (index_ = begin; index_ < end; ++index_) {
      pack_b();
      for (std::size_t row = 0; row < batch_.m; row += kLanes) {
        run_lanes(row, std::min(kLanes, batch_.m - row));
      }
    }
  }

 private:
  // Elements of B among which a sparse row finds one: a group of 2:4, two of 1:2.
  static constexpr std::size_t kNeighbours = 4;

  bool is_lowered() const { return run_.rules.lowered_fp8; }
  /// What the kernel multiplies.
  const numerics::FloatFormat& decoded_format(numerics::DataType type) const {
    return is_lowered() ? numerics::kF16Format : *numerics::info(type).format;
  }

  /// Zeros, with room for whole vectors.
  template <typename T>
  static void allocate(AlignedArray<T>& array, std::size_t count) {
    array = hwy::AllocateAligned<T>(count + HWY_MAX_BYTES);
    std::fill_n(array.get(), count + HWY_MAX_BYTES, T{});
  }

  void pack_b() {
    const Word* source = batch_.b.data() + index_ * batch_.k * batch_.n;
    const bool as_stored =
        !is_sparse_ && !is_lowered() && columns_ == batch_.n && b_rows_ == batch_.k;
    if (is_sparse_) {
      pack_neighbours(source);
    }
    for (std::size_t k = 0; k < batch_.k && !is_sparse_ && !as_stored; ++k) {
      const std::size_t place = is_lowered() ? lowered_b_.place(k) : k;
      Word* words = b_words_.get() + place * columns_;
      if (is_lowered()) {
        lowered_b_.convert(source + k * batch_.n, batch_.n, batch_.n, words);
      } else {
        std::copy_n(source + k * batch_.n, batch_.n, words);
      }
    }
    const Word* words = as_stored ? source : b_words_.get();
    const RunFlags all =
        decode_words<true>(words, b_rows_ * columns_, b_format_, b_value_.get(), b_exponent_.get());
    std::fill(column_flags_.begin(), column_flags_.end(), RunFlags{true, false});
    if (!all.safe) {
      for (std::size_t j = 0; j < batch_.n; ++j) {
        for (std::size_t k = 0; k < batch_.k; ++k) {
          strided_[k] = source[k * batch_.n + j];
        }
        column_flags_[j] = flags_of<true>(strided_.data(), batch_.k, lowered_b_, b_format_);
      }
    }
  }

  /// B as [k / 4][column][4].
  void pack_neighbours(const Word* source) {
    for (std::size_t k = 0; k < batch_.k; ++k) {
      Word* words = b_words_.get() + k / kNeighbours * kNeighbours * columns_ + k % kNeighbours;
      for (std::size_t j = 0; j < batch_.n; ++j) {
        const Word word = source[k * batch_.n + j];
        words[j * kNeighbours] = is_lowered() ? lowered_b_.f16(word) : word;
      }
    }
  }

  /// Of words in contiguous memory.
  template <bool kIsColumn>
  RunFlags flags_of(const Word* words, std::size_t count, const LoweredOperand& lowered,
                    const Decoding& format) {
    if (is_lowered()) {
      lowered.convert(words, count, count, f16_.data());
      words = f16_.data();
    }
    return decode_words<kIsColumn>(words, count, format, spare_value_.get(), spare_bytes_.get());
  }

  /// Where element `t` of a row of A stands.
  std::size_t place_in_a(std::size_t t) const { return is_lowered() ? lowered_a_.place(t) : t; }

  void pack_a(std::size_t row, std::size_t rows) {
    const Word* source = batch_.a.data() + (index_ * batch_.m + row) * batch_.depth;
    if (rows < kLanes) {
      std::fill_n(a_words_.get(), depth_ * kLanes, Word{0});
    }
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t t = 0; t < batch_.depth; ++t) {
        const Word word = source[i * batch_.depth + t];
        a_words_[place_in_a(t) * kLanes + i] = is_lowered() ? lowered_a_.f16(word) : word;
      }
    }
    const bool selects_neighbours = !is_sparse_ || pack_selection(row, rows);
    const RunFlags all = decode_words<false>(a_words_.get(), depth_ * kLanes, a_format_,
                                             a_value_.get(), a_bytes_.get());
    for (std::size_t i = 0; i < depth_ * kLanes; ++i) {
      a_exponent_[i] = a_bytes_[i] * 0x01010101U;
    }
    std::fill(row_flags_, row_flags_ + kLanes, RunFlags{true, false});
    if (!selects_neighbours) {
      std::fill(row_flags_, row_flags_ + kLanes, RunFlags{false, false});
    } else if (!all.safe) {
      for (std::size_t i = 0; i < rows; ++i) {
        row_flags_[i] =
            flags_of<false>(source + i * batch_.depth, batch_.depth, lowered_a_, a_format_);
      }
    }
  }

  /// Which elements of B the rows meet. False where those of one t are further apart than the
  /// kernel looks: no pattern of the hardware.
  bool pack_selection(std::size_t row, std::size_t rows) {
    const std::uint32_t* k = batch_.indices.data() + (index_ * batch_.m + row) * batch_.depth;
    std::uint32_t apart = 0;
    for (std::size_t t = 0; t < batch_.depth; ++t) {
      const std::size_t place = place_in_a(t);
      const std::uint32_t block = k[t] / kNeighbours;
      first_of_block_[place] = block * kNeighbours * columns_;
      for (std::size_t i = 0; i < rows; ++i) {
        const std::uint32_t index = k[i * batch_.depth + t];
        const std::uint32_t position = index % kNeighbours;
        apart |= index / kNeighbours ^ block;
        value_bytes_[place * kLanes + i] = position * 0x04040404U + 0x03020100U;
        exponent_bytes_[place * kLanes + i] = position * 0x01010101U + 0x0C080400U;
      }
    }
    return apart == 0;
  }

  /// `rows` rows from `row` on against all columns: the kernel on all lanes, then again, plainly,
  /// the lanes that it must not be trusted with.
  void run_lanes(std::size_t row, std::size_t rows) {
    pack_a(row, rows);
    const bool half = output_ == Output::kHalf;
    for (std::size_t i = 0; i < rows && !batch_.c.empty(); ++i) {
      const Word* c = batch_.c.data() + ((index_ * batch_.m) + row + i) * batch_.n;
      for (std::size_t j = 0; j < batch_.n; ++j) {
        state_[j * kLanes + i] = half ? widen_half(c[j]) : c[j];
      }
    }
    if (batch_.c.empty()) {
      std::fill_n(state_.get(), columns_ * kLanes, 0U);
    }
    bool untrusted = find_unsafe_lanes() || half;
    is_lowered() ? run_lowered() : run_kernel(state_.get());
    untrusted = untrusted && mark_overflow();
    for (std::size_t i = 0; i < rows; ++i) {
      Word* d = run_.d + ((index_ * batch_.m) + row + i) * batch_.n;
      for (std::size_t j = 0; j < batch_.n; ++j) {
        d[j] = half ? narrow_half(state_[j * kLanes + i]) : state_[j * kLanes + i];
      }
    }
    if (untrusted) {
      redo_unsafe_lanes(row, rows);
    }
  }

  /// Marks lanes whose accumulator, row or column is outside the window.
  bool find_unsafe_lanes() {
    const UintTag du;
    const auto least = hn::Set(du, kMinAccumulatorField << 23);
    const auto range = hn::Set(du, ((kMaxAccumulatorField - kMinAccumulatorField + 1) << 23) - 1);
    alignas(64) std::uint32_t row_mask[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) {
      row_mask[i] = row_flags_[i].safe ? 0U : ~0U;
    }
    auto any = hn::Zero(du);
    for (std::size_t j = 0; j < columns_; ++j) {
      const auto magnitude =
          hn::And(hn::Load(du, state_.get() + j * kLanes), hn::Set(du, 0x7FFFFFFFU));
      const auto outside = hn::VecFromMask(du, (magnitude - least) > range);
      auto mask = hn::IfThenZeroElse(magnitude == hn::Zero(du), outside);
      mask = hn::Or(mask, hn::Set(du, column_flags_[j].safe ? 0U : ~0U));
      mask = hn::Or(mask, hn::Load(du, row_mask));
      hn::Store(mask, du, unsafe_.get() + j * kLanes);
      any = hn::Or(any, mask);
    }
    return !hn::AllTrue(du, any == hn::Zero(du));
  }

  /// Adds the f16 accumulators that overflowed. Whether there is any mark.
  bool mark_overflow() {
    const UintTag du;
    auto any = hn::Zero(du);
    for (std::size_t j = 0; j < columns_; ++j) {
      auto mask = hn::Load(du, unsafe_.get() + j * kLanes);
      if (output_ == Output::kHalf) {
        const auto d = hn::Load(du, state_.get() + j * kLanes);
        mask = hn::Or(mask, hn::VecFromMask(du, d == hn::Set(du, kOverflowed)));
        hn::Store(mask, du, unsafe_.get() + j * kLanes);
      }
      any = hn::Or(any, mask);
    }
    return !hn::AllTrue(du, any == hn::Zero(du));
  }

  HWY_NOINLINE void redo_unsafe_lanes(std::size_t row, std::size_t rows) {
    const RoundingMode nearest(FE_TONEAREST);
    const bool half = output_ == Output::kHalf;
    const Word quiet = half ? numerics::canonical_nan(numerics::kF16Format)
                            : numerics::canonical_nan(numerics::kF32Format);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < batch_.n; ++j) {
        if (unsafe_[j * kLanes + i] != 0) {
          // A NaN among the factors is the result. Of a column that meets a sparse row it is not
          // known whether the NaN is selected.
          const bool nan = row_flags_[i].has_nan || (!is_sparse_ && column_flags_[j].has_nan);
          run_.d[(index_ * batch_.m + row + i) * batch_.n + j] =
              nan ? quiet : run_.plain(index_, row + i, j);
        }
      }
    }
  }

  /// Every instruction from zero, and its result added to the accumulator.
  void run_lowered() {
    constexpr std::size_t kStepsOfInstruction = 2;
    const std::size_t steps = constants_.steps;
    const std::size_t lanes = columns_ * kLanes;
    constants_.steps = kStepsOfInstruction;
    for (std::size_t first = 0; first < steps; first += kStepsOfInstruction) {
      std::fill_n(result_of_steps_.get(), lanes, 0U);
      constants_.first_step = first;
      run_kernel(result_of_steps_.get());
      const RoundingMode nearest(FE_TONEAREST);
      output_ == Output::kHalf
          ? add_to_nearest<Output::kHalf>(result_of_steps_.get(), lanes, state_.get())
          : add_to_nearest<Output::kFloat>(result_of_steps_.get(), lanes, state_.get());
    }
    constants_.steps = steps;
    constants_.first_step = 0;
  }

  void run_kernel(std::uint32_t* state) {
    switch (output_) {
      case Output::kFloat:
        return run_kernel_of<Output::kFloat>(state);
      case Output::kShortFloat:
        return run_kernel_of<Output::kShortFloat>(state);
      case Output::kHalf:
        return run_kernel_of<Output::kHalf>(state);
    }
  }

  template <Output kOutput>
  void run_kernel_of(std::uint32_t* state) {
    if (is_sparse_) {
      is_wide_ ? run_columns<kOutput, true, true>(state) : run_columns<kOutput, true, false>(state);
    } else {
      is_wide_ ? run_columns<kOutput, false, true>(state)
               : run_columns<kOutput, false, false>(state);
    }
  }

  template <Output kOutput, bool kSparse, bool kWide>
  void run_columns(std::uint32_t* state) {
    const LaneOperands operands{
        a_value_.get(), a_exponent_.get(),      b_value_.get(),     b_exponent_.get(),
        columns_,       first_of_block_.data(), value_bytes_.get(), exponent_bytes_.get()};
    constexpr std::size_t kAtOnce = kRowsAtOnce * kVectors;
    std::size_t j = 0;
    for (; j + kAtOnce <= columns_; j += kAtOnce) {
      run_lane_steps<kRowsAtOnce, kOutput, kSparse, kWide>(operands, j, state + j * kLanes,
                                                           constants_);
    }
    for (; j < columns_; j += kVectors) {
      run_lane_steps<1, kOutput, kSparse, kWide>(operands, j, state + j * kLanes, constants_);
    }
  }

  const BatchRun& run_;
  const MmaBatch& batch_;
  LoweredOperand lowered_a_;  // used where is_lowered
  LoweredOperand lowered_b_;
  Decoding a_format_;
  Decoding b_format_;
  StepConstants constants_;
  Output output_;
  bool is_sparse_;
  bool is_wide_ = false;        // sums may leave 32 bits
  std::size_t columns_;         // n up to whole fours
  std::size_t depth_ = 0;       // up to whole steps
  std::size_t b_rows_ = 0;      // as many as the kernel reads
  std::size_t index_ = 0;       // of the present case
  AlignedArray<Word> a_words_;  // [depth][kLanes]
  AlignedArray<float> a_value_;
  AlignedArray<std::uint8_t> a_bytes_;
  AlignedArray<std::uint32_t> a_exponent_;
  // Sparse, see LaneOperands.
  std::vector<std::size_t> first_of_block_;
  AlignedArray<std::uint32_t> value_bytes_;
  AlignedArray<std::uint32_t> exponent_bytes_;
  AlignedArray<Word> b_words_;  // [k][columns_], sparse [k / 4][columns_][4]
  AlignedArray<float> b_value_;
  AlignedArray<std::uint8_t> b_exponent_;
  AlignedArray<std::uint32_t> state_;   // [columns_][kLanes]
  AlignedArray<std::uint32_t> unsafe_;  // likewise, all ones where the lane must not be trusted
  AlignedArray<std::uint32_t> result_of_steps_;  // as state_: of one lowered instruction
  RunFlags row_flags_[kLanes] = {};
  std::vector<RunFlags> column_flags_;
  std::vector<Word> strided_;  // a column of B
  std::vector<Word> f16_;      // a lowered row or column
  AlignedArray<float> spare_value_;
  AlignedArray<std::uint8_t> spare_bytes_;
};

void run_float_cases(const BatchRun& run, std::size_t begin, std::size_t end) {
  FloatCases(run).run(begin, end);
}

#endif  // HWY_TARGET

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sptc::batched {

HWY_EXPORT(run_float_cases);

void run_float_batch(const BatchRun& run, std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(run_float_cases)(run, begin, end);
}

}  // namespace sptc::batched
#endif
