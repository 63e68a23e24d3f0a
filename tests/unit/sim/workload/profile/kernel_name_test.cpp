// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/kernel_name.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace sptc::workload::profile {
namespace {

KernelName decoded(std::string_view name) {
  const auto kernel = decode_kernel_name(name);
  EXPECT_TRUE(kernel) << name;
  return kernel.value_or(KernelName{});
}

TEST(KernelName, CutlassSaysTypesTileStagesAndTransposes) {
  const std::string name = "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8";
  const KernelName kernel = decoded("void cutlass::Kernel2<" + name + ">(" + name + "::Params)");
  EXPECT_EQ(kernel.library, "cutlass");
  EXPECT_EQ(kernel.generation, "sm80");
  EXPECT_EQ(kernel.a_type, "bf16");
  EXPECT_EQ(kernel.d_type, "bf16");
  EXPECT_EQ(kernel.accumulator, "f32");
  EXPECT_EQ(kernel.tile, (base::GemmShape{128, 64, 64}));
  EXPECT_EQ(kernel.mma, (base::GemmShape{16, 8, 16}));
  EXPECT_EQ(kernel.stages, 6);
  EXPECT_EQ(kernel.transposes, "tn");
  EXPECT_FALSE(kernel.sparse);
}

TEST(KernelName, S1688WithoutATypeIsTf32) {
  const KernelName kernel = decoded("cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4");
  EXPECT_EQ(kernel.a_type, "tf32");
  EXPECT_EQ(kernel.d_type, "f32");
  EXPECT_EQ(kernel.unit, KernelName::Unit::kTensorCore);
}

TEST(KernelName, SpgemmIsSparse) {
  const KernelName kernel = decoded("cutlass_tensorop_s16832spgemm_f16_256x128_64x3_nt_align8");
  EXPECT_TRUE(kernel.sparse);
  EXPECT_EQ(kernel.mma, (base::GemmShape{16, 8, 32}));
  EXPECT_EQ(kernel.tile, (base::GemmShape{256, 128, 64}));
}

TEST(KernelName, SgemmAndSimtRunOnNoTensorCore) {
  for (const char* name : {"volta_sgemm_128x64_tn", "ampere_sgemm_32x32_sliced1x4_nn",
                           "cutlass_80_simt_sgemm_128x32_8x5_nn_align1"}) {
    const KernelName kernel = decoded(name);
    EXPECT_EQ(kernel.unit, KernelName::Unit::kSimt) << name;
    EXPECT_EQ(kernel.a_type, "f32") << name;
  }
  EXPECT_EQ(decoded("volta_sgemm_128x64_tn").tile, (base::GemmShape{128, 64, 0}));
}

TEST(KernelName, EachWordForATypeIsOneOfOurs) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"f16", "f16"}, {"fp16", "f16"}, {"bf16", "bf16"}, {"tf32", "tf32"},
      {"f32", "f32"}, {"fp32", "f32"}, {"f64", "f64"},   {"s8", "s8"},
      {"i8", "s8"},   {"int8", "s8"},  {"u8", "u8"},     {"s32", "s32"},
      {"i32", "s32"}, {"f8", "e4m3"},  {"e4m3", "e4m3"}, {"e5m2", "e5m2"}};
  for (const auto& [word, type] : kTypes) {
    const std::string name = "cutlass_80_tensorop_s16816gemm_" + std::string(word) + "_128x64_tn";
    EXPECT_EQ(decoded(name).a_type, type) << word;
  }
}

TEST(KernelName, EachWordForAnInstructionIsItsShape) {
  constexpr std::pair<std::string_view, base::GemmShape> kShapes[] = {
      {"884", {8, 8, 4}},           {"1688", {16, 8, 8}},     {"16816", {16, 8, 16}},
      {"16832", {16, 8, 32}},       {"16864", {16, 8, 64}},   {"8816", {8, 8, 16}},
      {"8832", {8, 8, 32}},         {"161616", {16, 16, 16}}, {"161632", {16, 16, 32}},
      {"64x256x32", {64, 256, 32}}, {"12345", {0, 0, 0}}};
  for (const auto& [word, shape] : kShapes) {
    EXPECT_EQ(decoded("volta_h" + std::string(word) + "gemm_128x64_tn").mma, shape) << word;
  }
}

TEST(KernelName, TheLetterBeforeTheInstructionIsTheAccumulator) {
  constexpr std::pair<std::string_view, std::string_view> kAccumulators[] = {
      {"h16816", "f16"}, {"s16816", "f32"}, {"i16832", "s32"}, {"d884", "f64"}, {"16816", ""}};
  for (const auto& [word, type] : kAccumulators) {
    const std::string name = "ampere_" + std::string(word) + "gemm_128x64_tn";
    EXPECT_EQ(decoded(name).accumulator, type) << word;
  }
}

