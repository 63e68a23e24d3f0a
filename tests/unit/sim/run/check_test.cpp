// SPDX-License-Identifier: Apache-2.0
#include "sim/run/check.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "sim/config/architecture.h"
#include "sim/run/data_source.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::run {
namespace {

std::int64_t elements(const std::vector<ElementSelection>& selections) {
  std::int64_t count = 0;
  for (const ElementSelection& selection : selections) {
    count += static_cast<std::int64_t>(selection.rows.size() * selection.columns.size());
  }
  return count;
}

TEST(SampleElements, TakesDistinctRowsAndColumnsInRange) {
  for (const base::GemmShape shape :
       {base::GemmShape{4096, 4096, 8}, {1, 100000, 8}, {100000, 1, 8}, {17, 13, 8}, {2147483647, 2147483647, 1}}) {
    for (const std::int64_t batch : {1, 3, 5, 1000}) {
      const auto selections = sample_elements(shape, batch, 7);
      const double all = static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(batch);
      EXPECT_GE(static_cast<double>(elements(selections)), std::min(256.0, all));
      EXPECT_LE(elements(selections), 1024);
      std::set<std::int64_t> entries;
      for (const ElementSelection& selection : selections) {
        EXPECT_TRUE(entries.insert(selection.batch).second);
        EXPECT_LT(selection.batch, batch);
        const std::set<std::int64_t> rows(selection.rows.begin(), selection.rows.end());
        const std::set<std::int64_t> columns(selection.columns.begin(), selection.columns.end());
        EXPECT_EQ(rows.size(), selection.rows.size());
        EXPECT_EQ(columns.size(), selection.columns.size());
        EXPECT_LT(*rows.rbegin(), shape.m);
        EXPECT_LT(*columns.rbegin(), shape.n);
      }
      EXPECT_GE(entries.size(), static_cast<std::size_t>(std::min<std::int64_t>(batch, 4)));
    }
  }
}

TEST(SampleElements, TakesEverythingWhereThereIsLittle) {
  EXPECT_EQ(elements(sample_elements({3, 5, 8}, 2, 1)), 30);
  EXPECT_EQ(elements(sample_elements({1, 1, 8}, 300, 1)), 256);
}

TEST(SampleElements, DependsOnTheSeedAlone) {
  const auto first = sample_elements({1000, 1000, 8}, 1, 1);
  EXPECT_EQ(first.front().rows, sample_elements({1000, 1000, 8}, 1, 1).front().rows);
  EXPECT_NE(first.front().rows, sample_elements({1000, 1000, 8}, 1, 2).front().rows);
}

/// One sparse row [1, 8] against one column.
kernels::GemmOperands sparse_operands(std::vector<double> a, std::vector<double> b) {
  base::Matrix<numerics::Word> dense(1, a.size());
  kernels::GemmOperands operands;
  operands.b_columns = base::Matrix<numerics::Word>(1, b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    dense(0, k) = numerics::from_double(a[k], numerics::DataType::kF16);
    operands.b_columns(0, k) = numerics::from_double(b[k], numerics::DataType::kF16);
  }
  operands.compressed_a = sparsity::compress(dense, numerics::DataType::kF16);
  return operands;
}

TEST(CheckAgainstReference, KnowsThatUnselectedInfinitiesDoNotCount) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Arithmetic arithmetic("ampere", numerics::DataType::kF16, true);
  // Position 2 is not kept: its infinity never meets a multiplier.
  const kernels::GemmOperands unselected = sparse_operands({1, 2, 0, 0}, {3, 4, infinity, 5});
  EXPECT_EQ(check_against_reference(unselected, plain_gemm(unselected, arithmetic), arithmetic).mismatches, 0);
  // Position 1 is kept as an explicit zero: 0 * infinity is NaN in hardware and in the reference.
  const kernels::GemmOperands explicit_zero = sparse_operands({1, 0, 0, 0}, {3, infinity, 4, 5});
  const base::Matrix<numerics::Word> d = plain_gemm(explicit_zero, arithmetic);
  EXPECT_EQ(d(0, 0), 0x7FFFFFFFu);
  EXPECT_EQ(check_against_reference(explicit_zero, d, arithmetic).mismatches, 0);
}

