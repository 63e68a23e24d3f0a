// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

namespace sptc::workload::profile {
namespace {

Recording read(const std::string& text, const ImportOptions& options = {}) {
  input::InputStream input(text, "x");
  return importer::read_recording(input, options);
}

/// A profile of these events.
std::string profile(const std::string& events) {
  return R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],
    "traceEvents": [)" +
         events + "]}";
}

std::string op(const std::string& name, double begin, double duration, int external, const std::string& arguments) {
  std::ostringstream text;
  text << R"({"ph": "X", "cat": "cpu_op", "name": ")" << name << R"(", "pid": 1, "tid": 2, "ts": )" << begin
       << R"(, "dur": )" << duration << R"(, "args": {"External id": )" << external << (arguments.empty() ? "" : ", ")
       << arguments << "}}";
  return text.str();
}

std::string kernel(const std::string& name, double duration, int external, int correlation) {
  std::ostringstream text;
  text << R"({"ph": "X", "cat": "kernel", "name": ")" << name << R"(", "pid": 0, "tid": 7, "ts": 900, "dur": )"
       << duration << R"(, "args": {"External id": )" << external << R"(, "correlation": )" << correlation
       << R"(, "grid": [1, 2, 3]}})";
  return text.str();
}

const std::string kAddmm = R"("Input Dims": [[64], [16, 32], [32, 64], [], []],
  "Input type": ["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"],
  "Input Strides": [[1], [32, 1], [1, 32], [], []])";
const std::string kLinear = R"("Input Dims": [[16, 32], [64, 32], [64]],
  "Input type": ["c10::Half", "c10::Half", "c10::Half"])";
const std::string kHalfKernel = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn";

/// mm of these extents, strides and type.
std::string mm(const std::string& dims, const std::string& strides, const std::string& type) {
  return R"("Input Dims": [)" + dims + R"(], "Input Strides": [)" + strides + R"(], "Input type": [")" + type +
         R"(", ")" + type + R"("])";
}

TEST(Kineto, KernelsWithoutAPossibleTimeAreRefused) {
  support::expect_input_error(
      [] { read(profile(op("aten::addmm", 110, 30, 8, kAddmm) + "," + kernel("k", 1e308, 8, 1))); },
      {"x: a kernel takes at most 1000000000000 us, not 1e+308"});
}

TEST(Kineto, AKernelLooksForItsOperationUpToAThousandOutwards) {
  const auto nested = [](int operations) {
    std::string events = kernel(kHalfKernel, 5, 5000, 1) + "," + op("aten::addmm", 1, 9000, 8, kAddmm);
    for (int i = 2; i <= operations; ++i) {
      events += "," + op("aten::f", i, 9000 - i, i == operations ? 5000 : 9000 + i, "");
    }
    return read(profile(events)).workload.operations.at(0).recorded.time_us;
  };
  EXPECT_EQ(nested(1000), 5);
  support::expect_input_error([&] { nested(1001); }, {"no launch"});
}

