// SPDX-License-Identifier: Apache-2.0
#include "sim/run/data_source.h"

#include "models/base/error.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sptc::run {
namespace {

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
  try {
    data->a_row(op, 0, 0);
    FAIL();
  } catch (const base::InputError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("[3, 2]"), std::string::npos) << message;
    EXPECT_NE(message.find("[2, 3]"), std::string::npos) << message;
    EXPECT_NE(message.find("'fc.a'"), std::string::npos) << message;
  }
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
  try {
    data->a_row(op, 0, 0);
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("nearest valid: 'fc.b'"), std::string::npos)
        << error.what();
  }
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
  try {
    make_data_source("randm", 0);
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'random'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find(".safetensors"), std::string::npos);
  }
}

class FewValues : public workload::WeightValues {
 public:
  FewValues(std::vector<float> values, bool integral)
      : values_(std::move(values)), integral_(integral) {}
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

double value_at(const workload::Operation& op, std::size_t k, std::int64_t batch = 0,
                std::int64_t row = 0) {
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