TEST(CheckAgainstReference, SeesAWrongSelectorIndex) {
  const Arithmetic arithmetic("ampere", numerics::DataType::kF16, true);
  const kernels::GemmOperands operands = sparse_operands({1, 2, 0, 0}, {3, 4, 6, 5});
  kernels::GemmOperands wrong = operands;
  wrong.compressed_a.nibbles(0, 0) = 0b1000;  // 0 and 2 instead of 0 and 1
  const base::Matrix<numerics::Word> d = plain_gemm(wrong, arithmetic);
  EXPECT_EQ(check_against_reference(operands, d, arithmetic).mismatches, 1);
  SimulationOptions options;
  options.check = CheckMode::kExact;
  EXPECT_EQ(check_entries({operands}, {d}, arithmetic, options).mismatches, 1);
}

workload::Operation fp8_operation(base::GemmShape shape) {
  workload::Operation op;
  op.name = "x";
  op.shape = shape;
  op.dtype = numerics::DataType::kE5m2;
  return op;
}

TEST(CheckAgainstReference, BoundsLoweredFp8DenseAndSparse) {
  const GeneratedData data(workload::DataKind::kRandom, 1);
  for (const bool sparse : {false, true}) {
    const Arithmetic arithmetic("hopper", numerics::DataType::kE5m2, sparse);
    const kernels::GemmOperands operands = make_operands(fp8_operation({20, 12, 2000}), sparse, data, 0);
    base::Matrix<numerics::Word> d = plain_gemm(operands, arithmetic);
    const reference::Findings right = check_against_reference(operands, d, arithmetic);
    EXPECT_EQ(right.mismatches, 0) << sparse;
    EXPECT_EQ(right.undecided, 0) << sparse;
    EXPECT_GT(right.worst_error, 0) << sparse;
    d(3, 4) += 1U << 12;
    EXPECT_EQ(check_against_reference(operands, d, arithmetic).mismatches, 1) << sparse;
  }
}

TEST(CheckTiming, ComparesTheEngineWithTheReferenceOrThePlainArithmetic) {
  const GeneratedData data(workload::DataKind::kRandom, 1);
  const Arithmetic arithmetic("hopper", numerics::DataType::kE5m2, true);
  const workload::Operation op = fp8_operation({20, 12, 2000});
  for (const CheckMode mode : {CheckMode::kEigen, CheckMode::kExact}) {
    const CheckResult result = check_timing(mode, op, true, data, arithmetic, 0);
    EXPECT_EQ(result.elements, 240);
    EXPECT_EQ(result.mismatches, 0);
    EXPECT_EQ(result.worst_error > 0, mode == CheckMode::kEigen);
    EXPECT_THROW(check_timing(mode, fp8_operation({1 << 14, 1 << 14, 1 << 14}), true, data, arithmetic, 0),
                 base::InputError);
  }
}

TEST(CheckEntries, MapsASampledViolationToItsPlace) {
  SimulationOptions options;
  options.check = CheckMode::kSample;
  options.seed = 3;
  workload::Operation op;
  op.name = "x";
  op.shape = {100, 90, 40};
  const GeneratedData data(workload::DataKind::kRandom, 1);
  for (const bool sparse : {false, true}) {
    const Arithmetic arithmetic("ampere", op.dtype, sparse);
    const kernels::GemmOperands operands = make_operands(op, sparse, data, 0);
    base::Matrix<numerics::Word> d = plain_gemm(operands, arithmetic);
    const CheckResult right = check_entries({operands}, {d}, arithmetic, options);
    EXPECT_EQ(right.elements, 256);
    EXPECT_EQ(right.mismatches, 0);
    const base::Matrix<numerics::Word> before = d;
    const ElementSelection sample = sample_elements({100, 90, 1}, 1, 3).front();
    d(static_cast<std::size_t>(sample.rows[2]), static_cast<std::size_t>(sample.columns[9])) ^= 0x00400000;
    const CheckResult wrong = check_entries({operands, operands}, {before, d}, arithmetic, options);
    ASSERT_TRUE(wrong.first_violation);
    EXPECT_EQ(wrong.first_violation->batch, 1);
    EXPECT_EQ(wrong.first_violation->row, sample.rows[2]);
    EXPECT_EQ(wrong.first_violation->col, sample.columns[9]);
  }
}

