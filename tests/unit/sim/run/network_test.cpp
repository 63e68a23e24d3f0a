// SPDX-License-Identifier: Apache-2.0
#include "models/base/random.h"
#include "models/numerics/codec.h"
#include "sim/run/im2col.h"
#include "sim/run/run.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/sim/run/fake_gpu.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace sptc::run {
namespace {

TEST(Im2col, AgreesWithADirectConvolution) {
  workload::ConvGeometry conv;
  conv.n = 2, conv.c = 4, conv.h = 7, conv.w = 6;
  conv.k = 6, conv.r = 3, conv.s = 2;
  conv.stride = {2, 1}, conv.pad = {1, 2}, conv.dilation = {1, 2};
  conv.groups = 2;
  conv.p = (conv.h + 2 - 3) / 2 + 1;
  conv.q = (conv.w + 4 - 3) / 1 + 1;
  const base::RandomStream stream(1);
  std::vector<double> image(static_cast<std::size_t>(conv.n * conv.c * conv.h * conv.w));
  for (std::size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<double>(stream.below(i, 17)) - 8;
  }
  for (std::int64_t group = 0; group < conv.groups; ++group) {
    const base::Matrix<double> columns = im2col(image, conv, group);
    ASSERT_EQ(columns.cols(), 3u * 2 * 2);
    // Filter with weight 1 + its index at each (r, s, c): the direct sum, pixel by pixel.
    for (std::int64_t n = 0; n < conv.n; ++n) {
      for (std::int64_t p = 0; p < conv.p; ++p) {
        for (std::int64_t q = 0; q < conv.q; ++q) {
          double direct = 0;
          for (std::int64_t r = 0; r < 3; ++r) {
            for (std::int64_t s = 0; s < 2; ++s) {
              for (std::int64_t c = 0; c < 2; ++c) {
                const std::int64_t y = 2 * p - 1 + r;
                const std::int64_t x = q - 2 + 2 * s;
                if (y >= 0 && y < conv.h && x >= 0 && x < conv.w) {
                  direct += static_cast<double>(1 + (r * 2 + s) * 2 + c) *
                            image[static_cast<std::size_t>(((n * conv.h + y) * conv.w + x) * conv.c + group * 2 + c)];
                }
              }
            }
          }
          double lowered = 0;
          const auto row = columns.row(static_cast<std::size_t>((n * conv.p + p) * conv.q + q));
          for (std::size_t k = 0; k < row.size(); ++k) {
            lowered += static_cast<double>(k + 1) * row[k];
          }
          ASSERT_EQ(lowered, direct) << n << " " << p << " " << q;
        }
      }
    }
  }
}

class Network : public testing::Test {
 protected:
  FakeGpu gpu;
  SimulationOptions options;

  Network() {
    options.fidelity = Fidelity::kDatapath;
    options.what_ifs = false;  // the fake GPU is none of the closed form
  }

  RunResult run(const std::string& trace) {
    const workload::Workload workload =
        workload::read_workload(std::filesystem::path(SPTC_SOURCE_DIR) / "traces/digits" / trace);
    return run_workload(workload, FakeGpu::architecture(), options, nullptr, gpu);
  }
};

TEST_F(Network, ClassifiesDigitsAsTheFloat64NetworkDoes) {
  const RunResult result = run("mlp.json");
  ASSERT_TRUE(result.accuracy);
  const AccuracyResult& accuracy = *result.accuracy;
  EXPECT_EQ(accuracy.samples, 899);
  // The figures that training recorded in the trace, computed by PyTorch and NumPy.
  EXPECT_NEAR(accuracy.dense->float64, 0.946607341490545, 1e-12);
  EXPECT_NEAR(accuracy.sparse->float64, 0.9421579532814238, 1e-12);
  EXPECT_NEAR(accuracy.dense->simulated, accuracy.dense->float64, 0.003);
  EXPECT_NEAR(accuracy.sparse->simulated, accuracy.sparse->float64, 0.003);
  EXPECT_LE(accuracy.dense->disagreements, 3);
  EXPECT_TRUE(result.passed());
  for (const OperationResult& op : result.operations) {
    EXPECT_EQ(op.dense->check->elements, op.shape.m * op.shape.n);
    EXPECT_EQ(op.sparse->check->elements, op.shape.m * op.shape.n);
  }
}

TEST_F(Network, RunsConvolutionsAndKeepsWhatIsNotPrunableDense) {
  const RunResult result = run("cnn.json");
  ASSERT_TRUE(result.accuracy);
  EXPECT_NEAR(result.accuracy->dense->float64, 0.946607341490545, 1e-12);
  EXPECT_NEAR(result.accuracy->sparse->float64, 0.9521690767519466, 1e-12);
  EXPECT_NEAR(result.accuracy->sparse->simulated, result.accuracy->sparse->float64, 0.003);
  const OperationResult& conv1 = result.operations[0];
  EXPECT_FALSE(conv1.sparse);
  EXPECT_EQ(conv1.dense->check->elements, 2 * conv1.shape.m * conv1.shape.n) << "the dense kernel ran in both chains";
  EXPECT_TRUE(result.passed());
}

TEST_F(Network, RunsOneChainWhereOneVariantIsAskedFor) {
  options.variants = Variants::kSparse;
  const RunResult result = run("mlp.json");
  EXPECT_FALSE(result.accuracy->dense);
  EXPECT_TRUE(result.accuracy->sparse);
  EXPECT_FALSE(result.operations[0].dense);
  EXPECT_EQ(gpu.launches, 3);
}

TEST_F(Network, NoticesACorruptedLayer) {
  gpu.corrupt = [](base::Matrix<numerics::Word>& d) { d(0, 0) ^= 0x00400000; };
  EXPECT_FALSE(run("mlp.json").passed());
}

/// A network of one layer in a scratch directory.
class SmallNetwork : public Network {
 protected:
  support::TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "small_network.safetensors";
  workload::Workload workload;