TEST(Kineto, LeafOperationsAreTakenWithTheTimeOfTheirKernels) {
  const Recording recording = read(profile(
      op("aten::linear", 100, 50, 7, kLinear) + "," + op("aten::addmm", 110, 30, 8, kAddmm) + "," +
      kernel(kHalfKernel, 5.5, 8, 1000) + "," + kernel("void cublasLt::splitKreduce_kernel<32>(int)", 1.5, 8, 1001) +
      "," + kernel("void at::native::elementwise_kernel<1>(int)", 3, 9, 1002)));
  ASSERT_EQ(recording.workload.operations.size(), 1);
  const Operation& taken = recording.workload.operations[0];
  EXPECT_EQ(taken.name, "aten::addmm");
  EXPECT_EQ(taken.shape, (base::GemmShape{64, 16, 32}));
  EXPECT_EQ(taken.dtype, numerics::DataType::kF16);
  EXPECT_EQ(taken.count, 1);
  EXPECT_TRUE(taken.prunable);
  EXPECT_EQ(taken.recorded.time_us, 7);
  EXPECT_EQ(taken.recorded.kernel, kHalfKernel);
  EXPECT_TRUE(recording.workload.not_taken.empty());
  EXPECT_EQ(recording.account.kernels_us, 10);
  EXPECT_EQ(recording.account.gpu, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(recording.account.arch, "a100-sxm4-80gb");
}

TEST(Kineto, FilesOf2022LinkByCorrelationAndTime) {
  const std::string call = R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
    "pid": 1, "tid": 2, "ts": 115, "dur": 2, "args": {"External id": 1000, "correlation": 1000}})";
  const std::string dims = R"("Input Dims": [[64], [16, 32], [32, 64], [], []],
    "Input type": ["float", "float", "float", "Scalar", "Scalar"])";
  const std::string name = "cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4";
  const Recording recording =
      read(profile(call + "," + kernel(name, 4, 1000, 1000) + "," + op("aten::addmm", 110, 30, 8, dims) + "," +
                   op("aten::empty", 111, 1, 1000, "")));
  ASSERT_EQ(recording.workload.operations.size(), 1);
  EXPECT_EQ(recording.workload.operations[0].dtype, numerics::DataType::kTf32);
  EXPECT_EQ(recording.workload.operations[0].recorded.time_us, 4);
}

TEST(Kineto, EqualLaunchesAreCountedAndTheirTimesAveraged) {
  const Recording recording =
      read(profile(op("aten::addmm", 100, 10, 1, kAddmm) + "," + op("aten::addmm", 120, 10, 2, kAddmm) + "," +
                   kernel(kHalfKernel, 4, 1, 1001) + "," + kernel(kHalfKernel, 6, 2, 1002)));
  ASSERT_EQ(recording.workload.operations.size(), 1);
  EXPECT_EQ(recording.workload.operations[0].count, 2);
  EXPECT_EQ(recording.workload.operations[0].recorded.time_us, 5);
}

TEST(Kineto, WhatDoesNotRunOnTensorCoresIsNotTaken) {
  const std::string square = mm("[8, 32], [32, 16]", "[32, 1], [1, 32]", "float");
  const Recording recording =
      read(profile(op("aten::addmm", 100, 10, 1, kAddmm) + "," + kernel(kHalfKernel, 4, 1, 1001) + "," +
                   op("aten::mm", 120, 10, 2, square) + "," + kernel("volta_sgemm_64x64_tn", 5, 2, 1002) + "," +
                   op("aten::mm", 140, 10, 3, mm("[1, 32], [32, 16]", "[32, 1], [1, 32]", "c10::Half")) + "," +
                   kernel("void gemv2T_kernel_val<int>(cublasGemvParams<int>)", 6, 3, 1003) + "," +
                   op("aten::mm", 160, 10, 4, mm("[8, 32], [32, 16]", "[32, 1], [16, 1]", "double")) + "," +
                   kernel("cutlass_80_tensorop_d884gemm_64x64_16x4_nt_align1", 7, 4, 1004) + "," +
                   op("aten::mm", 180, 10, 5, square) + "," + kernel(kHalfKernel, 8, 99, 1005)));
  std::map<std::string, std::pair<std::int64_t, double>> reasons;
  for (const NotTaken& launch : recording.workload.not_taken) {
    reasons[launch.reason] = {launch.count, launch.time_us};
  }
  using Left = std::pair<std::int64_t, double>;
  EXPECT_EQ(reasons.size(), 5);
  EXPECT_EQ(reasons["f32 on SIMT units, not on tensor cores"], Left(1, 5));
  EXPECT_EQ(reasons["runs as gemv, not on tensor cores"], Left(1, 6));
  EXPECT_EQ(reasons["type that no simulated tensor core kernel takes"], Left(1, 7));
  EXPECT_EQ(reasons["no kernel is recorded: it ran on the CPU, or the recording had ended"], Left(1, 0));
  EXPECT_EQ(reasons["a kernel without operation, as graph replay leaves them: no shapes; "
                    "record without CUDA graphs"],
            Left(1, 8));
  EXPECT_EQ(recording.workload.not_taken[0].shape, (base::GemmShape{16, 8, 32}));
  EXPECT_EQ(recording.workload.not_taken[0].dtype, "f32");
  EXPECT_EQ(recording.account.kernels_us, 30);
}

