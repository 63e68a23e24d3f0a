// SPDX-License-Identifier: Apache-2.0
//
// D of a whole kernel: slices of K on the engine, then their reduction and the epilogue.
#include "models/base/error.h"
#include "models/batched/gemm.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/compress.h"
#include "sim/check/kernel/kernel_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;
using numerics::Word;
using sparsity::Pattern;

/// Logical k that one accumulator goes through, in its order.
using Slice = std::vector<std::pair<std::size_t, std::size_t>>;

std::size_t ceil_quotient(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

std::vector<Slice> slices_of(const KernelModel& model, std::size_t k) {
  if (const auto cut = static_cast<std::size_t>(model.order.cut); cut > 0 && cut < k) {
    return {{{0, cut}}, {{cut, k}}};
  }
  const auto depth = static_cast<std::size_t>(model.instruction.shape.k);
  const auto wanted = static_cast<std::size_t>(model.order.granule);
  const std::size_t granule = std::max<std::size_t>(ceil_quotient(wanted, depth), 1) * depth;
  const std::size_t granules = ceil_quotient(k, granule);
  const auto count = static_cast<std::size_t>(model.order.slices);
  const std::size_t share = std::max<std::size_t>(ceil_quotient(granules, count), 1);
  std::vector<Slice> slices;
  for (std::size_t g = 0; g < granules; ++g) {
    const std::size_t slice = model.order.interleaved ? g % count : g / share;
    if (slice >= slices.size()) {
      slices.emplace_back();
    }
    slices[slice].emplace_back(g * granule, std::min((g + 1) * granule, k));
  }
  if (!model.order.decreasing) {
    return slices;
  }
  for (Slice& slice : slices) {
    Slice steps;
    for (const auto& [begin, end] : slice) {
      for (std::size_t at = begin; at < end; at += depth) {
        steps.emplace_back(at, std::min(at + depth, end));
      }
    }
    std::reverse(steps.begin(), steps.end());
    slice = std::move(steps);
  }
  return slices;
}

/// Columns [begin * numerator / denominator, end * ...) of every range of a slice.
template <typename T>
base::Matrix<T> columns_of(const base::Matrix<T>& from, const Slice& slice, std::size_t numerator,
                           std::size_t denominator) {
  std::size_t width = 0;
  for (const auto& [begin, end] : slice) {
    width += (end - begin) * numerator / denominator;
  }
  base::Matrix<T> result(from.rows(), width);
  for (std::size_t row = 0; row < from.rows(); ++row) {
    auto out = result.row(row).begin();
    for (const auto& [begin, end] : slice) {
      const auto source = from.row(row).begin();
      out = std::copy(source + static_cast<std::ptrdiff_t>(begin * numerator / denominator),
                      source + static_cast<std::ptrdiff_t>(end * numerator / denominator), out);
    }
  }
  return result;
}

Word converted(Word word, DataType from, DataType to) {
  return from == to ? word : numerics::from_double(numerics::to_double(word, from), to);
}

base::Matrix<Word> converted(base::Matrix<Word> words, DataType from, DataType to) {
  for (std::size_t i = 0; from != to && i < words.size(); ++i) {
    words.data()[i] = converted(words.data()[i], from, to);
  }
  return words;
}

/// A sum as CUDA cores round it: to nearest even; integers wrap. A double holds the exact sum of
/// two f32 well enough to round it once more (53 >= 2 * 24 + 2).
Word add(Word a, Word b, DataType type) {
  return type == DataType::kS32
             ? a + b
             : numerics::from_double(numerics::to_double(a, type) + numerics::to_double(b, type),
                                     type);
}

/// Adds `addend` into `sum`, all of `type`, and rounds to `stored` on the way.
void accumulate(base::Matrix<Word>& sum, const base::Matrix<Word>& addend, DataType type,
                DataType stored) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const Word exact = add(sum.data()[i], addend.data()[i], type);
    sum.data()[i] = converted(converted(exact, type, stored), stored, type);
  }
}

