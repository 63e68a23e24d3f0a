// SPDX-License-Identifier: Apache-2.0
#include "tests/property/engine_cases.h"

#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <algorithm>

namespace sptc::batched {
namespace {

using mma::OutputRounding;
using numerics::DataType;
using numerics::Word;

EngineCase float_case(const std::string& name, DataType a, DataType b, DataType output, int step, int fraction_bits,
                      std::optional<int> floor, int cleared_bits = 0) {
  EngineCase result;
  result.name = name;
  result.instruction.shape = {16, 8, step};
  result.instruction.a_type = a;
  result.instruction.b_type = b;
  result.instruction.accumulator = output;
  result.rules.products_per_step = step;
  result.rules.fraction_bits = fraction_bits;
  result.rules.rounding = output == DataType::kF16 ? OutputRounding::kNearestEven : OutputRounding::kTowardZero;
  result.rules.exponent_floor = floor;
  result.rules.output = output;
  result.rules.cleared_output_bits = cleared_bits;
  return result;
}

EngineCase lowered_case(const std::string& name, DataType a, DataType b, DataType output, std::optional<int> floor,
                        int step = 16) {
  EngineCase result = float_case(name, a, b, output, step, 25, floor);
  result.instruction.shape.k = 2 * step;
  result.rules.lowered_fp8 = true;
  return result;
}

EngineCase integer_case(const std::string& name, DataType a, DataType b) {
  EngineCase result = float_case(name, a, b, DataType::kS32, 32, 0, std::nullopt);
  return result;
}

Word any_word(DataType type, WordStyle style, const base::RandomStream& random, std::uint64_t index) {
  const auto& info = numerics::info(type);
  const Word mask = info.storage_bits >= 32 ? ~Word{0} : (Word{1} << info.storage_bits) - 1;
  const std::uint64_t bits = random.bits(index);
  const Word any = static_cast<Word>(bits) & mask;
  if (!info.is_float()) {
    return style == WordStyle::kLargest ? (bits & 1 ? mask : Word{1} << (info.storage_bits - 1)) : any;
  }
  const Word sign = (Word(bits >> 40) & 1) << (info.storage_bits - 1);
  const Word one = numerics::from_double(1.0, type);
  const Word unit = Word{1} << info.format->discarded_low_bits;
  switch (style) {
    case WordStyle::kNormal:
      return numerics::from_double(random.normal(index), type);
    case WordStyle::kAnyBits:
      return any;
    case WordStyle::kNearNormal:
      return (bits >> 32) % 97 == 0 ? any : numerics::from_double(random.normal(index), type);
    case WordStyle::kCancelling:
      return sign | (one + unit * static_cast<Word>((bits >> 41) % 3));
    case WordStyle::kWideSpread: {
      const numerics::Unpacked value = numerics::unpack(any, *info.format);
      return value.kind == numerics::Unpacked::Class::kFinite ? any : one;
    }
    case WordStyle::kLargest:
      return (bits % 53 == 0 ? sign : 0) | (one + (unit << info.format->mantissa_bits) - unit);
    case WordStyle::kMostlyZero:
      return bits % 11 == 0 ? any : sign;
    case WordStyle::kSubnormal:
      return sign | (any & ((unit << info.format->mantissa_bits) - unit));
  }
  return any;
}

}  // namespace

std::vector<EngineCase> engine_cases() {
  constexpr auto kF16 = DataType::kF16;
  constexpr auto kBf16 = DataType::kBf16;
  constexpr auto kTf32 = DataType::kTf32;
  constexpr auto kF32 = DataType::kF32;
  constexpr auto kE4m3 = DataType::kE4m3;
  constexpr auto kE5m2 = DataType::kE5m2;
  std::vector<EngineCase> all = {
      float_case("volta f16 f32", kF16, kF16, kF32, 4, 23, std::nullopt),
      float_case("volta f16 f16", kF16, kF16, kF16, 4, 23, -19),
      float_case("ampere f16 f32", kF16, kF16, kF32, 8, 24, -132),
      float_case("ampere f16 f16", kF16, kF16, kF16, 8, 24, -20),
      float_case("ampere bf16", kBf16, kBf16, kF32, 8, 24, -132),
      float_case("ampere tf32", kTf32, kTf32, kF32, 4, 24, -132),
      float_case("ada e4m3", kE4m3, kE4m3, kF32, 16, 13, std::nullopt, 10),
      float_case("ada e5m2 f16", kE5m2, kE5m2, kF16, 16, 13, std::nullopt),
      float_case("hopper f16 f32", kF16, kF16, kF32, 16, 25, -133),
      float_case("hopper f16 f16", kF16, kF16, kF16, 16, 25, -21),
      float_case("hopper bf16", kBf16, kBf16, kF32, 16, 25, -133),
      float_case("hopper tf32", kTf32, kTf32, kF32, 8, 25, -133),
      float_case("hopper e4m3 e5m2", kE4m3, kE5m2, kF32, 32, 13, std::nullopt, 10),
      float_case("hopper e5m2 f16", kE5m2, kE5m2, kF16, 32, 13, std::nullopt),
      float_case("blackwell e4m3", kE4m3, kE4m3, kF32, 32, 25, std::nullopt),
      float_case("blackwell e5m2 f16", kE5m2, kE5m2, kF16, 32, 25, std::nullopt),
      lowered_case("hopper lowered e4m3", kE4m3, kE4m3, kF32, -133),
      lowered_case("hopper lowered e5m2 e4m3", kE5m2, kE4m3, kF32, -133),
      lowered_case("hopper lowered e4m3 e5m2 f16", kE4m3, kE5m2, kF16, -21),
      lowered_case("hopper lowered e5m2 f16", kE5m2, kE5m2, kF16, -21),
      lowered_case("hopper lowered e4m3 m16n8k16", kE4m3, kE4m3, kF32, -133, 8),
      integer_case("s8", DataType::kS8, DataType::kS8),
      integer_case("u8 s8", DataType::kU8, DataType::kS8),
      integer_case("s8 u8", DataType::kS8, DataType::kU8),
      integer_case("u8 u8", DataType::kU8, DataType::kU8),
      integer_case("s4 u4", DataType::kS4, DataType::kU4),
  };
  const std::size_t dense = all.size();
  for (std::size_t i = 0; i < dense; ++i) {
    EngineCase sparse = all[i];
    sparse.name += " sparse";
    sparse.instruction.sparse = true;
    sparse.instruction.shape.k *= 2;
    all.push_back(sparse);
  }
  return all;
}

base::Matrix<Word> random_words(std::size_t rows, std::size_t cols, DataType type, WordStyle style,
                                base::RandomStream random) {
  base::Matrix<Word> words(rows, cols);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words.data()[i] = any_word(type, style, random, i);
  }
  return words;
}