TEST(CheckPattern, ComputesPatternsThatNoGpuHas) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  workload::Operation op;
  op.name = "layer";
  op.shape = {20, 12, 203};  // groups and blocks are completed
  op.prunable = true;
  const GeneratedData data(workload::DataKind::kRandom, 3);
  for (const auto& [text, inputs, kept] : {std::tuple{"1:4", 4, 1},
                                           {"1:4", 4, 2},
                                           {"2:8", 8, 2},
                                           {"2:6", 6, 2},
                                           {"6:8", 4, 2},
                                           {"6:8", 8, 6},
                                           {"16:2:8", 4, 2}}) {
    const sparsity::WeightPattern weights = sparsity::parse_weight_pattern(text);
    const auto execution = sparsity::pattern_execution(weights, op.dtype, {inputs, kept});
    for (const CheckMode mode : {CheckMode::kEigen, CheckMode::kExact, CheckMode::kSample}) {
      const CheckResult result =
          check_pattern(mode, op, data, weights, execution, Arithmetic(gpu, op.dtype, false), 1, nullptr);
      EXPECT_EQ(result.elements, 20 * 12) << text;
      EXPECT_EQ(result.mismatches, 0) << text;
      if (mode == CheckMode::kEigen) {
        EXPECT_GT(result.worst_ratio, 0) << text;
        EXPECT_LE(result.worst_ratio, 1) << text;
      }
    }
  }
}

TEST(Arithmetic, TakesTheAccumulatorOfTheArchitecture) {
  gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  workload::Operation op;
  op.name = "layer";
  op.shape = {16, 16, 4096};
  const GeneratedData data(workload::DataKind::kRandom, 3);
  double error = 0;
  for (const int bits : {24, 16, 10}) {  // of the vector kernels, and below what they know
    gpu.sm.tensor_core.accumulator_fraction_bits = bits;
    const Arithmetic arithmetic(gpu, op.dtype, false);
    EXPECT_EQ(arithmetic.rules.fraction_bits, bits);
    const CheckResult bounded = check_timing(CheckMode::kEigen, op, false, data, arithmetic, 1);
    EXPECT_EQ(bounded.mismatches, 0);
    EXPECT_GT(bounded.worst_error, 4 * error) << bits;
    error = bounded.worst_error;
    EXPECT_EQ(check_timing(CheckMode::kExact, op, false, data, arithmetic, 1).mismatches, 0);
  }
}

using numerics::DataType;
using numerics::Word;

class Files : public testing::Test {
 protected:
  support::TemporaryDirectory temporary;
  std::filesystem::path directory = temporary.path();
  workload::Operation op;

  void SetUp() override {
    op.name = "fc";
    op.shape = {2, 2, 3};
  }

  static io::Tensor tensor(const std::string& name, std::vector<std::int64_t> shape) {
    std::size_t elements = 1;
    for (const std::int64_t extent : shape) {
      elements *= static_cast<std::size_t>(extent);
    }
    base::Matrix<Word> words(1, elements);
    for (std::size_t i = 0; i < elements; ++i) {
      words(0, i) = numerics::from_double(static_cast<double>(i + 1), DataType::kF16);
    }
    io::Tensor result = io::make_tensor(name, words, DataType::kF16);
    result.shape = std::move(shape);
    return result;
  }