/// Whether nothing but C follows the sum, and a rounding to nearest even.
bool is_plain(const Epilogue& epilogue) {
  Epilogue plain;
  plain.c_times = std::min(epilogue.c_times, 1);
  plain.bias_of_columns = epilogue.bias_of_columns;
  plain.bias_shift = epilogue.bias_shift;
  plain.bias_times = epilogue.bias_times;  // without a bias it says nothing
  return epilogue == plain;
}

/// Whether finished() makes D of the sums.
bool finishes(const KernelModel& model, const KernelOperands& operands) {
  return !is_plain(model.epilogue) || !operands.bias.empty();
}

/// The last conversion of `value`.
Word narrowed(double value, DataType type, Narrowing narrowing) {
  const Word nearest = numerics::from_double(value, type);
  const double got = numerics::to_double(nearest, type);
  switch (narrowing) {
    case Narrowing::kNearestEven:
      break;
    case Narrowing::kTowardZero:
      return std::isfinite(value) && std::fabs(got) > std::fabs(value) ? nearest - 1 : nearest;
    case Narrowing::kTiesAway: {
      const double away = numerics::to_double(nearest + 1, type);
      const bool is_tie = std::isfinite(value) && std::isfinite(away) && got != value &&
                          std::fabs(value) - std::fabs(got) == std::fabs(away) - std::fabs(value);
      return is_tie ? nearest + 1 : nearest;
    }
    case Narrowing::kSaturating:
      return std::isfinite(value) && !std::isfinite(got) ? nearest - 1 : nearest;
    case Narrowing::kFlushing: {
      const auto& format = *numerics::info(type).format;
      const bool is_subnormal =
          std::isfinite(got) &&
          numerics::unpack(nearest, format).significand < (1U << format.mantissa_bits);
      return is_subnormal ? nearest & (Word{1} << (format.storage_bits() - 1)) : nearest;
    }
  }
  return nearest;
}

/// The epilogue of one element, in f32 as kernels have it or in exact arithmetic; null: none.
template <typename Real>
Real finished(const Epilogue& epilogue, Real sum, const Real* c, const Real* bias) {
  const Real alpha = Real{epilogue.alpha} * epilogue.scale_a * epilogue.scale_b;
  Real y = c != nullptr ? std::fma(alpha, sum, epilogue.beta * *c) : alpha * sum;
  for (int again = 1; c != nullptr && again < epilogue.c_times; ++again) {
    y += epilogue.beta * *c;
  }
  const auto activate = [&] {
    y = epilogue.activation == Activation::kRelu && !(y > 0) && !std::isnan(y) ? Real{0} : y;
  };
  if (epilogue.bias_after_activation) {
    activate();
  }
  for (int times = 0; bias != nullptr && times < epilogue.bias_times; ++times) {
    y += *bias;
  }
  if (!epilogue.bias_after_activation) {
    activate();
  }
  return epilogue.scale_d * y;
}

class TensorCoreKernel {
 public:
  TensorCoreKernel(const KernelData& data, const KernelModel& model, const KernelOperands& operands,
                   int threads)
      : data_(data), model_(model), operands_(operands), threads_(threads) {}

