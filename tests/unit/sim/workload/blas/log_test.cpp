// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

namespace sptc::workload::blas {
namespace {

Recording read(const std::string& text) {
  input::InputStream input(text, "x");
  return importer::read_recording(input);
}

const std::string kPrefix = "[2026-01-02 03:04:05][cublasLt][77][Trace][cublasLtMatmul] ";

/// A launch of cuBLASLt.
std::string lt(const std::string& a, const std::string& b, const std::string& d, const std::string& compute,
               const std::string& rest = "") {
  return kPrefix + "A=0X1 Adesc=[" + a + "] B=0X2 Bdesc=[" + b + "] C=0X3 Cdesc=[null] D=0X3 Ddesc=[" + d +
         "] computeDesc=[" + compute + "] " + rest + " workSpace=0X0 beta=0 stream=0X0\n";
}

const std::string kLinear =
    lt("type=R_16F rows=32 cols=64 ld=32", "type=R_16F rows=32 cols=16 ld=32", "type=R_32F rows=64 cols=16 ld=64",
       "computeType=COMPUTE_32F scaleType=R_32F transa=OP_T",
       "algo=[algoId=66 tile=MATMUL_TILE_128x128 stages=MATMUL_STAGES_128xAUTO numSplitsK=2]");

TEST(BlasLog, CublasLtSaysShapeTypesAndAlgorithm) {
  const Recording recording = read("some output\n" + kLinear + kLinear);
  ASSERT_EQ(recording.workload.operations.size(), 1);
  const Operation& taken = recording.workload.operations[0];
  EXPECT_EQ(taken.name, "cublasLtMatmul");
  EXPECT_EQ(taken.shape, (base::GemmShape{64, 16, 32}));
  EXPECT_EQ(taken.count, 2);
  EXPECT_TRUE(taken.prunable);
  EXPECT_EQ(taken.recorded.d_dtype, "f32");
  EXPECT_EQ(taken.recorded.kernel, "algo 66, tile 128x128, stages 128xAUTO, split-k 2");
}

TEST(BlasLog, TheKernelThatTheLibraryChoseIsKept) {
  const std::string chosen =
      lt("type=R_16F rows=32 cols=64 ld=32", "type=R_16F rows=32 cols=16 ld=32", "type=R_16F rows=64 cols=16 ld=64",
         "computeType=COMPUTE_32F transa=OP_T epilogue=EPILOGUE_RELU_BIAS",
         "algo=[algoId=6 tile=MATMUL_TILE_128x64 stages=MATMUL_STAGES_32x5 numSplitsK=3]");
  const Recorded recorded = read(chosen).workload.operations.at(0).recorded;
  EXPECT_EQ(recorded.tile, (base::GemmShape{128, 64, 32}));
  EXPECT_EQ(recorded.stages, 5);
  EXPECT_EQ(recorded.split_k, 3);
  EXPECT_EQ(recorded.epilogue, "RELU_BIAS");
  EXPECT_TRUE(recorded.steers());
  // Launches that run in different ways stay apart.
  EXPECT_EQ(read(chosen + kLinear).workload.operations.size(), 2);
  // AUTO stages: the tile is known, its depth too.
  EXPECT_EQ(read(kLinear).workload.operations.at(0).recorded.stages, 0);
  EXPECT_EQ(read(kLinear).workload.operations.at(0).recorded.tile, (base::GemmShape{128, 128, 128}));
}

TEST(BlasLog, ATileOfASwappedProductIsSwappedToo) {
  const Recorded recorded = read(lt("type=R_16F rows=32 cols=64 order=ORDER_ROW", "type=R_16F rows=64 cols=16",
                                    "type=R_16F rows=32 cols=16 order=ORDER_ROW", "computeType=COMPUTE_32F",
                                    "algo=[tile=MATMUL_TILE_128x64 stages=MATMUL_STAGES_32x5]"))
                                .workload.operations.at(0)
                                .recorded;
  EXPECT_EQ(recorded.tile, (base::GemmShape{64, 128, 32}));
}

TEST(BlasLog, NumbersThatNoTileHasAreLeftOut) {
  const Recorded recorded = read(lt("type=R_16F rows=32 cols=64 ld=32", "type=R_16F rows=32 cols=16 ld=32",
                                    "type=R_16F rows=64 cols=16 ld=64", "computeType=COMPUTE_32F transa=OP_T",
                                    "algo=[tile=MATMUL_TILE_99999999999x64 stages=MATMUL_STAGES_-32x5 numSplitsK=-2]"))
                                .workload.operations.at(0)
                                .recorded;
  EXPECT_FALSE(recorded.steers());
}

TEST(BlasLog, OnlyTracesOfLaunchesCount) {
  const Recording recording = read(
      "[cublasLt][1][Api][cublasLtMatmul] A=0X1 Adesc=0X2\n"
      "[cublasLt][1][Trace][cublasLtMatmulAlgoGetHeuristic] Adesc=[type=R_16F rows=1 cols=1]\n"
      "[cublasLt][1][Trace][cublasLtMatrixTransform] Adesc=[type=R_16F rows=1 cols=1]\n" +
      kLinear);
  EXPECT_EQ(recording.workload.operations.at(0).count, 1);
  EXPECT_TRUE(recording.workload.not_taken.empty());
}

TEST(BlasLog, LegacyNamesOfCublasLtAreTaken) {
  std::string line = kLinear;
  line.replace(line.find("cublasLtMatmul"), 14, "cublasLtTSTMatmul");
  EXPECT_EQ(read(line).workload.operations.at(0).name, "cublasLtTSTMatmul");
}

TEST(BlasLog, RowMajorOutputSwapsTheOperands) {
  const Recording recording =
      read(lt("type=R_8I rows=16 cols=32 ld=32 order=ORDER_ROW", "type=R_8I rows=32 cols=64 ld=64 order=ORDER_ROW",
              "type=R_32I rows=16 cols=64 ld=64 order=ORDER_ROW", "computeType=COMPUTE_32I"));
  EXPECT_EQ(recording.workload.operations.at(0).shape, (base::GemmShape{64, 16, 32}));
  EXPECT_EQ(recording.workload.operations.at(0).dtype, numerics::DataType::kS8);
}

TEST(BlasLog, BatchesAndTransposedBAreNoWeights) {
  const std::string batched = " batchCount=12 stridedBatchOffset=9";
  const Recording recording =
      read(lt("type=R_16BF rows=64 cols=32 ld=64" + batched, "type=R_16BF rows=32 cols=16 ld=32" + batched,
              "type=R_16BF rows=64 cols=16 ld=64" + batched, "computeType=COMPUTE_32F") +
           lt("type=R_16BF rows=64 cols=32 ld=64", "type=R_16BF rows=16 cols=32 ld=16",
              "type=R_16BF rows=64 cols=16 ld=64", "computeType=COMPUTE_32F transb=OP_T"));
  ASSERT_EQ(recording.workload.operations.size(), 2);
  EXPECT_EQ(recording.workload.operations[0].batch, 12);
  EXPECT_FALSE(recording.workload.operations[0].prunable);
  EXPECT_FALSE(recording.workload.operations[1].prunable);
}

TEST(BlasLog, F32IsTf32OrNotTaken) {
  const auto f32 = [](const std::string& compute) {
    return lt("type=R_32F rows=64 cols=32 ld=64", "type=R_32F rows=32 cols=16 ld=32",
              "type=R_32F rows=64 cols=16 ld=64", "computeType=" + compute);
  };
  EXPECT_EQ(read(f32("COMPUTE_32F_FAST_TF32")).workload.operations.at(0).dtype, numerics::DataType::kTf32);
  const Recording recording = read(f32("COMPUTE_32F") + kLinear);
  ASSERT_EQ(recording.workload.not_taken.size(), 1);
  EXPECT_EQ(recording.workload.not_taken[0].reason, "f32 on SIMT units, not on tensor cores");
  EXPECT_EQ(recording.workload.not_taken[0].shape, (base::GemmShape{64, 16, 32}));
}

TEST(BlasLog, DescriptorsThatContradictEachOtherAreNamedByLine) {
  support::expect_input_error(
      [] {
        read("\n" + lt("type=R_16F rows=64 cols=32 ld=64", "type=R_16F rows=33 cols=16 ld=33",
                       "type=R_16F rows=64 cols=16 ld=64", "computeType=COMPUTE_32F"));
      },
      {"x:2: the descriptors contradict each other", "op(A) is 64 x 32, op(B) 33 x 16, D 64 x 16"});
  support::expect_input_error([] { read(kLinear.substr(0, kLinear.find("Bdesc"))); },
                              {"x:1: this launch has no Bdesc: the line is cut off"});
  support::expect_input_error(
      [] {
        read(lt("type=R_16F rows=99999999999999999999 cols=3 ld=1", "type=R_16F rows=3 cols=1 ld=1",
                "type=R_16F rows=1 cols=1 ld=1", "computeType=COMPUTE_32F"));
      },
      {"x:1: Adesc rows must be an integer, not '99999999999999999999'"});
  support::expect_input_error(
      [] {
        read(lt("type=R_16F rows=9223372036854775807 cols=3 ld=1", "type=R_16F rows=3 cols=1 ld=1",
                "type=R_16F rows=9223372036854775807 cols=1 ld=1", "computeType=COMPUTE_32F"));
      },
      {"x:1: m must be from 1 to 2147483647, not 9223372036854775807"});
}

TEST(BlasLog, ApiCallsWithoutTraceSayWhatIsMissing) {
  support::expect_input_error([] { read("[cublasLt][1][Api][cublasLtMatmul] A=0X1 Adesc=0X2\n"); },
                              {"the log has no [Trace] line of the call"});
}

const std::string kCublas =
    "I! cuBLAS (v12.9.3) function cublasStatus_t cublasGemmEx(cublasHandle_t, int) called:\n"
    "i!  transa: type=cublasOperation_t; val=CUBLAS_OP_T(1)\n"
    "i!  transb: type=cublasOperation_t; val=CUBLAS_OP_N(0)\n"
    "i!  m: type=int; val=512\n"
    "i!  n: type=int; val=256\n"
    "i!  k: type=int; val=1024\n"
    "i!  Atype: type=cudaDataType_t; val=CUDA_R_16F(2)\n"
    "i!  Btype: type=cudaDataType_t; val=CUDA_R_16F(2)\n"
    "i!  Ctype: type=cudaDataType_t; val=CUDA_R_16F(2)\n"
    "i!  computeType: type=cublasComputeType_t; val=CUBLAS_COMPUTE_32F(68)\n"
    "i! Time: 2026-01-01T00:00:00 elapsed from start 0.0 minutes or 0.0 seconds\n";

TEST(BlasLog, CublasSaysItsArgumentsLineByLine) {
  const Recording recording = read(
      "I! cuBLAS (v12.9.3) function cublasStatus_t cublasCreate_v2(cublasContext**) called:\n"
      "i!  handle: type=cublasHandle_t; val=POINTER (IN HEX:0x1)\n" +
      kCublas);
  const Operation& taken = recording.workload.operations.at(0);
  EXPECT_EQ(taken.name, "cublasGemmEx");
  EXPECT_EQ(taken.shape, (base::GemmShape{512, 256, 1024}));
  EXPECT_EQ(taken.recorded.d_dtype, "f16");
  EXPECT_TRUE(taken.prunable);
  support::expect_input_error([] { read(kCublas.substr(0, kCublas.find("i!  k"))); },
                              {"x:1: the call of cublasGemmEx has no k: the log is cut off"});
}

/// A call of cuBLAS whose name says the type of its operands.
std::string typed_call(const std::string& function) {
  return "I! cuBLAS (v12.9.3) function cublasStatus_t " + function +
         "(cublasHandle_t, int) called:\n"
         "i!  m: type=int; val=512\n"
         "i!  n: type=int; val=256\n"
         "i!  k: type=int; val=1024\n";
}

TEST(BlasLog, TheLetterOfACallOfCublasIsTheTypeOfItsOperands) {
  const Recording recording =
      read(typed_call("cublasHgemm_v2") + typed_call("cublasSgemm_v2") + typed_call("cublasDgemm_v2"));
  ASSERT_EQ(recording.workload.operations.size(), 1);
  const Operation& half = recording.workload.operations[0];
  EXPECT_EQ(half.name, "cublasHgemm");
  EXPECT_EQ(half.shape, (base::GemmShape{512, 256, 1024}));
  EXPECT_EQ(half.dtype, numerics::DataType::kF16);
  EXPECT_EQ(half.recorded.d_dtype, "f16");
  ASSERT_EQ(recording.workload.not_taken.size(), 2);
  const NotTaken& single = recording.workload.not_taken[0];
  EXPECT_EQ(single.name, "cublasSgemm");
  EXPECT_EQ(single.dtype, "f32");
  EXPECT_EQ(single.reason, "f32 on SIMT units, not on tensor cores");
  const NotTaken& twice = recording.workload.not_taken[1];
  EXPECT_EQ(twice.name, "cublasDgemm");
  EXPECT_EQ(twice.dtype, "f64");
  EXPECT_EQ(twice.reason, "type that no simulated tensor core kernel takes");
}

TEST(BlasLog, CusparseltSaysWhatADescriptorWasMadeFrom) {
  const std::string made =
      "[2026-01-02 03:04:05][CUSPARSELT][1][Api][cusparseLtMatmulDescriptorInit] "
      "matmulDescr[out]=0x1, opA[in]=NON_TRANSPOSE, opB[in]=TRANSPOSE, matA[in]={ptr=0x2, "
      "format=Structured, rows=64, cols=512, ld=512, alignment=16, valuesType=CUDA_R_8I}, "
      "matB[in]={ptr=0x3, format=Dense, rows=128, cols=512, ld=512, valuesType=CUDA_R_8I}, "
      "matC[in]={ptr=0x4, format=Dense, rows=64, cols=128, ld=128, valuesType=CUDA_R_16BF}, "
      "matD[in]={ptr=0x5, format=Dense, rows=64, cols=128, ld=128, valuesType=CUDA_R_16BF}\n";
  const Operation taken = read(made).workload.operations.at(0);
  EXPECT_EQ(taken.shape, (base::GemmShape{64, 128, 512}));
  EXPECT_EQ(taken.dtype, numerics::DataType::kS8);
  EXPECT_EQ(taken.recorded.d_dtype, "bf16");
  EXPECT_TRUE(taken.recorded.sparse);
  std::string wrong = made;
  wrong.replace(wrong.find("cols=512"), 8, "cols=256");
  support::expect_input_error([&] { read(wrong); },
                              {"x:1: the descriptors contradict each other", "op(A) is 64 x 256"});
}

TEST(BlasLog, LaunchesWithDifferentEpiloguesAreTwo) {
  const auto with = [](const std::string& epilogue, const std::string& beta) {
    return lt("type=R_16F rows=32 cols=64 ld=32", "type=R_16F rows=32 cols=16 ld=32",
              "type=R_16F rows=64 cols=16 ld=64", "computeType=COMPUTE_32F transa=OP_T" + epilogue, "beta=" + beta);
  };
  const Recording recording = read(with("", "0") + with(" epilogue=EPILOGUE_GELU_BIAS", "0") + with("", "1"));
  ASSERT_EQ(recording.workload.operations.size(), 3);
  EXPECT_EQ(recording.workload.operations[1].recorded.epilogue, "GELU_BIAS");
  EXPECT_FALSE(recording.workload.operations[1].recorded.adds_c);
  EXPECT_TRUE(recording.workload.operations[2].recorded.adds_c);
}

TEST(BlasLog, GradientsInBothTypesOfFp8AreTaken) {
  const Recording recording = read(lt("type=R_8F_E4M3 rows=32 cols=64 ld=32", "type=R_8F_E5M2 rows=32 cols=16 ld=32",
                                      "type=R_16BF rows=64 cols=16 ld=64", "computeType=COMPUTE_32F transa=OP_T"));
  EXPECT_EQ(recording.workload.operations.at(0).dtype, numerics::DataType::kE4m3);
}

TEST(BlasLog, WhatBothLibrariesLogCountsOnce) {
  const std::string same = lt("type=R_16F rows=1024 cols=512 ld=1024", "type=R_16F rows=1024 cols=256 ld=1024",
                              "type=R_16F rows=512 cols=256 ld=512", "computeType=COMPUTE_32F transa=OP_T");
  const Recording recording = read(kCublas + kCublas + same + kLinear);
  ASSERT_EQ(recording.workload.operations.size(), 3);
  EXPECT_EQ(recording.workload.operations.at(0).name, "cublasLtMatmul");
  EXPECT_EQ(recording.workload.operations.at(2).name, "cublasGemmEx");
  EXPECT_EQ(recording.workload.operations.at(2).count, 1);
  ASSERT_EQ(recording.workload.not_taken.size(), 1);
  EXPECT_EQ(recording.workload.not_taken.at(0).count, 1);
  EXPECT_EQ(recording.workload.not_taken.at(0).reason, "the same launch is logged by cuBLASLt");
}

const std::string kSparse =
    "[2026-01-02 03:04:05][CUSPARSELT][1][Api][cusparseLtMatmulDescriptorInit] handle=0x1, "
    "matmulDescr[out]={ptr=0x2, m=3072, n=4608, k=15360, opA=NON_TRANSPOSE, opB=TRANSPOSE, "
    "matA={ptr=0x3, format=Structured, rows=3072, valuesType=CUDA_R_8I}, matB={ptr=0x4, "
    "format=Dense, rows=4608, valuesType=CUDA_R_8I}, matC={ptr=0x5, valuesType=CUDA_R_32I}, "
    "computeType=COMPUTE_32I, is_A_sparse=true, batchSize=1}\n";

TEST(BlasLog, CusparseltSaysSparsity) {
  const Recording recording = read(kSparse);
  const Operation& taken = recording.workload.operations.at(0);
  EXPECT_EQ(taken.shape, (base::GemmShape{3072, 4608, 15360}));
  EXPECT_EQ(taken.dtype, numerics::DataType::kS8);
  EXPECT_EQ(taken.recorded.d_dtype, "s32");
  EXPECT_TRUE(taken.recorded.sparse);
  EXPECT_TRUE(taken.prunable);
  EXPECT_TRUE(recording.account.notes[0].starts_with("no call of cusparseLtMatmul"));
}

TEST(BlasLog, ASparseBIsTheWeight) {
  std::string line = kSparse;
  line.replace(line.find("is_A_sparse=true"), 16, "is_A_sparse=false");
  line.replace(line.find("Structured"), 10, "Dense");
  EXPECT_EQ(read(line).workload.operations.at(0).shape, (base::GemmShape{4608, 3072, 15360}));
}

TEST(BlasLog, ALaunchThatTwoLibrariesLogCountsOnceWhereItsExtentsAgree) {
  const std::string bench =
      "hipblaslt-bench -m 64 -n 32 -k 128 --transA T --transB N --a_type bf16_r --b_type bf16_r "
      "--d_type bf16_r --compute_type f32_r\n";
  const auto rocblas = [](int n, int count) {
    return "- { rocblas_function: \"rocblas_gemm_ex\", a_type: \"bf16_r\", transA: 'T', M: 64, "
           "N: " +
           std::to_string(n) + ", K: 128, batch_count: 1, call_count: " + std::to_string(count) + " }\n";
  };
  const Recording recording = read(bench + bench + rocblas(32, 1) + rocblas(16, 3));
  std::map<std::string, std::int64_t> taken;
  for (const Operation& op : recording.workload.operations) {
    taken[op.name] += op.count;
  }
  EXPECT_EQ(taken, (std::map<std::string, std::int64_t>{{"rocblas_gemm_ex", 4}, {"hipblaslt-bench", 1}}));
  EXPECT_EQ(recording.workload.not_taken.at(0).count, 1);
  EXPECT_EQ(recording.workload.not_taken.at(0).reason, "the same launch is logged as a trace");
}

TEST(BlasLog, HipblasltAndRocblas) {
  const Recording trace = read(
      "[2026-01-02 03:04:05][HIPBLASLT][1][Trace][rocblaslt_matmul] A=0x1 Adesc=[type=R_16BF "
      "rows=48 cols=1024 ld=48] B=0x2 Bdesc=[type=R_16BF rows=176 cols=1024 ld=176] C=0x3 "
      "Cdesc=[type=R_16BF rows=48 cols=176 ld=48] D=0x4 Ddesc=[type=R_16BF rows=48 cols=176 "
      "ld=48] computeDesc=[computeType=COMPUTE_32F transA=OP_N transB=OP_T] alpha=1\n");
  EXPECT_EQ(trace.workload.operations.at(0).shape, (base::GemmShape{48, 176, 1024}));
  const Recording bench = read(
      "hipblaslt-bench --api_method c -m 64 -n 32 -k 128 --transA T --transB N --batch_count 2 "
      "--a_type f8_r --b_type f8_r --d_type bf16_r --compute_type f32_r\n");
  EXPECT_EQ(bench.workload.operations.at(0).dtype, numerics::DataType::kE4m3);
  EXPECT_EQ(bench.workload.operations.at(0).batch, 2);
  const Recording yaml = read(
      "- { rocblas_function: \"rocblas_gemm_ex\", a_type: \"bf16_r\", b_type: \"bf16_r\", "
      "transA: 'T', transB: 'N', M: 64, N: 32, K: 128, batch_count: 1, call_count: 136 }\n");
  EXPECT_EQ(yaml.workload.operations.at(0).count, 136);
  EXPECT_EQ(yaml.workload.operations.at(0).shape, (base::GemmShape{64, 32, 128}));
}

}  // namespace
}  // namespace sptc::workload::blas
