// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::workload::profile {
namespace {

/// A profile with a launch that is taken, and one of `name` with these inputs and the kernels after
/// it, each of 3 us more than the one before.
Recording read(const std::string& name, const std::string& dims, const std::string& types,
               const std::vector<std::string>& kernels = {"void gemm_kernel<1>"}, const std::string& values = "") {
  std::string text = fmt::format(
      R"({{"traceEvents": [
      {{"ph": "X", "cat": "cpu_op", "name": "{}", "ts": 1, "dur": 9, "args": {{"External id": 1,
        "Input Dims": [{}], "Input type": [{}], "Concrete Inputs": [{}]}}}},
      {{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 20, "dur": 9, "args":
        {{"External id": 2, "Input Dims": [[8, 8], [8, 8]], "Input type": ["c10::Half", "c10::Half"]}}}},
      {{"ph": "X", "cat": "kernel", "name": "other_gemm", "ts": 30, "dur": 1, "args":
        {{"External id": 2}}}})",
      name, dims, types, values);
  int number = 0;
  for (const std::string& kernel : kernels) {
    ++number;
    text += fmt::format(
        R"(, {{"ph": "X", "cat": "kernel", "name": "{}", "ts": {}, "dur": {},
        "args": {{"External id": 1, "correlation": {}}}}})",
        kernel, 10 + number, 3 * number, 100 + number);
  }
  input::InputStream input(text + "]}", "x");
  return importer::read_recording(input, {});
}

const Operation& first(const Recording& recording) {
  return recording.workload.operations.at(0);
}

TEST(TorchLibraryCall, WeightsOfMarlinAreQuantised) {
  const std::string types = R"("c10::Half", "", "int", "", "c10::Half", "int")";
  const Recording four = read("_C::gptq_marlin_gemm", "[16, 4096], [], [256, 12288], [], [32, 6144], [512]", types);
  EXPECT_EQ(first(four).shape, (base::GemmShape{6144, 16, 4096}));
  EXPECT_EQ(first(four).dtype, numerics::DataType::kF16);
  EXPECT_EQ(first(four).storage.weight, numerics::DataType::kS4);
  EXPECT_EQ(first(four).storage.scale_block, 128);
  EXPECT_TRUE(first(four).weight);
  EXPECT_EQ(first(four).recorded.time_us, 3);
  // c and a bias stand before it, and a row has one scale.
  const Recording eight = read("_C::marlin_gemm", "[16, 4096], [16, 6144], [256, 24576], [6144], [1, 6144]",
                               R"("c10::BFloat16", "c10::BFloat16", "int", "c10::BFloat16", "c10::BFloat16")");
  EXPECT_EQ(first(eight).shape, (base::GemmShape{6144, 16, 4096}));
  EXPECT_EQ(first(eight).storage.weight, numerics::DataType::kS8);
  EXPECT_EQ(first(eight).storage.scale_block, 0);
  const Recording sparse = read("_C::gptq_marlin_24_gemm", "[16, 4096], [128, 12288], [256, 12288], [32, 6144]",
                                R"("c10::Half", "int", "short int", "c10::Half")");
  EXPECT_EQ(first(sparse).shape, (base::GemmShape{6144, 16, 4096}));
  EXPECT_EQ(first(sparse).storage.weight, numerics::DataType::kS4);
  EXPECT_TRUE(first(sparse).recorded.sparse);
}

TEST(TorchLibraryCall, OtherLayoutsOfQuantisedWeightsAreKnown) {
  const std::string types = R"("c10::Half", "int", "c10::Half", "c10::Half")";
  const auto expect = [](const Recording& recording, const char* what) {
    EXPECT_EQ(first(recording).shape, (base::GemmShape{6144, 16, 4096})) << what;
    EXPECT_EQ(first(recording).storage.weight, numerics::DataType::kS4) << what;
    EXPECT_EQ(first(recording).storage.scale_block, 128) << what;
  };
  expect(read("_C::awq_gemm", "[16, 4096], [4096, 768], [32, 6144]", types), "awq");
  expect(read("_C::machete_mm", "[16, 4096], [512, 6144], [32, 6144]", types), "machete");
  expect(read("aten::_weight_int4pack_mm", "[16, 4096], [768, 32, 32, 4], [], [32, 6144, 2]",
              R"("c10::BFloat16", "int", "Scalar", "c10::BFloat16")", {"tinygemm"}, R"("", "", "128", "")"),
         "tinygemm");
}

TEST(TorchLibraryCall, LinearLayersOfLibrariesHaveTheirWeightAsOutByIn) {
  const std::string fp8 = R"("c10::Float8_e4m3fn", "c10::Float8_e4m3fn")";
  EXPECT_EQ(first(read("fbgemm::f8f8bf16_rowwise", "[3, 512, 64], [256, 64]", fp8)).shape,
            (base::GemmShape{256, 1536, 64}));
  const Recording sparse = read("_C::cutlass_scaled_sparse_mm", "[16, 32], [16, 64], [32, 32]",
                                R"("c10::BFloat16", "c10::Float8_e4m3fn", "c10::Float8_e4m3fn")");
  EXPECT_EQ(first(sparse).shape, (base::GemmShape{32, 16, 64}));
  EXPECT_EQ(first(sparse).dtype, numerics::DataType::kE4m3);
  EXPECT_TRUE(first(sparse).recorded.sparse);
  const Recording nvfp4 = read("_C::cutlass_scaled_fp4_mm", "[16, 32], [16, 32], [32, 32]",
                               R"("c10::BFloat16", "unsigned char", "unsigned char")");
  EXPECT_EQ(first(nvfp4).shape, (base::GemmShape{32, 16, 64}));
  EXPECT_EQ(first(nvfp4).dtype, numerics::DataType::kE2m1);
  EXPECT_EQ(first(nvfp4).storage.scale_block, 16);
}

