// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/torch_call.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sptc::workload::profile {
namespace {

using Unit = KernelName::Unit;

KernelName decoded(std::string_view name) {
  const auto kernel = decode_kernel_name(name);
  EXPECT_TRUE(kernel) << name;
  return kernel.value_or(KernelName{});
}

TEST(KernelName, SaysTheTypesOfItsOperandsItsUnitAndSparsity) {
  struct Row {
    std::string_view name, a_type, d_type;
    Unit unit = Unit::kTensorCore;
    bool sparse = false;
  };
  constexpr std::string_view kCutlass = "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8";
  const std::string templated =
      "void cutlass::Kernel2<" + std::string(kCutlass) + ">(" + std::string(kCutlass) + "::Params)";
  const Row rows[] = {{templated, "bf16", "bf16"},
                      {"cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4", "tf32", "f32"},
                      {"volta_h884gemm_128x64_tn", "f16", "f32"},
                      {"cutlass_tensorop_s16832spgemm_f16_256x128_64x3_nt_align8", "f16", "", Unit::kTensorCore, true},
                      {"cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f32_128x128x64", "f16", "f32"},
                      {"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_nn", "f16", "f16"},
                      {"volta_sgemm_128x64_tn", "f32", "f32", Unit::kSimt},
                      {"ampere_sgemm_32x32_sliced1x4_nn", "f32", "f32", Unit::kSimt},
                      {"cutlass_80_simt_sgemm_128x32_8x5_nn_align1", "f32", "f32", Unit::kSimt},
                      {"nvjet_hss_64x8_64x16_4x1_v_bz_splitK_TNN", "f16", "f32"},
                      {"nvjet_sm121_hsh_mma_128x208x64_2_32x104x64_tmaAB_bz_NNNN", "f16", "f16"},
                      {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_"
                       "warpsize2x2x1_g1_tensor16x8x8_execute_kernel_cudnn_infer",
                       "tf32", "f32"},
                      {"sm80_xmma_sparse_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1_"
                       "sptensor16x8x32_execute_kernel_cusparselt",
                       "f16", "f16", Unit::kTensorCore, true},
                      {"sm80_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize32x32x64_stage6_warpsize2x2x1_tensor16x8x32_"
                       "fused",
                       "s8", "s8"},
                      {"void gemv2T_kernel_val<int, int, float>(cublasGemvParams<float>)", "", "", Unit::kGemv},
                      {"void cublasLt::splitKreduce_kernel<32, 16, int>(int)", "", "", Unit::kHelper},
                      {"void gemmk1_kernel<float, 256, 5>(float)", "f32", "f32", Unit::kSimt}};
  for (const Row& row : rows) {
    const KernelName kernel = decoded(row.name);
    EXPECT_EQ(kernel.a_type, row.a_type) << row.name;
    EXPECT_EQ(kernel.d_type, row.d_type) << row.name;
    EXPECT_EQ(kernel.unit, row.unit) << row.name;
    EXPECT_EQ(kernel.sparse, row.sparse) << row.name;
  }
}

TEST(KernelName, OtherKernelsAreNotDecoded) {
  for (const char* name : {"", "_", "void at::native::elementwise_kernel<128, 2>(int)", "triton_",
                           "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", "x<", "_ZN3fooE"}) {
    EXPECT_FALSE(decode_kernel_name(name)) << name;
  }
}

}  // namespace
}  // namespace sptc::workload::profile