RandomGemm::RandomGemm(const EngineCase& engine_case, std::size_t m, std::size_t n, std::size_t k, WordStyle a_style,
                       WordStyle b_style, WordStyle c_style, std::uint64_t seed)
    : which(engine_case) {
  const base::RandomStream random(seed);
  const DataType a_type = which.instruction.a_type;
  if (which.instruction.sparse) {
    compressed.type = a_type;
    compressed.pattern = sparsity::hardware_pattern(a_type);
    const auto group = static_cast<std::size_t>(compressed.pattern.group);
    const auto kept = static_cast<std::size_t>(compressed.pattern.kept);
    const std::size_t groups = (k + group - 1) / group;
    compressed.logical_k = k = groups * group;
    compressed.values = random_words(m, groups * kept, a_type, a_style, random.fork("a"));
    // All sixteen nibbles: hardware selects by them whether they are legal or not.
    compressed.nibbles = base::Matrix<std::uint8_t>(m, groups);
    const base::RandomStream nibble = random.fork("nibbles");
    const bool legal_only = (seed & 1) != 0;
    constexpr std::uint8_t kLegal[] = {4, 8, 9, 12, 13, 14};
    for (std::size_t i = 0; i < compressed.nibbles.size(); ++i) {
      compressed.nibbles.data()[i] =
          legal_only ? kLegal[nibble.below(i, 6)] : static_cast<std::uint8_t>(nibble.below(i, 16));
    }
  } else {
    a = random_words(m, k, a_type, a_style, random.fork("a"));
  }
  b_columns = random_words(n, k, which.instruction.b_type, b_style, random.fork("b"));
  c = random_words(m, n, which.rules.output, c_style, random.fork("c"));
}

GemmOperands RandomGemm::operands() const {
  GemmOperands result;
  result.a = which.instruction.sparse ? nullptr : &a;
  result.compressed_a = which.instruction.sparse ? &compressed : nullptr;
  result.b_columns = &b_columns;
  result.c = &c;
  return result;
}

Word RandomGemm::expected(std::size_t row, std::size_t column) const {
  if (which.instruction.sparse) {
    return mma::sparse_dot(compressed.values.row(row), compressed.nibbles.row(row), b_columns.row(column),
                           c(row, column), which.instruction, which.rules);
  }
  return mma::dense_dot(a.row(row), b_columns.row(column), c(row, column), which.instruction, which.rules);
}

}  // namespace sptc::batched