TEST(KernelName, MangledNamesSayTheOperationTileTypeAndUnit) {
  constexpr std::pair<std::string_view, std::string_view> kOperations[] = {
      {"ImplicitGemmConvolutionFprop", "fprop"},
      {"ImplicitGemmConvolutionDgrad", "dgrad"},
      {"ImplicitGemmConvolutionWgrad", "wgrad"},
      {"Gemm", "gemm"}};
  for (const auto& [word, operation] : kOperations) {
    const KernelName kernel =
        decoded("_ZN7cutlass6Kernel" + std::string(word) +
                "9GemmShapeILi128ELi64ELi32EENS_10bfloat16_tENS_4arch13OpClassTensorOpE");
    EXPECT_EQ(kernel.operation, operation) << word;
    EXPECT_EQ(kernel.tile, (base::GemmShape{128, 64, 32})) << word;
    EXPECT_EQ(kernel.a_type, "bf16") << word;
    EXPECT_EQ(kernel.unit, KernelName::Unit::kTensorCore) << word;
  }
}

TEST(KernelName, AmpereNamesOfCublas) {
  const KernelName kernel = decoded("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_nn");
  EXPECT_EQ(kernel.library, "cublas");
  EXPECT_EQ(kernel.generation, "ampere");
  EXPECT_EQ(kernel.a_type, "f16");
  EXPECT_EQ(kernel.tile, (base::GemmShape{128, 128, 64}));
  EXPECT_EQ(kernel.stages, 3);
}

TEST(KernelName, NvjetSaysTypesTileClusterAndSplitK) {
  const KernelName kernel = decoded("nvjet_hss_64x8_64x16_4x1_v_bz_splitK_TNN");
  EXPECT_EQ(kernel.library, "nvjet");
  EXPECT_EQ(kernel.a_type, "f16");
  EXPECT_EQ(kernel.d_type, "f32");
  EXPECT_EQ(kernel.tile, (base::GemmShape{64, 8, 64}));
  EXPECT_EQ(kernel.stages, 16);
  EXPECT_EQ(kernel.cluster_m, 4);
  EXPECT_EQ(kernel.cluster_n, 1);
  EXPECT_TRUE(kernel.split_k);
  EXPECT_EQ(kernel.transposes, "TNN");
  const KernelName newer = decoded("nvjet_sm121_hsh_mma_128x208x64_2_32x104x64_tmaAB_bz_NNNN");
  EXPECT_EQ(newer.generation, "sm121");
  EXPECT_EQ(newer.tile, (base::GemmShape{128, 208, 64}));
  EXPECT_EQ(newer.stages, 2);
}

TEST(KernelName, XmmaSaysConvolutionsAndSparsity) {
  const KernelName conv = decoded(
      "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_"
      "warpsize2x2x1_g1_tensor16x8x8_execute_kernel_cudnn_infer");
  EXPECT_EQ(conv.operation, "fprop");
  EXPECT_EQ(conv.a_type, "tf32");
  EXPECT_EQ(conv.d_type, "f32");
  EXPECT_EQ(conv.tile, (base::GemmShape{128, 128, 16}));
  EXPECT_EQ(conv.stages, 4);
  const KernelName sparse = decoded(
      "sm80_xmma_sparse_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1_"
      "sptensor16x8x32_execute_kernel_cusparselt");
  EXPECT_TRUE(sparse.sparse);
  EXPECT_EQ(sparse.a_type, "f16");
  EXPECT_EQ(sparse.mma, (base::GemmShape{16, 8, 32}));
  const KernelName integers = decoded(
      "sm80_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize32x32x64_stage6_warpsize2x2x1_tensor16x8x32_"
      "fused");
  EXPECT_EQ(integers.a_type, "s8");
  EXPECT_EQ(integers.tile, (base::GemmShape{32, 32, 64}));
}

TEST(KernelName, GemvAndHelpersAreNoGemm) {
  EXPECT_EQ(decoded("void gemv2T_kernel_val<int, int, float>(cublasGemvParams<float>)").unit,
            KernelName::Unit::kGemv);
  EXPECT_EQ(decoded("void cublasLt::splitKreduce_kernel<32, 16, int>(int)").unit,
            KernelName::Unit::kHelper);
  EXPECT_FALSE(decoded("void gemmk1_kernel<float, 256, 5>(float)").a_type.empty());
}

TEST(KernelName, OtherKernelsAreNotDecoded) {
  for (const char* name : {"", "_", "void at::native::elementwise_kernel<128, 2>(int)", "triton_",
                           "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", "x<", "_ZN3fooE"}) {
    EXPECT_FALSE(decode_kernel_name(name)) << name;
  }
}

/// Names that others recorded: kernel_names.tsv in the directory of SPTC_SAMPLES_DIR.
TEST(KernelName, NamesOfOthersAreDecodedWhereTheyAreThere) {
  const char* directory = std::getenv("SPTC_SAMPLES_DIR");
  if (directory == nullptr) {
    GTEST_SKIP() << "SPTC_SAMPLES_DIR is not set";
  }
  std::ifstream file(std::string(directory) + "/kernel_names.tsv");
  std::string line;
  std::getline(file, line);
  int names = 0, known = 0;
  while (std::getline(file, line)) {
    const std::string name = line.substr(0, line.find('\t'));
    const auto kernel = decode_kernel_name(name);
    const bool whole = kernel && (!kernel->is_gemm() || !kernel->a_type.empty());
    ++names;
    known += whole ? 1 : 0;
    if (!whole || std::getenv("SPTC_SHOW") != nullptr) {
      std::printf("%-60s %.160s\n", kernel ? kernel->summary().c_str() : "?", name.c_str());
    }
  }
  EXPECT_EQ(names, 212);
  EXPECT_GE(known, 200);
}

}  // namespace
}  // namespace sptc::workload::profile