  /// The accumulators, in the accumulator's type, before the last conversion.
  base::Matrix<Word> run() {
    const DataType type = model_.rules.output;
    const bool has_c = !operands_.c.empty() && model_.epilogue.c_times > 0;
    const bool finishes_c = model_.order.c_in_epilogue && finishes(model_, operands_);
    base::Matrix<Word> c;
    if (has_c) {
      // An instruction whose C has another type than D widens it itself, exactly.
      c = converted(operands_.c, data_.c_type,
                    model_.order.c_in_epilogue ? type : model_.instruction.c_type());
    }
    std::vector<Slice> slices = slices_of(model_, operands_.b_columns.cols());
    const Reduction reduction = model_.order.reduction;
    if (reduction == Reduction::kSerialReversed || reduction == Reduction::kParallelReversed) {
      std::reverse(slices.begin(), slices.end());
    }
    std::vector<base::Matrix<Word>> partial;
    for (const Slice& slice : slices) {
      const bool starts_from_c = has_c && !model_.order.c_in_epilogue && partial.empty();
      partial.push_back(run_slice(slice, starts_from_c ? &c : nullptr));
    }
    if (const auto again = static_cast<std::size_t>(model_.order.repeated_slice);
        model_.order.repeated_slice >= 0 && again < partial.size()) {
      const base::Matrix<Word> copy = partial[again];
      partial.insert(partial.begin() + model_.order.repeated_slice + 1, copy);
    }
    const bool serial = reduction == Reduction::kSerial || reduction == Reduction::kSerialReversed;
    const base::Matrix<Word>* const epilogue_c =
        has_c && model_.order.c_in_epilogue && !finishes_c ? &c : nullptr;
    return serial ? serial_sum(partial, epilogue_c) : parallel_sum(partial, epilogue_c);
  }

 private:
  base::Matrix<Word> run_slice(const Slice& slice, const base::Matrix<Word>* c) const {
    const mma::MmaInstruction& instruction = model_.instruction;
    const base::Matrix<Word> b_columns = columns_of(operands_.b_columns, slice, 1, 1);
    batched::GemmOperands gemm;
    gemm.b_columns = &b_columns;
    gemm.c = c;
    base::Matrix<Word> a;
    sparsity::CompressedMatrix compressed;
    if (instruction.sparse) {
      const Pattern pattern = sparsity::hardware_pattern(instruction.a_type);
      const auto kept = static_cast<std::size_t>(pattern.kept);
      const auto group = static_cast<std::size_t>(pattern.group);
      compressed = {instruction.a_type, pattern, b_columns.cols(),
                    columns_of(operands_.a, slice, kept, group),
                    columns_of(operands_.nibbles, slice, 1, group)};
      gemm.compressed_a = &compressed;
    } else {
      a = columns_of(operands_.a, slice, 1, 1);
      gemm.a = &a;
    }
    return batched::gemm(instruction, model_.rules, gemm, {.threads = threads_, .split_k = 1});
  }

  /// Every slice adds to what the one before stored in D.
  base::Matrix<Word> serial_sum(std::vector<base::Matrix<Word>>& partial,
                                const base::Matrix<Word>* c) const {
    const DataType type = model_.rules.output;
    base::Matrix<Word> sum = std::move(partial.front());
    if (c != nullptr) {
      accumulate(sum, *c, type, type);
    }
    if (partial.size() > 1) {
      sum = converted(converted(std::move(sum), type, data_.d_type), data_.d_type, type);
    }
    for (std::size_t i = 1; i < partial.size(); ++i) {
      accumulate(sum, partial[i], type, data_.d_type);
    }
    return sum;
  }

  /// A workspace of accumulators, summed before the epilogue.
  base::Matrix<Word> parallel_sum(std::vector<base::Matrix<Word>>& partial,
                                  const base::Matrix<Word>* c) const {
    const DataType type = model_.rules.output;
    if (model_.order.reduction == Reduction::kTree) {
      while (partial.size() > 1) {
        std::vector<base::Matrix<Word>> sums;
        for (std::size_t i = 0; i < partial.size(); i += 2) {
          sums.push_back(std::move(partial[i]));
          if (i + 1 < partial.size()) {
            accumulate(sums.back(), partial[i + 1], type, type);
          }
        }
        partial = std::move(sums);
      }
    }
    base::Matrix<Word> sum = std::move(partial.front());
    for (std::size_t i = 1; i < partial.size(); ++i) {
      accumulate(sum, partial[i], type, type);
    }
    if (c != nullptr) {
      accumulate(sum, *c, type, type);
    }
    return sum;
  }

  const KernelData& data_;
  const KernelModel& model_;
  const KernelOperands& operands_;
  int threads_;
};