TEST(Kineto, GemmsOfTransformerEngineAndOfServersAreTaken) {
  const std::string engine =
      R"("Input Dims": [[64, 32], [1], [], [], [], [8, 32], [1], [], [], [], [8, 64]],
         "Input type": ["unsigned char"],
         "Concrete Inputs": ["", "", "0", "6", "True", "", "", "1", "6", "False"])";
  const std::string server =
      R"("Input Dims": [[8, 64], [8, 32], [32, 64]],
         "Input type": ["c10::BFloat16", "c10::Float8_e4m3fn", "c10::Float8_e4m3fn"])";
  const Recording recording = read(profile(op("tex_ts::te_gemm_ts", 100, 10, 1, engine) + "," +
                                           kernel("nvjet_qqtst_128x256_128x4_2x1_v_bz_TNT", 4, 1, 1001) + "," +
                                           op("_C::cutlass_scaled_mm", 120, 10, 2, server) + "," +
                                           kernel("nvjet_qqtst_128x256_128x4_2x1_v_bz_TNT", 4, 2, 1002)));
  ASSERT_EQ(recording.workload.operations.size(), 2);
  for (const Operation& taken : recording.workload.operations) {
    EXPECT_EQ(taken.shape, (base::GemmShape{64, 8, 32})) << taken.name;
    EXPECT_EQ(taken.dtype, numerics::DataType::kE4m3) << taken.name;
    EXPECT_TRUE(taken.prunable) << taken.name;
  }
}

TEST(Kineto, OfAProfileOfTheCpuTheUserDecidesAboutTf32) {
  const std::string cpu = profile(op("aten::mm", 1, 1, 1, mm("[16, 32], [32, 64]", "[32, 1], [1, 32]", "float")));
  ImportOptions options;
  options.tf32 = true;
  EXPECT_EQ(read(cpu, options).workload.operations.at(0).dtype, numerics::DataType::kTf32);
  support::expect_input_error([&] { read(cpu); }, {"no kernel says whether it runs as TF32 (--tf32"});
}

TEST(Kineto, SharesOfTheRecordedTimeAddUpWhereSomeLaunchesHaveNoKernel) {
  const std::string flash = mm("[8, 4, 32, 16], [8, 4, 32, 16]", "[1], [1]", "c10::Half");
  const Recording recording = read(
      profile(op("aten::addmm", 100, 10, 1, kAddmm) + "," + kernel(kHalfKernel, 4, 1, 1001) + "," +
              op("aten::_flash_attention_forward", 120, 10, 2, flash) + "," + kernel("flash_fwd_kernel", 6, 2, 1002) +
              "," + op("aten::_flash_attention_forward", 140, 10, 3, flash)));
  const NotTaken& left = recording.workload.not_taken.at(0);
  EXPECT_EQ(static_cast<double>(left.count) * left.time_us, 6);
  EXPECT_EQ(recording.account.kernels_us, 10);
}

