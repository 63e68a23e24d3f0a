// SPDX-License-Identifier: Apache-2.0
#include "models/batched/float_gemm.h"

#include "models/batched/fallback.h"
#include "models/batched/half.h"
#include "models/batched/lowered_operand.h"
#include "models/batched/window.h"
#include "models/numerics/data_type_info.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/batched/float_gemm.cpp"
#include <hwy/foreach_target.h>
// Highway's dispatch wants its own headers after foreach_target.h.
#if HWY_TARGET != HWY_SCALAR
#include "models/batched/step_kernel-inl.h"
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace sptc::batched::HWY_NAMESPACE {

using numerics::Word;

#if HWY_TARGET == HWY_SCALAR

void run_rows_of_gemm(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  const bool half = gemm.rules->output == numerics::DataType::kF16;
  for (std::size_t i = row_begin; i < row_end; ++i) {
    for (std::size_t j = 0; j < gemm.state.cols(); ++j) {
      Word& state = gemm.state(i, j);
      const Word c = half ? narrow_half(state) : state;
      const Word d = slow_dot(gemm, i, j, gemm.depth_begin, gemm.depth_end, c);
      state = half ? widen_half(d) : d;
    }
  }
}

#else

constexpr std::size_t kBlockRows = 512;
// Sparse rows take half the work and half the bytes of a dense block, the panel of B the same: it
// should serve more of them.
constexpr std::size_t kSparseBlockRows = 1024;

/// The rounding mode of this thread while it lives.
class RoundingMode {
 public:
  explicit RoundingMode(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~RoundingMode() { std::fesetround(before_); }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  int before_;
};

class RowsGemm {
 public:
  RowsGemm(const GemmSlice& gemm, std::size_t rows)
      : gemm_(gemm),
        lowered_a_(gemm.instruction->a_type, *gemm.rules),
        lowered_b_(gemm.instruction->b_type, *gemm.rules),
        a_format_(decoded_format(gemm.instruction->a_type)),
        b_format_(decoded_format(gemm.instruction->b_type)),
        selection_(gemm.instruction->a_type),
        constants_(step_constants(*gemm.rules)),
        output_(output_of(*gemm.rules)),
        narrow_sum_(narrow_step_sum(*gemm.rules, b_format_)),
        rows_(std::make_unique_for_overwrite<PackedRow[]>(std::min(rows, block_rows()))),
        panel_(std::make_unique_for_overwrite<Panel>()) {
    // A multiple of every step, and the panel of B in the first level of the cache.
    depth_ = is_sparse() ? kBlockDepth / 2 : kBlockDepth;
    if (is_lowered()) {
      result_of_steps_.resize(depth_ / lowered_a_.depth() * sizeof(edge_) / sizeof(edge_[0][0]));
    }
  }

  void run(std::size_t row_begin, std::size_t row_end) {
    const RoundingMode toward_zero(FE_TOWARDZERO);
    for (std::size_t row = row_begin; row < row_end; row += block_rows()) {
      for (std::size_t t = gemm_.depth_begin; t < gemm_.depth_end; t += depth_) {
        run_block(row, std::min(row + block_rows(), row_end), t, std::min(t + depth_, gemm_.depth_end));
      }
    }
  }

 private:
  bool is_sparse() const { return gemm_.nibbles != nullptr; }
  bool is_lowered() const { return gemm_.rules->lowered_fp8; }
  const numerics::FloatFormat& decoded_format(numerics::DataType type) const {
    return is_lowered() ? numerics::kF16Format : *numerics::info(type).format;
  }
  std::size_t block_rows() const { return is_sparse() ? kSparseBlockRows : kBlockRows; }

  /// Rows [row, row_end) of elements [begin, end) against all columns.
  void run_block(std::size_t row, std::size_t row_end, std::size_t begin, std::size_t end) {
    begin_ = begin;
    end_ = end;
    const std::size_t whole = is_lowered() ? lowered_a_.depth() : constants_.step;
    constants_.steps = (end - begin + whole - 1) / whole * (whole / constants_.step);
    std::size_t logical_begin = begin;
    std::size_t logical_end = end;
    if (is_sparse()) {
      logical_begin = begin / selection_.kept * selection_.group;
      logical_end = end / selection_.kept * selection_.group;
    }
    for (std::size_t i = row; i < row_end; ++i) {
      prefetch_elements(gemm_.a, i + kPrefetchRows, begin, end);
      pack_row_of_a(i, logical_begin, rows_[i - row]);
    }
    const std::size_t padded = is_sparse() ? logical_end - logical_begin : constants_.steps * constants_.step;
    for (std::size_t column = 0; column < gemm_.b_columns.rows(); column += kPanelColumns) {
      pack_panel<kPanelColumns>(gemm_.b_columns, column, logical_begin, logical_end, padded, b_format_,
                                is_lowered() ? &lowered_b_ : nullptr, !is_sparse(), *panel_);
      for (std::size_t i = row; i < row_end; i += kRowsAtOnce) {
        prefetch_state(i + kRowsAtOnce, row_end, column);
        run_rows(i, std::min(kRowsAtOnce, row_end - i), &rows_[i - row], column);
      }
    }
  }

  void pack_row_of_a(std::size_t row, std::size_t logical_begin, PackedRow& packed) {
    const std::size_t depth = constants_.steps * constants_.step;
    const LoweredOperand* lowered = is_lowered() ? &lowered_a_ : nullptr;
    Word buffer[kBlockDepth];
    pack_row(gemm_.a.words(row, begin_, end_, buffer), end_ - begin_, depth, a_format_, lowered, packed);
    if (is_sparse()) {
      pack_offsets(gemm_.nibbles->row(row).data(), begin_, end_, depth, selection_, logical_begin, kPanelColumns,
                   lowered, packed);
    }
    packed.wide = static_cast<float>(2 * constants_.step) > narrow_sum_ &&
                  largest_step_sum(packed, depth, constants_.step) >= narrow_sum_;
  }

  /// Rows of D are far apart, often by a power of two: nothing else fetches them in time.
  void prefetch_state(std::size_t row, std::size_t row_end, std::size_t column) const {
    constexpr std::size_t kLine = 64 / sizeof(Word);
    for (std::size_t i = row; i < std::min(row + kRowsAtOnce, row_end); ++i) {
      const Word* state = gemm_.state.row(i).data();
      const std::size_t end = std::min(column + kPanelColumns, gemm_.state.cols());
      for (std::size_t j = column; j < end; j += kLine) {
        __builtin_prefetch(state + j, 1);
      }
    }
  }

  /// `count` rows against one panel: the kernel on all lanes, then again, plainly, the lanes that
  /// it must not be trusted with.
  void run_rows(std::size_t row, std::size_t count, const PackedRow* packed, std::size_t column) {
    const std::size_t columns = std::min(kPanelColumns, gemm_.state.cols() - column);
    std::uint32_t* state[kRowsAtOnce];
    bool untrusted = output_ == Output::kHalf;
    bool any_safe = false;
    bool wide = false;
    for (std::size_t r = 0; r < count; ++r) {
      state[r] = gemm_.state.row(row + r).data() + column;
      if (columns < kPanelColumns) {
        std::memset(edge_[r], 0, sizeof(edge_[r]));
        std::memcpy(edge_[r], state[r], columns * sizeof(Word));
        state[r] = edge_[r];
      }
      const bool lanes_unsafe = find_unsafe_lanes(state[r], packed[r].safe, unsafe_[r]);
      any_safe |= packed[r].safe;
      wide |= packed[r].wide;
      untrusted |= lanes_unsafe;
    }
    if (untrusted) {
      for (std::size_t r = 0; r < count; ++r) {
        std::memcpy(before_[r], state[r], sizeof(before_[r]));
      }
    }
    if (any_safe && is_lowered()) {
      run_lowered(count, packed, state, wide);
    } else if (any_safe) {
      run_kernel(count, packed, state, wide);
    }
    for (std::size_t r = 0; r < count; ++r) {
      if (untrusted) {
        redo_unsafe_lanes(row + r, column, columns, packed[r].has_nan, r, state[r]);
      }
      if (columns < kPanelColumns) {
        std::memcpy(gemm_.state.row(row + r).data() + column, edge_[r], columns * sizeof(Word));
      }
    }
  }

  /// Marks lanes whose accumulator or column is outside the window, all where the row is.
  bool find_unsafe_lanes(const std::uint32_t* state, bool row_is_safe, std::uint32_t* unsafe) {
    const UintTag du;
    const auto least = hn::Set(du, kMinAccumulatorField << 23);
    const auto range = hn::Set(du, ((kMaxAccumulatorField - kMinAccumulatorField + 1) << 23) - 1);
    auto any = hn::Zero(du);
    const auto row_mask = hn::Set(du, row_is_safe ? 0U : ~0U);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto magnitude = hn::And(hn::LoadU(du, state + v * kLanes), hn::Set(du, 0x7FFFFFFFU));
      const auto zero = magnitude == hn::Zero(du);
      const auto outside = hn::VecFromMask(du, (magnitude - least) > range);
      auto mask = hn::IfThenZeroElse(zero, outside);
      mask = hn::Or(mask, hn::Or(row_mask, hn::Load(du, panel_->unsafe + v * kLanes)));
      hn::Store(mask, du, unsafe + v * kLanes);
      any = hn::Or(any, mask);
    }
    return !hn::AllTrue(du, any == hn::Zero(du));
  }

  HWY_NOINLINE void redo_unsafe_lanes(std::size_t row, std::size_t column, std::size_t columns, bool row_has_nan,
                                      std::size_t r, std::uint32_t* state) {
    std::uint32_t* unsafe = unsafe_[r];
    const UintTag du;
    auto any = hn::Zero(du);
    for (std::size_t v = 0; v < kVectors; ++v) {
      auto mask = hn::Load(du, unsafe + v * kLanes);
      if (output_ == Output::kHalf) {
        const auto d = hn::LoadU(du, state + v * kLanes);
        mask = hn::Or(mask, hn::VecFromMask(du, d == hn::Set(du, kOverflowed)));
        hn::Store(mask, du, unsafe + v * kLanes);
      }
      any = hn::Or(any, mask);
    }
    if (hn::AllTrue(du, any == hn::Zero(du))) {
      return;
    }
    const RoundingMode nearest(FE_TONEAREST);
    for (std::size_t j = 0; j < columns; ++j) {
      if (unsafe[j] != 0) {
        // A NaN among the factors of a step, or in its accumulator, is the result from there on. Of
        // a column that meets a sparse row it is not known whether the NaN is selected.
        const bool nan =
            row_has_nan || (!is_sparse() && panel_->has_nan[j]) || (before_[r][j] & 0x7FFFFFFFU) > 0x7F800000U;
        state[j] = nan ? numerics::canonical_nan(numerics::kF32Format) : slow_state(row, column + j, before_[r][j]);
      }
    }
  }

  std::uint32_t slow_state(std::size_t row, std::size_t column, std::uint32_t c) {
    if (output_ != Output::kHalf) {
      return slow_dot(gemm_, row, column, begin_, end_, c);
    }
    return widen_half(slow_dot(gemm_, row, column, begin_, end_, narrow_half(c)));
  }

  /// Every instruction of the block by itself, from zero, then all additions of the accumulator:
  /// changing the rounding mode takes time.
  void run_lowered(std::size_t count, const PackedRow* packed, std::uint32_t* const* state, bool wide) {
    constexpr std::size_t kStepsOfInstruction = 2;
    const std::size_t steps = constants_.steps;
    std::fill(result_of_steps_.begin(), result_of_steps_.end(), 0U);
    const auto result = [&](std::size_t first_step, std::size_t r) {
      return result_of_steps_.data() + (first_step / kStepsOfInstruction * kRowsAtOnce + r) * kPanelColumns;
    };
    constants_.steps = kStepsOfInstruction;
    for (std::size_t first = 0; first < steps; first += kStepsOfInstruction) {
      std::uint32_t* results[kRowsAtOnce];
      for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
        results[r] = result(first, r);
      }
      constants_.first_step = first;
      run_kernel(count, packed, results, wide);
    }
    constants_.steps = steps;
    constants_.first_step = 0;
    const RoundingMode nearest(FE_TONEAREST);
    for (std::size_t first = 0; first < steps; first += kStepsOfInstruction) {
      for (std::size_t r = 0; r < count; ++r) {
        output_ == Output::kHalf ? add_to_nearest<Output::kHalf>(result(first, r), kPanelColumns, state[r])
                                 : add_to_nearest<Output::kFloat>(result(first, r), kPanelColumns, state[r]);
      }
    }
  }

  using Kernel = void (*)(const PackedRow*, const Panel&, std::uint32_t* const*, const StepConstants&);
  template <Output kOutput, bool kSparse, bool kWide>
  static constexpr Kernel kByRows[] = {run_steps<1, kOutput, kSparse, kWide>,
                                       run_steps<kRowsAtOnce, kOutput, kSparse, kWide>};
  template <Output kOutput>
  static constexpr const Kernel* kKernels[2][2] = {{kByRows<kOutput, false, false>, kByRows<kOutput, false, true>},
                                                   {kByRows<kOutput, true, false>, kByRows<kOutput, true, true>}};

  void run_kernel(std::size_t count, const PackedRow* packed, std::uint32_t* const* state, bool wide) {
    const auto& kernels = output_ == Output::kFloat        ? kKernels<Output::kFloat>
                          : output_ == Output::kShortFloat ? kKernels<Output::kShortFloat>
                                                           : kKernels<Output::kHalf>;
    kernels[is_sparse() ? 1 : 0][wide ? 1 : 0][count == kRowsAtOnce ? 1 : 0](packed, *panel_, state, constants_);
  }

  const GemmSlice& gemm_;
  LoweredOperand lowered_a_;  // used where is_lowered
  LoweredOperand lowered_b_;
  Decoding a_format_;
  Decoding b_format_;
  sparsity::SelectionTable selection_;
  StepConstants constants_;
  Output output_;
  float narrow_sum_;
  std::size_t depth_ = 0;  // of a block
  std::size_t begin_ = 0;  // of the present block
  std::size_t end_ = 0;
  std::unique_ptr<PackedRow[]> rows_;
  std::unique_ptr<Panel> panel_;
  std::vector<std::uint32_t> result_of_steps_;  // [instruction of the block][row][column]
  alignas(64) std::uint32_t unsafe_[kRowsAtOnce][kPanelColumns];
  alignas(64) std::uint32_t before_[kRowsAtOnce][kPanelColumns];
  alignas(64) std::uint32_t edge_[kRowsAtOnce][kPanelColumns];
};