TEST(TorchLibraryCall, ATemplateOfInductorSaysItsProduct) {
  const std::string types = R"("c10::Half", "c10::Half", "c10::Half", "c10::Half")";
  const Recording bias = read("triton_tem_fused_addmm_relu_0", "[16, 32], [32, 64], [64], [16, 64]", types);
  EXPECT_EQ(first(bias).shape, (base::GemmShape{64, 16, 32}));
  EXPECT_TRUE(first(bias).weight);
  // Generated code has the bias first.
  const Recording behind = read("triton_tem_fused_addmm_0", "[64], [16, 32], [32, 64], [16, 64]", types);
  EXPECT_EQ(first(behind).shape, (base::GemmShape{64, 16, 32}));
  EXPECT_TRUE(first(behind).weight);
  EXPECT_TRUE(first(read("triton_tem_fused_mm_1", "[16, 64], [64, 64], [16, 64]", types)).weight);
  EXPECT_TRUE(first(read("triton_tem_fused_mm_1", "[16, 32], [64, 32], [16, 64]", types)).weight);
  EXPECT_FALSE(first(read("triton_tem_fused_mm_1", "[16, 32], [32, 64], [16, 64]", types)).weight);
  const Recording batched = read("triton_tem_fused_bmm_2", "[4, 16, 32], [4, 32, 64], [4, 16, 64]", types);
  EXPECT_EQ(first(batched).shape, (base::GemmShape{64, 16, 32}));
  EXPECT_EQ(first(batched).batch, 4);
}

TEST(TorchLibraryCall, WhatItsInputsDoNotTellIsNotTaken) {
  const auto reason = [](const std::string& name, const std::string& dims) {
    const std::string types = R"("c10::Half", "int", "c10::Half")";
    return read(name, dims, types).workload.not_taken.at(0).reason;
  };
  const std::string untold = "the recorded inputs do not tell m, n and k";
  EXPECT_EQ(reason("_C::gptq_marlin_gemm", "[16, 4096], [255, 12288], [32, 6144]"), untold);
  EXPECT_EQ(reason("fbgemm::f8f8bf16_rowwise", "[16, 32], [64, 33]"), untold);
  EXPECT_EQ(reason("triton_tem_fused_flex_attention_0", "[1, 8, 9], [1, 8, 9], [1, 8, 7]"), untold);
  EXPECT_EQ(reason("triton_tem_fused_bmm_0", "[0, 16, 32], [0, 32, 64], [0, 16, 64]"), untold);
  EXPECT_EQ(reason("triton_tem_fused_mm_0", "[-16, 32], [32, -64], [-16, -64]"), untold);
  EXPECT_EQ(reason("_C::awq_gemm", ""), "no shapes: record with record_shapes=True");
  EXPECT_EQ(reason("vllm::moe_forward", "[16, 32], [16, 8]"),
            "the kernel is of vllm::moe_forward, whose recorded inputs do not tell m, n and k");
}

TEST(TorchLibraryCall, ExpertsRunTheirTwoProductsInTurn) {
  const std::string types = R"("c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float", "int")";
  const std::string dims = "[100, 64], [8, 512, 64], [8, 64, 256], [100, 2], [100, 2]";
  const std::vector<std::string> kernels{"moe_align_block_size", "fused_moe_kernel", "silu", "fused_moe_kernel",
                                         "moe_sum"};
  const Recording recording = read("vllm::outplace_fused_experts", dims, types, kernels);
  ASSERT_EQ(recording.workload.operations.size(), 3U);
  const Operation& up = recording.workload.operations[0];
  const Operation& down = recording.workload.operations[1];
  EXPECT_EQ(up.name, "vllm::outplace_fused_experts, up");
  EXPECT_EQ(up.shape, (base::GemmShape{512, 25, 64}));
  EXPECT_EQ(up.batch, 8);
  EXPECT_EQ(up.recorded.time_us, 6);
  EXPECT_EQ(down.shape, (base::GemmShape{64, 25, 256}));
  EXPECT_EQ(down.recorded.time_us, 12);
  EXPECT_EQ(recording.account.kernels_us, 46);
  EXPECT_NE(recording.account.notes.back().find("all are taken to get as many"), std::string::npos);
  const std::string packed = "[100, 64], [8, 512, 32], [8, 64, 128], [100, 2], [100, 2]";
  EXPECT_EQ(read("vllm::outplace_fused_experts", packed, types, kernels).workload.not_taken.at(0).reason,
            "the recorded inputs do not tell m, n and k");
}

}  // namespace
}  // namespace sptc::workload::profile
