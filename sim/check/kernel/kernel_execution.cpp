// SPDX-License-Identifier: Apache-2.0
//
// D of a whole kernel: slices of K on the engine, then their reduction and the epilogue.
#include "models/batched/gemm.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/compress.h"
#include "sim/check/kernel/kernel_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;
using numerics::Word;
using Words = base::Matrix<Word>;

/// What each accumulator goes through, in its order.
std::vector<KMap> slices_of(const KernelModel& model, std::size_t units) {
  const KOrder& order = model.order;
  const std::size_t unit = unit_of(model.instruction);
  const auto part = [](std::size_t begin, std::size_t end) {
    return KPart{static_cast<std::int64_t>(begin), static_cast<std::int64_t>(begin), end - begin};
  };
  const auto ceil_quotient = [](std::size_t a, std::size_t b) { return (a + b - 1) / b; };
  if (const std::size_t cut = static_cast<std::size_t>(order.cut) / unit; cut > 0 && cut < units) {
    return {{part(0, cut)}, {part(cut, units)}};
  }
  const auto depth = static_cast<std::size_t>(model.instruction.shape.k) / unit;
  const std::size_t wanted = ceil_quotient(static_cast<std::size_t>(order.granule), unit);
  const std::size_t granule = std::max<std::size_t>(ceil_quotient(wanted, depth), 1) * depth;
  const std::size_t granules = ceil_quotient(units, granule), count = static_cast<std::size_t>(order.slices);
  const std::size_t share = std::max<std::size_t>(ceil_quotient(granules, count), 1);
  const std::size_t step = order.decreasing ? depth : granule;
  std::vector<KMap> slices;
  for (std::size_t g = 0; g < granules; ++g) {
    const std::size_t slice = order.interleaved ? g % count : g / share;
    slices.resize(std::max(slices.size(), slice + 1));
    const std::size_t end = std::min((g + 1) * granule, units);
    for (std::size_t at = g * granule; at < end; at += step) {
      slices[slice].push_back(part(at, std::min(at + step, end)));
    }
  }
  for (KMap& slice : slices) {
    if (order.decreasing) {
      std::ranges::reverse(slice);
    }
  }
  return slices;
}

Word converted(Word word, DataType from, DataType to) {
  return from == to ? word : numerics::from_double(numerics::to_double(word, from), to);
}

Words converted(Words words, DataType from, DataType to) {
  for (std::size_t i = 0; from != to && i < words.size(); ++i) {
    words.data()[i] = converted(words.data()[i], from, to);
  }
  return words;
}

/// Adds `addend` into `sum`, all of `type`, and rounds to `stored` on the way: to nearest even; integers wrap. A double
/// holds the exact sum of two f32 well enough to round it once more (53 >= 2 * 24 + 2).
void accumulate(Words& sum, const Words& addend, DataType type, DataType stored) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const Word a = sum.data()[i], b = addend.data()[i];
    const Word exact = type == DataType::kS32
                           ? a + b
                           : numerics::from_double(numerics::to_double(a, type) + numerics::to_double(b, type), type);
    sum.data()[i] = converted(converted(exact, type, stored), stored, type);
  }
}

/// The accumulators of one slice of K.
Words slice_sum(const KernelModel& model, const KernelOperands& operands, const KMap& slice, const Words* c,
                int threads) {
  const mma::MmaInstruction& instruction = model.instruction;
  const KernelOperands part = rearranged(operands, slice, instruction);
  batched::GemmOperands gemm;
  gemm.b_columns = &part.b_columns;
  gemm.c = c;
  sparsity::CompressedMatrix compressed;
  if (instruction.sparse) {
    compressed = {instruction.a_type, sparsity::hardware_pattern(instruction.a_type), part.b_columns.cols(), part.a,
                  part.nibbles};
    gemm.compressed_a = &compressed;
  } else {
    gemm.a = &part.a;
  }
  return batched::gemm(instruction, model.rules, gemm, {.threads = threads, .split_k = 1});
}

/// The sum of `partial` with `c` (null: none): a serial one starts from C and stores each sum in D.
Words reduced(std::vector<Words> partial, const Words* c, Reduction reduction, DataType type, DataType d_type) {
  const bool serial = reduction == Reduction::kSerial || reduction == Reduction::kSerialReversed;
  const DataType stored = serial ? d_type : type;
  while (reduction == Reduction::kTree && partial.size() > 1) {
    std::vector<Words> sums;
    for (std::size_t i = 0; i < partial.size(); i += 2) {
      sums.push_back(std::move(partial[i]));
      if (i + 1 < partial.size()) {
        accumulate(sums.back(), partial[i + 1], type, type);
      }
    }
    partial = std::move(sums);
  }
  Words sum = std::move(partial.front());
  if (serial && c != nullptr) {
    accumulate(sum, *c, type, type);
  }
  if (partial.size() > 1) {
    sum = converted(converted(std::move(sum), type, stored), stored, type);
  }
  for (std::size_t i = 1; i < partial.size(); ++i) {
    accumulate(sum, partial[i], type, stored);
  }
  if (!serial && c != nullptr) {
    accumulate(sum, *c, type, type);
  }
  return sum;
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
          std::isfinite(got) && numerics::unpack(nearest, format).significand < (1U << format.mantissa_bits);
      return is_subnormal ? nearest & (Word{1} << (format.storage_bits() - 1)) : nearest;
    }
  }
  return nearest;
}

/// Whether nothing but C follows the sum, and a rounding to nearest even.
bool is_plain(const Epilogue& epilogue) {
  Epilogue plain;
  plain.c_times = std::min(epilogue.c_times, 1);
  plain.bias_of_columns = epilogue.bias_of_columns;  // without a bias these say nothing
  plain.bias_shift = epilogue.bias_shift;
  plain.bias_times = epilogue.bias_times;
  plain.bias_before_alpha = epilogue.bias_before_alpha;
  plain.bias_through = epilogue.bias_through;
  return epilogue == plain;
}