TEST(Kineto, FusedKernelsOfOtherLibrariesAreCounted) {
  const std::string flash = "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<2>>>";
  const Recording recording =
      read(profile(op("aten::addmm", 100, 10, 1, kAddmm) + "," + kernel(kHalfKernel, 4, 1, 1001) + "," +
                   op("flash_attn_3::fwd", 120, 10, 2, kAddmm) + "," + kernel(flash, 5, 2, 1002) + "," +
                   op("aten::_grouped_mm", 140, 10, 3, kAddmm) + "," +
                   kernel("void cutlass::device_kernel<at::cuda::cutlass_grouped_gemm>", 6, 3, 1003)));
  std::map<std::string, std::string> reasons;
  for (const NotTaken& launch : recording.workload.not_taken) {
    reasons[launch.reason] = launch.name;
  }
  EXPECT_EQ(reasons.size(), 2);
  EXPECT_TRUE(
      reasons.contains("the kernel is of flash_attn_3::fwd, whose recorded inputs do not tell m, n "
                       "and k"));
  EXPECT_EQ(reasons["no shapes of the GEMMs of experts"], "aten::_grouped_mm");
}

TEST(Kineto, AKernelThatEndsBeforeItBeginsHasNoTime) {
  const Recording recording =
      read(profile(op("aten::addmm", 100, 10, 1, kAddmm) + "," + kernel(kHalfKernel, -4, 1, 1001) + "," +
                   kernel("void cublasLt::splitKreduce_kernel<32>(int)", 1.5, 1, 1002) + "," +
                   op("aten::addmm", 120, -10, 2, kAddmm) + "," + kernel(kHalfKernel, 6, 2, 1003)));
  const Operation& taken = recording.workload.operations.at(0);
  EXPECT_EQ(taken.count, 2);
  EXPECT_EQ(taken.recorded.time_us, 6) << "the mean of the launches that have a time";
  EXPECT_EQ(recording.account.kernels_us, 7.5);
  EXPECT_EQ(recording.account.notes.at(0), "a kernel is recorded as ending before it begins: the launch has no time");
}

TEST(Kineto, WhereTheExternalIdIsTheCorrelationByChanceItLinks) {
  const Recording recording = read(profile(op("aten::addmm", 100, 10, 8, kAddmm) + "," + kernel(kHalfKernel, 4, 8, 8)));
  EXPECT_EQ(recording.workload.operations.at(0).recorded.time_us, 4);
}

TEST(Kineto, GeneratedKernelsOfExpertsAreCounted) {
  const Recording recording =
      read(profile(op("aten::addmm", 100, 10, 1, kAddmm) + "," + kernel(kHalfKernel, 4, 1, 1001) + "," +
                   kernel("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3", 5, 9, 1002)));
  EXPECT_EQ(recording.workload.not_taken.at(0).time_us, 5);
}

Recording grouped(const std::string& dims) {
  return read(profile(op("aten::_grouped_mm", 1, 1, 1, mm(dims, "", "c10::BFloat16")) + "," +
                      kernel("void cutlass::device_kernel<GroupProblemShape>", 6, 1, 1001)));
}

TEST(Kineto, ExpertsOfAGroupedGemmShareItsTokensAlike) {
  const Recording tokens = grouped("[130, 64], [8, 64, 256], [8]");
  const Operation& taken = tokens.workload.operations.at(0);
  EXPECT_EQ(taken.shape, (base::GemmShape{256, 17, 64}));
  EXPECT_EQ(taken.batch, 8);
  EXPECT_EQ(taken.recorded.time_us, 6);
  EXPECT_TRUE(taken.prunable);
  EXPECT_NE(tokens.account.notes.back().find("all are taken to get as many"), std::string::npos);

  const Operation few = grouped("[3, 64], [8, 64, 256], [8]").workload.operations.at(0);
  EXPECT_EQ(few.shape.n, 1) << "no expert gets less than one token";
  EXPECT_EQ(few.batch, 3);
}

