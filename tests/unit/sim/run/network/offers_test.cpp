// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/offers.h"

#include "models/numerics/data_type.h"
#include "sim/config/architecture.h"
#include "sim/run/network/engine.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::run::network {
namespace {

using numerics::DataType;

workload::Operation weight(DataType type) {
  workload::Operation op;
  op.name = "w";
  op.dtype = type;
  return op;
}

workload::Operation four_bits() {
  workload::Operation op = weight(DataType::kBf16);
  op.storage.weight = DataType::kS4;
  return op;
}

EngineSpec on(const std::string& engine, const std::string& board) {
  return on_board(load_engine(engine), config::load_architecture(board).gpu);
}

/// Whether `text` begins so; what it is, in the message of a test that fails.
testing::AssertionResult begins(const std::string& text, const std::string& with) {
  return text.starts_with(with) ? testing::AssertionSuccess() : testing::AssertionFailure() << text;
}

TEST(Versions, AreComparedPartByPart) {
  EXPECT_LT(*parse_version("0.8"), *parse_version("0.8.1"));
  EXPECT_LT(*parse_version("0.9"), *parse_version("0.10"));
  EXPECT_EQ(*parse_version("1"), *parse_version("1.0.0"));
  EXPECT_GT(*parse_version("0.32", 9), *parse_version("0.32.1"));
  for (const char* text : {"", "v1", "1.", ".1", "1..2", "1.2.3.4", "1.2a", "-1", "9999999"}) {
    EXPECT_FALSE(parse_version(text)) << text;
  }
}

TEST(OperandWord, SaysTypeBlocksAndWhatLiesInMemory) {
  workload::Operation op = weight(DataType::kE2m1);
  op.storage.scale_block = 16;
  EXPECT_EQ(operand_word(op), "nvfp4");
  EXPECT_EQ(operand_word(weight(DataType::kE4m3)), "e4m3");
  EXPECT_EQ(operand_word(four_bits()), "w4a16");
}

TEST(Offers, TypesDependOnReleaseAndBoard) {
  const workload::Operation fp8 = weight(DataType::kE4m3);
  EXPECT_EQ(on("vllm", "h100-sxm5-80gb").no_types(fp8), "");
  EXPECT_TRUE(begins(on("vllm", "a100-sxm4-80gb").no_types(fp8),
                     "vllm 0.32 has no linear layers of e4m3: it needs compute capability 8.9 and "
                     "above, and a100-sxm4-80gb has 8.0 ("));
  EXPECT_TRUE(begins(on("vllm", "b200").no_types(weight(DataType::kS8)),
                     "vllm 0.32 has no linear layers of s8: it needs compute capability 7.5 and "
                     "above, below 10.0, and b200 has 10.0 ("));
  EXPECT_TRUE(begins(load_engine("tensorrt@8.6").no_types(fp8),
                     "tensorrt 8.6 has no linear layers of e4m3: it has them since 9.0 ("));
  EXPECT_TRUE(begins(load_engine("vllm").no_types(weight(DataType::kE3m2)),
                     "vllm 0.32 has no linear layers of e3m2: it has those of bf16, f16"));
  EXPECT_EQ(load_engine("fastertransformer").no_types(weight(DataType::kE3m2)), "");
}

TEST(Offers, SparseKernelsComeAndGo) {
  const workload::Operation fp8 = weight(DataType::kE4m3);
  EXPECT_EQ(on("vllm@0.18", "h100-sxm5-80gb").no_sparse(fp8), "");
  EXPECT_TRUE(begins(on("vllm@0.19", "h100-sxm5-80gb").no_sparse(fp8),
                     "vllm 0.19 has no 2:4 kernels of e4m3: it had them before 0.19 ("));
  EXPECT_TRUE(
      begins(load_engine("vllm@0.6").no_sparse(fp8), "vllm 0.6 has no 2:4 kernels of e4m3: it has them since 0.7 ("));
  EXPECT_TRUE(begins(on("vllm@0.18", "a100-sxm4-80gb").no_sparse(weight(DataType::kS8)),
                     "vllm 0.18 has no 2:4 kernels of s8: it needs compute capability 9.0"));
  EXPECT_EQ(on("vllm@0.18", "a100-sxm4-80gb").no_sparse(four_bits()), "");
  EXPECT_EQ(on("tensorrt-llm@1.2", "h100-sxm5-80gb").no_sparse(fp8), "");
  EXPECT_TRUE(begins(load_engine("tensorrt-llm").no_sparse(fp8),
                     "tensorrt-llm 1.4 has no 2:4 kernels of e4m3: it had them before 1.3 ("));
  EXPECT_TRUE(begins(load_engine("sglang").no_sparse(fp8), "sglang 0.5.19 has no 2:4 kernels of e4m3 ("));
  EXPECT_EQ(load_engine("torch").no_sparse(weight(DataType::kBf16)), "");
  EXPECT_EQ(load_engine("torch@2.12").no_sparse(four_bits()), "");
  EXPECT_NE(load_engine("torch@2.13").no_sparse(four_bits()), "");
  EXPECT_EQ(on("vllm-cusparselt", "a100-sxm4-80gb").no_sparse(weight(DataType::kS8)), "");
}

TEST(Offers, QuantisationIsFusedWhereTheSoftwareCompilesIt) {
  const workload::Operation fp8 = weight(DataType::kE4m3);
  EXPECT_EQ(load_engine("vllm@0.10").quantisation(fp8)->how, kOwnKernel);
  EXPECT_EQ(load_engine("vllm").quantisation(fp8)->how, "fused");
  EXPECT_EQ(load_engine("vllm").quantisation(weight(DataType::kBf16)), nullptr);
  EXPECT_EQ(load_engine("vllm").quantisation(four_bits()), nullptr);
  workload::Operation scores = fp8;
  scores.weight = false;
  EXPECT_EQ(load_engine("vllm").quantisation(scores), nullptr);
  // Bytes flow between the kernels of an INT8 network: nothing is left to quantise.
  EXPECT_EQ(load_engine("tensorrt").quantisation(weight(DataType::kS8)), nullptr);
  EXPECT_NE(load_engine("tensorrt").quantisation(fp8), nullptr);
}

}  // namespace
}  // namespace sptc::run::network