/// Elements of `words` as the numbers that they are.
base::Matrix<double> values_of(const base::Matrix<Word>& words, DataType type) {
  base::Matrix<double> values(words.rows(), words.cols());
  for (std::size_t i = 0; i < words.size(); ++i) {
    values.data()[i] = numerics::to_double(words.data()[i], type);
  }
  return values;
}

/// D without a tensor core.
base::Matrix<Word> run_on_host(const KernelData& data, const KernelModel& model,
                               const KernelOperands& operands) {
  const base::Matrix<double> a = values_of(operands.a, model.instruction.a_type);
  const base::Matrix<double> b_columns = values_of(operands.b_columns, model.instruction.b_type);
  const bool chain = model.arithmetic == KernelArithmetic::kFmaChain;
  base::Matrix<Word> d(a.rows(), b_columns.rows());
  for (std::size_t i = 0; i < d.rows(); ++i) {
    const std::vector<std::size_t> positions = positions_in_k(model, operands, i);
    for (std::size_t j = 0; j < d.cols(); ++j) {
      double sum = operands.c.empty() ? 0.0 : numerics::to_double(operands.c(i, j), data.c_type);
      for (std::size_t t = 0; t < a.cols(); ++t) {
        const double b = b_columns(j, positions[t]);
        sum = chain ? std::fma(static_cast<float>(a(i, t)), static_cast<float>(b),
                               static_cast<float>(sum))
                    : sum + a(i, t) * b;
      }
      d(i, j) = numerics::from_double(sum, data.d_type);
    }
  }
  return d;
}

}  // namespace

std::vector<std::size_t> positions_in_k(const KernelModel& model, const KernelOperands& operands,
                                        std::size_t row) {
  std::vector<std::size_t> positions(operands.a.cols());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  if (!model.instruction.sparse) {
    return positions;
  }
  const Pattern pattern = sparsity::hardware_pattern(model.instruction.a_type);
  const auto kept = static_cast<std::size_t>(pattern.kept);
  for (std::size_t t = 0; t < positions.size(); ++t) {
    positions[t] = t / kept * static_cast<std::size_t>(pattern.group) +
                   static_cast<std::size_t>(sparsity::selected_position(
                       operands.nibbles(row, t / kept), static_cast<int>(t % kept), pattern));
  }
  return positions;
}

double epilogue_value(const Epilogue& epilogue, double sum, double c, double bias) {
  return finished(epilogue, sum, epilogue.c_times > 0 ? &c : nullptr, &bias);
}

base::Matrix<Word> execute(const KernelData& data, const KernelModel& model,
                           const KernelOperands& operands, int threads) {
  if (model.arithmetic != KernelArithmetic::kTensorCore) {
    return run_on_host(data, model, operands);
  }
  base::Matrix<Word> sums = TensorCoreKernel(data, model, operands, threads).run();
  const DataType type = model.rules.output;
  if (!finishes(model, operands)) {
    return converted(std::move(sums), type, data.d_type);
  }
  const bool has_c = !operands.c.empty() && model.epilogue.c_times > 0;
  Epilogue epilogue = model.epilogue;
  if (has_c && !model.order.c_in_epilogue) {
    --epilogue.c_times;  // the accumulators started from it
  }
  const bool adds_c = has_c && epilogue.c_times > 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto c =
        adds_c ? static_cast<float>(numerics::to_double(operands.c.data()[i], data.c_type)) : 0.0F;
    double sum = numerics::to_double(sums.data()[i], type);
    if (const auto& through = epilogue.through) {
      sum = numerics::to_double(numerics::from_double(sum, *through), *through);
    }
    const float y = finished(epilogue, static_cast<float>(sum), adds_c ? &c : nullptr,
                             operands.bias.empty() ? nullptr : &operands.bias.data()[i]);
    sums.data()[i] = narrowed(y, data.d_type, epilogue.narrowing);
  }
  return sums;
}

}  // namespace sptc::check::kernel