TEST(Kineto, AGroupedGemmMayShareMOrK) {
  const Operation columns = grouped("[8, 256, 64], [64, 128], [8]").workload.operations.at(0);
  EXPECT_EQ(columns.shape, (base::GemmShape{256, 16, 64})) << "the first operand is the weight";
  EXPECT_EQ(columns.batch, 8);
  EXPECT_TRUE(columns.weight);
  const Operation gradient = grouped("[256, 128], [128, 64], [8]").workload.operations.at(0);
  EXPECT_EQ(gradient.shape, (base::GemmShape{64, 256, 16}));
  EXPECT_EQ(gradient.batch, 8);
  EXPECT_FALSE(gradient.weight);
  const Operation batches = grouped("[8, 16, 64], [8, 64, 256]").workload.operations.at(0);
  EXPECT_EQ(batches.shape, (base::GemmShape{256, 16, 64}));
  EXPECT_EQ(batches.batch, 8);
  support::expect_input_error([] { grouped("[130, 64], [8, 32, 256], [8]"); },
                              {"aten::_grouped_mm", "[130, 64]", "[8, 32, 256]", "do not fit"});
}

TEST(Kineto, ScalesOfBlocksSayNvfp4AndMxfp8) {
  struct Row {
    std::string op, dims;
    base::GemmShape mxfp8, nvfp4;  ///< of which a byte holds two elements
  };
  for (const Row& row :
       {Row{"aten::_scaled_mm", "[16, 32], [32, 64], [64], [256]", {64, 16, 32}, {64, 16, 64}},
        Row{"aten::_scaled_grouped_mm", "[128, 32], [8, 32, 256], [128], [8], [8]", {256, 16, 32}, {256, 16, 64}}}) {
    SCOPED_TRACE(row.op);
    const auto scaled = [&row](const std::string& type, const std::string& scale) {
      const std::string arguments = R"("Input Dims": [)" + row.dims + R"(], "Input type": [")" + type + R"(", ")" +
                                    type + R"(", ")" + scale + R"(", ")" + scale + R"(", "int"])";
      return read(profile(op(row.op, 1, 1, 1, arguments) + "," + op("aten::addmm", 3, 1, 2, kAddmm)));
    };
    const std::string fp4 = "c10::Float4_e2m1fn_x2", fp8 = "c10::Float8_e4m3fn";
    const Operation nvfp4 = scaled(fp4, fp8).workload.operations.at(0);
    EXPECT_EQ(nvfp4.shape, row.nvfp4);
    EXPECT_EQ(nvfp4.dtype, numerics::DataType::kE2m1);
    EXPECT_EQ(nvfp4.storage.scale_block, 16);
    const Operation mxfp8 = scaled(fp8, "c10::Float8_e8m0fnu").workload.operations.at(0);
    EXPECT_EQ(mxfp8.shape, row.mxfp8);
    EXPECT_EQ(mxfp8.storage.scale_block, 32);
    EXPECT_EQ(scaled(fp8, "float").workload.operations.at(0).storage.scale_block, 0);
    EXPECT_EQ(scaled(fp4, "c10::Float8_e8m0fnu").workload.not_taken.at(0).reason,
              "e2m1 of other scales than those of nvfp4");
  }
}

TEST(Kineto, AWeightIsWhatIsStoredTransposed) {
  const auto prunable = [](const std::string& strides) {
    const Recording recording = read(profile(op("aten::mm", 1, 1, 1, mm("[16, 32], [32, 64]", strides, "c10::Half"))));
    return recording.workload.operations.at(0).prunable;
  };
  EXPECT_TRUE(prunable("[32, 1], [1, 32]"));
  EXPECT_FALSE(prunable("[32, 1], [64, 1]"));  // gradient of the input
  EXPECT_FALSE(prunable("[1, 16], [1, 32]"));  // gradient of the weight
}

TEST(Kineto, BatchesOfBmmAreOneLaunchWithoutWeight) {
  const Recording recording =
      read(profile(op("aten::bmm", 1, 1, 1, mm("[12, 16, 32], [12, 32, 64]", "", "c10::Half"))));
  const Operation& taken = recording.workload.operations.at(0);
  EXPECT_EQ(taken.shape, (base::GemmShape{64, 16, 32}));
  EXPECT_EQ(taken.batch, 12);
  EXPECT_FALSE(taken.prunable);
}