/// The epilogue of one element, in f32 as kernels have it or in exact arithmetic; null: none.
template <typename Real>
Real finished(const Epilogue& epilogue, Real sum, const Real* c, const Real* bias) {
  const Real alpha = Real{epilogue.alpha} * epilogue.scale_a * epilogue.scale_b;
  if (bias != nullptr && epilogue.bias_before_alpha) {
    sum += static_cast<Real>(epilogue.bias_times) * *bias;
    bias = nullptr;
  }
  Real y = c != nullptr ? std::fma(alpha, sum, epilogue.beta * *c) : alpha * sum;
  for (int again = 1; c != nullptr && again < epilogue.c_times; ++again) {
    y += epilogue.beta * *c;
  }
  const auto activate = [&](bool now) {
    y = now && epilogue.activation == Activation::kRelu && !(y > 0) && !std::isnan(y) ? Real{0} : y;
  };
  activate(epilogue.bias_after_activation);
  for (int times = 0; bias != nullptr && times < std::abs(epilogue.bias_times); ++times) {
    y += epilogue.bias_times > 0 ? *bias : -*bias;
  }
  activate(!epilogue.bias_after_activation);
  return epilogue.scale_d * y;
}

/// D without a tensor core.
Words run_on_host(const KernelData& data, const KernelModel& model, const KernelOperands& operands) {
  const auto values_of = [](const Words& words, DataType operand) {
    const DataType type = operand == DataType::kTf32 ? DataType::kF32 : operand;  // CUDA cores take all bits
    base::Matrix<double> values(words.rows(), words.cols());
    for (std::size_t i = 0; i < words.size(); ++i) {
      values.data()[i] = numerics::to_double(words.data()[i], type);
    }
    return values;
  };
  const base::Matrix<double> a = values_of(operands.a, model.instruction.a_type);
  const base::Matrix<double> b_columns = values_of(operands.b_columns, model.instruction.b_type);
  Words d(a.rows(), b_columns.rows());
  for (std::size_t i = 0; i < d.rows(); ++i) {
    const std::vector<std::size_t> positions = positions_in_k(model, operands, i);
    for (std::size_t j = 0; j < d.cols(); ++j) {
      double sum = operands.c.empty() ? 0.0 : numerics::to_double(operands.c(i, j), data.c_type);
      for (std::size_t t = 0; t < a.cols(); ++t) {
        const double b = b_columns(j, positions[t]);
        sum = model.arithmetic == KernelArithmetic::kFmaChain
                  ? std::fma(static_cast<float>(a(i, t)), static_cast<float>(b), static_cast<float>(sum))
                  : sum + a(i, t) * b;
      }
      d(i, j) = numerics::from_double(sum, data.d_type);
    }
  }
  return d;
}

}  // namespace

double epilogue_value(const Epilogue& epilogue, double sum, double c, double bias) {
  return finished(epilogue, sum, epilogue.c_times > 0 ? &c : nullptr, &bias);
}

Words execute(const KernelData& data, const KernelModel& model, const KernelOperands& operands, int threads) {
  if (model.arithmetic != KernelArithmetic::kTensorCore) {
    return run_on_host(data, model, operands);
  }
  const DataType type = model.rules.output;
  const KOrder& order = model.order;
  Epilogue epilogue = model.epilogue;
  const bool finishes = !is_plain(epilogue) || !operands.bias.empty();
  const bool has_c = !operands.c.empty() && epilogue.c_times > 0, is_late = order.c_in_epilogue;
  // An instruction whose C has another type than D widens it itself, exactly.
  const Words c = has_c ? converted(operands.c, data.c_type, is_late ? type : model.instruction.c_type()) : Words();
  std::vector<KMap> slices = slices_of(model, operands.b_columns.cols() / unit_of(model.instruction));
  if (order.reduction == Reduction::kSerialReversed || order.reduction == Reduction::kParallelReversed) {
    std::ranges::reverse(slices);
  }
  std::vector<Words> partial;
  const Words* start = has_c && !is_late ? &c : nullptr;
  Words last;
  for (const KMap& slice : slices) {
    Words sum = slice_sum(model, operands, slice, start, threads);
    start = nullptr;
    if (order.reduction == Reduction::kChained && &slice != &slices.back()) {
      last = converted(converted(std::move(sum), type, data.d_type), data.d_type, model.instruction.c_type());
      start = &last;
      continue;
    }
    partial.push_back(std::move(sum));
    if (static_cast<int>(partial.size()) == order.repeated_slice + 1) {
      partial.push_back(Words(partial.back()));
    }
  }
  Words sums =
      reduced(std::move(partial), has_c && is_late && !finishes ? &c : nullptr, order.reduction, type, data.d_type);
  if (!finishes) {
    return converted(std::move(sums), type, data.d_type);
  }
  epilogue.c_times -= has_c && !is_late ? 1 : 0;  // the accumulators started from it
  const bool adds_c = has_c && epilogue.c_times > 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto own_c = adds_c ? static_cast<float>(numerics::to_double(operands.c.data()[i], data.c_type)) : 0.0F;
    double sum = numerics::to_double(sums.data()[i], type);
    if (const auto& through = epilogue.through) {
      sum = numerics::rounded(sum, *through);
    }
    const float y = finished(epilogue, static_cast<float>(sum), adds_c ? &own_c : nullptr,
                             operands.bias.empty() ? nullptr : &operands.bias.data()[i]);
    sums.data()[i] = narrowed(y, data.d_type, epilogue.narrowing);
  }
  return sums;
}

}  // namespace sptc::check::kernel