void run_rows_of_gemm(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  RowsGemm(gemm, row_end - row_begin).run(row_begin, row_end);
}

#endif  // HWY_TARGET

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sptc::batched {

HWY_EXPORT(run_rows_of_gemm);

bool has_float_kernel(const mma::MmaInstruction& instruction, const mma::StepRules& rules) {
  using numerics::DataType;
  const auto& a = numerics::info(instruction.a_type).format;
  const auto& b = numerics::info(instruction.b_type).format;
  const bool fp8 = numerics::is_fp8(instruction.a_type) && numerics::is_fp8(instruction.b_type);
  if (!a || !b || instruction.scales || (rules.lowered_fp8 && !fp8) || instruction.c_type() != rules.output ||
      rules.zero_rule != mma::ZeroRule::kIgnore || a->mantissa_bits + b->mantissa_bits > 22 || a->exponent_bits > 8 ||
      b->exponent_bits > 8) {
    return false;
  }
  const bool toward_zero = rules.rounding == mma::OutputRounding::kTowardZero;
  const bool is_float = rules.output == DataType::kF32 && toward_zero;
  const bool is_half = rules.output == DataType::kF16 && !toward_zero && rules.cleared_output_bits == 0;
  const int step = rules.products_per_step;
  // Half a step and the accumulator fit 32 bits with these bounds, see StepConstants.
  const int half_step = (step + 1) / 2;
  const double half_sum = 4.0 * half_step * ((2.0 - std::ldexp(1.0, -a->mantissa_bits)) / 2) *
                              ((2.0 - std::ldexp(1.0, -b->mantissa_bits)) / 2) +
                          2.0;
  return (is_float || is_half) && step >= 2 && step <= 32 && std::has_single_bit(static_cast<unsigned>(step)) &&
         rules.fraction_bits >= 11 && rules.fraction_bits <= kMaxFractionBits &&
         rules.exponent_floor.value_or(-127) < 100 && std::ldexp(half_sum, rules.fraction_bits) < std::ldexp(1.0, 31);
}

void run_float_gemm(const GemmSlice& gemm, std::size_t row_begin, std::size_t row_end) {
  HWY_DYNAMIC_DISPATCH(run_rows_of_gemm)(gemm, row_begin, row_end);
}

}  // namespace sptc::batched
#endif