TEST(Kineto, ConvolutionsWithStridesAreLowered) {
  const std::string dims = R"("Input Dims": [[2, 16, 10, 12], [32, 16, 3, 3], [], [], [], []],
    "Input type": ["c10::Half", "c10::Half", "ScalarList", "ScalarList", "ScalarList", "Scalar"])";
  const std::string values = R"(, "Concrete Inputs": ["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "True", "False"])";
  const Recording recording = read(profile(op("aten::cudnn_convolution", 1, 1, 1, dims + values)));
  const Operation& taken = recording.workload.operations.at(0);
  EXPECT_EQ(taken.shape, (base::GemmShape{32, 2 * 5 * 6, 144}));
  EXPECT_EQ(taken.conv->stride, (std::array<std::int64_t, 2>{2, 2}));
  EXPECT_EQ(taken.conv->pad, (std::array<std::int64_t, 2>{1, 1}));
  support::expect_input_error([&] { read(profile(op("aten::cudnn_convolution", 1, 1, 1, dims))); },
                              {"stride and padding of this convolution are not recorded"});
}

TEST(Kineto, ConvolutionsOfVideosAreGemms) {
  const Recording recording = read(profile(op("aten::cudnn_convolution", 1, 1, 1,
                                              R"("Input Dims": [[1, 16, 8, 10, 12],
      [32, 16, 3, 1, 2], [], [], [], []], "Input type": ["c10::Half"],
      "Concrete Inputs": ["", "", "[1, 0, 0]", "[2, 1, 1]", "[1, 1, 1]", "1"])")));
  const Operation& taken = recording.workload.operations.at(0);
  EXPECT_EQ(taken.shape, (base::GemmShape{32, 4 * 10 * 11, 16 * 3 * 2}));
  EXPECT_FALSE(taken.conv);
}

TEST(Kineto, OfSeveralStepsOneIsTakenAndTheOthersAreSaid) {
  const auto step = [](const std::string& name, int begin, int duration) {
    return R"({"ph": "X", "cat": "user_annotation", "name": ")" + name + R"(", "pid": 1, "tid": 2, "ts": )" +
           std::to_string(begin) + R"(, "dur": )" + std::to_string(duration) + "},";
  };
  const Recording recording =
      read(profile(step("ProfilerStep#1", 0, 100) + step("ProfilerStep#2", 100, 20) + step("ProfilerStep#3", 200, 30) +
                   op("aten::addmm", 10, 5, 1, kAddmm) + "," + op("aten::addmm", 110, 5, 2, kAddmm) + "," +
                   op("aten::addmm", 210, 5, 3, kAddmm)));
  ASSERT_EQ(recording.workload.not_taken.size(), 1);
  EXPECT_EQ(recording.workload.operations.at(0).count, 1);
  EXPECT_EQ(recording.workload.not_taken[0].count, 2);
  EXPECT_EQ(recording.workload.not_taken[0].reason, "of another step than ProfilerStep#3");
  EXPECT_TRUE(recording.account.notes[0].starts_with("of 3 steps ProfilerStep#3 is taken"));
}

TEST(Kineto, FaultsAreNamedWithTheirPlace) {
  const auto refused = [](const std::string& text, std::initializer_list<std::string_view> parts) {
    support::expect_input_error([&] { read(text); }, parts);
  };
  refused(profile(op("a", 1, 1, 1, "") + "," + op("aten::mm", 1, 1, 1, mm("[3, 4], [5, 6]", "", "c10::Half"))),
          {"x: /traceEvents/1: aten::mm has operands [3, 4] and [5, 6], which do not fit"});
  refused(profile(op("aten::mm", 1, 1, 1, mm("[3, 9223372036854775808], [9223372036854775808, 6]", "", "c10::Half"))),
          {"x: /traceEvents/0", "beyond 0 to 2147483647"});
  refused(profile(op("aten::mm", 1, 1, 1, mm("[-3, 4], [4, 6]", "", "c10::Half"))), {"x: /traceEvents/0", "-3"});
  const std::string whole = profile(op("aten::addmm", 1, 1, 1, kAddmm));
  refused(whole.substr(0, whole.size() - 3), {"x: not valid JSON: line 4, column 52"});
  refused(R"({"traceEvents": [{"ts": 1e999}]})", {"x: not valid JSON: number overflow parsing '1e999'"});
  refused(profile(op("aten::mm", 1, 1, 1, "")),
          {"no launch of this PyTorch profile can be simulated", "record_shapes=True"});
  refused(profile(op("aten::add", 1, 1, 1, "")), {"x: no GEMM was found in this PyTorch profile"});
}

TEST(ExecutionTrace, BothLayoutsAreRead) {
  const std::string old = R"x({"schema": "1.0.1", "pid": 1, "nodes": [
    {"name": "aten::linear", "id": 1, "inputs": [], "input_shapes": [[16, 32], [64, 32]]},
    {"name": "aten::addmm", "id": 2, "inputs": [[7, 8, 0, 64, 2, "cuda:0"],
      [3, 4, 0, 512, 2, "cuda:0"], [13, 6, 0, 2048, 2, "cuda:0"], 1, 1],
     "input_shapes": [[64], [16, 32], [32, 64], [], []], "outputs": [[1, 2]],
     "input_types": ["Tensor(c10::Half)", "Tensor(c10::Half)", "Tensor(c10::Half)", "Int", "Int"]}]
})x";
  const Recording first = read(old);
  EXPECT_EQ(first.account.format, "PyTorch execution trace");
  EXPECT_EQ(first.workload.operations.at(0).shape, (base::GemmShape{64, 16, 32}));
  EXPECT_EQ(first.workload.operations.at(0).dtype, numerics::DataType::kF16);

  const std::string newer = R"x({"schema": "1.1.1-chakra.0.0.4", "nodes": [
    {"id": 1, "name": "aten::cudnn_convolution", "ctrl_deps": 0, "inputs": {"values":
      [[1, 2, 0, 4, 4, "cuda:0"], [3, 4, 0, 9, 4, "cuda:0"], [3, 3], [2, 2], [1, 1], 1, false, false,
       true], "shapes": [[32, 3, 224, 224], [64, 3, 7, 7], [[], []], [[], []], [[], []], [], [], [],
       []], "types": ["Tensor(float)", "Tensor(float)", "GenericList[Int,Int]"], "strides": [[1]]
  }
  , "outputs" : {"values" : [[3]], "shapes" : [[ 9, 9 ]]},
                "attrs" : [ {"name" : "tid", "value" : 1} ]
  }]
  })x";
  const Recording second = read(newer);
  EXPECT_EQ(second.workload.operations.at(0).shape, (base::GemmShape{64, 32 * 112 * 112, 147}));
  EXPECT_EQ(second.workload.operations.at(0).dtype, numerics::DataType::kTf32);
}

TEST(ExecutionTrace, F32IsTf32OnlyWhereSomethingSaysSo) {
  const std::string text = R"x({"schema": "1.0.1", "nodes": [{"name": "aten::mm", "inputs": [],
    "input_shapes": [[16, 32], [32, 64]], "input_types": ["Tensor(float)", "Tensor(float)"]}]
})x";
  support::expect_input_error([&] { read(text); }, {"no kernel says whether it runs as TF32"});
  EXPECT_EQ(read(text, {{}, {}, true}).workload.operations.at(0).dtype, numerics::DataType::kTf32);
}

}  // namespace
}  // namespace sptc::workload::profile