  static std::vector<double> values(const std::vector<Word>& words, DataType type) {
    std::vector<double> result;
    result.reserve(words.size());
    for (const Word word : words) {
      result.push_back(numerics::to_double(word, type));
    }
    return result;
  }

  std::unique_ptr<DataSource> file(const std::vector<io::Tensor>& tensors) {
    io::write_safetensors(directory / "x.safetensors", tensors);
    return make_data_source((directory / "x.safetensors").string(), 0);
  }
};

TEST_F(Files, ReadsRowsOfAAndColumnsOfB) {
  const auto data = file({tensor("fc.a", {2, 3}), tensor("fc.b", {3, 2})});
  EXPECT_EQ(values(data->a_row(op, 0, 1), DataType::kF16), (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(values(data->b_column(op, 0, 1), DataType::kF16), (std::vector<double>{2, 4, 6}));
  op.dtype = DataType::kS8;
  EXPECT_EQ(values(data->a_row(op, 0, 0), DataType::kS8), (std::vector<double>{1, 2, 3}));
}

TEST_F(Files, ReadsABatchFromALeadingAxis) {
  op.batch = 2;
  const auto data = file({tensor("fc.a", {2, 2, 3}), tensor("fc.b", {2, 3, 2})});
  EXPECT_EQ(values(data->a_row(op, 1, 0), DataType::kF16), (std::vector<double>{7, 8, 9}));
  EXPECT_EQ(values(data->b_column(op, 1, 0), DataType::kF16), (std::vector<double>{7, 9, 11}));
}

TEST_F(Files, AcceptsPlainNamesForASingleGemm) {
  const auto data = file({tensor("a", {2, 3}), tensor("b", {3, 2})});
  EXPECT_EQ(data->a_row(op, 0, 0).size(), 3u);
}

TEST_F(Files, RefusesAWrongShapeWithBothShapes) {
  const auto data = file({tensor("fc.a", {3, 2}), tensor("fc.b", {3, 2})});
  support::expect_input_error([&] { data->a_row(op, 0, 0); }, {"[3, 2]", "[2, 3]", "'fc.a'"});
}

TEST_F(Files, RefusesAnOperationOfTheSameNameThatTheTensorDoesNotFit) {
  const auto data = file({tensor("fc.a", {2, 3}), tensor("fc.b", {3, 2})});
  EXPECT_EQ(data->a_row(op, 0, 1).size(), 3u);
  EXPECT_EQ(data->b_column(op, 0, 1).size(), 3u);
  op.shape = {4, 4, 3};
  EXPECT_THROW(data->a_row(op, 0, 3), base::InputError);
  EXPECT_THROW(data->b_column(op, 0, 3), base::InputError);
}

TEST_F(Files, RefusesAMissingTensorWithTheNearestName) {
  const auto data = file({tensor("fx.a", {2, 3}), tensor("fc.b", {3, 2})});
  support::expect_input_error([&] { data->a_row(op, 0, 0); }, {"nearest valid: 'fc.b'"});
}

TEST_F(Files, ReadsTwoNpyFiles) {
  base::Matrix<Word> a(2, 3, numerics::from_double(2, DataType::kF16));
  base::Matrix<Word> b(3, 2, numerics::from_double(5, DataType::kF16));
  io::write_npy(directory / "a.npy", a, DataType::kF16);
  io::write_npy(directory / "b.npy", b, DataType::kF16);
  const auto data = FileData::open(directory / "a.npy", directory / "b.npy");
  EXPECT_EQ(values(data->a_row(op, 0, 0), DataType::kF16), (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(values(data->b_column(op, 0, 0), DataType::kF16), (std::vector<double>{5, 5, 5}));
}

TEST_F(Files, RefusesAFileOfSeveralArraysForOneOperand) {
  const std::string two = (directory / "x.safetensors").string();
  io::write_safetensors(two, std::vector{tensor("a", {2, 3}), tensor("b", {3, 2})});
  const std::filesystem::path one = directory / "b.npy";
  io::write_npy(one, base::Matrix<Word>(3, 2), DataType::kF16);
  const auto error_of = [](const std::filesystem::path& a, const std::filesystem::path& b) {
    return support::input_error_of([&] { FileData::open(a, b); });
  };
  const std::string sentence = two + ": holds 2 arrays where exactly one is expected";
  EXPECT_EQ(error_of(two, one), sentence);
  EXPECT_EQ(error_of(one, two), sentence);
}

TEST(MakeDataSource, NamesTheNearestKindAndTheAlternative) {
  support::expect_input_error([] { make_data_source("randm", 0); }, {"'random'", ".safetensors"});
}

class FewValues : public workload::WeightValues {
 public:
  FewValues(std::vector<float> values, bool integral) : values_(std::move(values)), integral_(integral) {}
  std::vector<float> row(std::int64_t batch, std::int64_t row) const override {
    std::vector<float> shifted = values_;
    shifted[0] += static_cast<float>(10 * batch + row);
    return shifted;
  }
  float largest() const override { return 4; }
  bool integral() const override { return integral_; }

 private:
  std::vector<float> values_;
  bool integral_;
};

double value_at(const workload::Operation& op, std::size_t k, std::int64_t batch = 0, std::int64_t row = 0) {
  const GeneratedData data(workload::DataKind::kRandom, 1);
  return numerics::to_double(data.a_row(op, batch, row).at(k), op.dtype);
}

TEST(WeightsOfAModel, AreTheValuesOfA) {
  workload::Operation op;
  op.name = "fc";
  op.shape = {2, 2, 3};
  op.values = std::make_shared<FewValues>(std::vector<float>{0.5F, 0, -2}, false);
  EXPECT_EQ(value_at(op, 0, 3, 1), 31.5);
  EXPECT_EQ(value_at(op, 1), 0);
  EXPECT_EQ(value_at(op, 2), -2);
}

TEST(WeightsOfAModel, FillTheRangeOfATypeOf8Bits) {
  workload::Operation op;
  op.name = "fc";
  op.shape = {2, 2, 3};
  op.values = std::make_shared<FewValues>(std::vector<float>{4, 0, -2}, false);
  op.dtype = DataType::kS8;
  EXPECT_EQ(value_at(op, 0), 127);
  EXPECT_EQ(value_at(op, 2), -64) << "-63.5, ties to even";
  op.dtype = DataType::kE4m3;
  EXPECT_EQ(value_at(op, 0), 448);
  op.values = std::make_shared<FewValues>(std::vector<float>{4, 0, -2}, true);
  op.dtype = DataType::kS8;
  EXPECT_EQ(value_at(op, 0), 4) << "integers of a quantized model";
}

TEST(AsStored, QuantisedWeightsAreIntegersTimesAScaleOfTheirBlock) {
  workload::Operation op;
  op.dtype = DataType::kF16;
  const auto words = [](std::initializer_list<double> values) {
    std::vector<Word> result;
    for (const double value : values) {
      result.push_back(numerics::from_double(value, DataType::kF16));
    }
    return result;
  };
  const std::vector<Word> row = words({7, -3.4, 0, 1.6, 70, -34, 0, 16});
  EXPECT_EQ(as_stored(op, row), row);
  op.storage = {DataType::kS4, 4};
  EXPECT_EQ(as_stored(op, row), words({7, -3, 0, 2, 70, -30, 0, 20}));
  op.storage.scale_block = 0;  // one scale for all: 10
  EXPECT_EQ(as_stored(op, row), words({10, 0, 0, 0, 70, -30, 0, 20}));
  op.storage.weight = DataType::kS8;
  EXPECT_EQ(as_stored(op, words({127, -126.6, 0.2})), words({127, -127, 0}));
  EXPECT_EQ(as_stored(op, words({0, 0})), words({0, 0}));
}

}  // namespace
}  // namespace sptc::run