  void SetUp() override {
    workload::Operation op;
    op.name = "fc";
    op.shape = {2, 3, 4};
    op.prunable = true;
    op.tensors = workload::LayerTensors{"w", "bias", "w24", "bias"};
    workload.operations = {op};
    workload.network = workload::NetworkData{file, "x", "y", 2};
    write({1, 2, 0, 0, 0, 0, 3, 4});
  }

  static base::Matrix<numerics::Word> words(std::size_t rows, std::size_t cols, const std::vector<double>& values,
                                            numerics::DataType type) {
    base::Matrix<numerics::Word> result(rows, cols);
    for (std::size_t i = 0; i < values.size(); ++i) {
      result.data()[i] = numerics::from_double(values[i], type);
    }
    return result;
  }

  void write(const std::vector<double>& sparse_weight) {
    using numerics::DataType;
    const std::vector<io::Tensor> tensors{
        io::make_tensor("w", words(2, 4, {1, 1, 1, 1, 2, 2, 2, 2}, DataType::kF16), DataType::kF16),
        io::make_tensor("w24", words(2, 4, sparse_weight, DataType::kF16), DataType::kF16),
        io::make_tensor("bias", words(1, 2, {10, -1}, DataType::kF32), DataType::kF32),
        io::make_tensor("x", words(3, 4, {1, 1, 1, 1, 5, 5, 5, 5, 0, 0, 9, 9}, DataType::kF16), DataType::kF16),
        io::make_tensor("y", words(1, 3, {0, 1, 1}, DataType::kS32), DataType::kS32)};
    io::write_safetensors(file, tensors);
  }

  RunResult run_small() { return run_workload(workload, FakeGpu::architecture(), options, nullptr, gpu); }
  std::string refusal() {
    return support::input_error_of([this] { run_small(); });
  }
};

TEST_F(SmallNetwork, AddsTheBiasAndPicksTheLargestScore) {
  const RunResult result = run_small();
  // Dense scores (14, 7), (30, 39), (28, 35): classes 0, 1, 1. Sparse (13, 6), (25, 34), (10, 62):
  // 0, 1, 1.
  EXPECT_EQ(result.accuracy->samples, 3);
  EXPECT_EQ(result.accuracy->dense->simulated, 1);
  EXPECT_EQ(result.accuracy->sparse->simulated, 1);
}

TEST_F(SmallNetwork, RefusesSparseWeightsThatAreNot2To4) {
  write({1, 2, 3, 0, 0, 0, 3, 4});
  const std::string message = refusal();
  EXPECT_NE(message.find("'w24'"), std::string::npos) << message;
  EXPECT_NE(message.find("layer 'fc'"), std::string::npos) << message;
}

TEST_F(SmallNetwork, Refuses2To4WeightsAsTf32) {
  options.dtype = numerics::DataType::kTf32;
  EXPECT_NE(refusal().find("1:2"), std::string::npos);
}

TEST_F(SmallNetwork, RefusesIntegersForRealValues) {
  options.dtype = numerics::DataType::kS8;
  EXPECT_NE(refusal().find("floating-point"), std::string::npos);
}

TEST_F(SmallNetwork, RefusesTensorsThatDoNotFitTheLayers) {
  workload.operations[0].shape.k = 8;
  EXPECT_NE(refusal().find("'w'"), std::string::npos);
  workload.operations[0].shape = {2, 5, 4};
  EXPECT_NE(refusal().find("last layer 'fc'"), std::string::npos);
  workload.operations[0].shape = {2, 3, 4};
  workload.network->classes = 3;
  EXPECT_NE(refusal().find("3 classes"), std::string::npos);
  workload.network->classes = 2;
  workload.network->labels = "z";
  EXPECT_NE(refusal().find("'z'"), std::string::npos);
}

}  // namespace
}  // namespace sptc::run
