// SPDX-License-Identifier: Apache-2.0
// Whatever a recording holds, its reader gives a workload that is read back, or throws InputError.
#include "models/base/error.h"
#include "sim/workload/kernel_name.h"
#include "sim/workload/recording.h"
#include "sim/workload/workload_text.h"
#include "sim/workload/workload_text_writer.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/nsys_file.h"
#include "tests/support/onnx_file.h"
#include "tests/support/packed.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace sptc::fuzz {
namespace {

void fuzz(const std::string& seed_text, std::uint64_t inputs,
          const workload::ImportOptions& options = {}) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kAtLeast = 200;
  const auto end = Clock::now() + std::chrono::seconds(2);
  const Mutator mutator(seed_text, 20260101);
  int accepted = 0;
  int refused = 0;
  for (std::uint64_t index = 0; index < inputs && (index < kAtLeast || Clock::now() < end);
       ++index) {
    try {
      workload::InputStream input(mutator.mutation(index), "f");
      const workload::Recording recording = workload::read_recording(input, options);
      workload::parse_workload_json(workload::workload_json(recording), "g");
      workload::account_text(recording);
      for (const workload::Operation& op : recording.workload.operations) {
        if (op.values) {
          op.values->row(op.batch - 1, op.shape.m - 1);
        }
      }
      ++accepted;
    } catch (const base::InputError& error) {
      ++refused;
      if (std::string_view(error.what()).starts_with("g:")) {
        ADD_FAILURE() << "mutation " << index
                      << " is written as JSON that is refused: " << error.what();
        break;
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << "mutation " << index << " made the reader throw: " << error.what();
      break;
    }
  }
  EXPECT_GT(accepted, 0) << "the mutations never reach past the first check";
  EXPECT_GT(refused, 0);
}

const std::string kProfile = R"({"schemaVersion": 1, "deviceProperties": [{"name": "NVIDIA A100"}],
"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 90},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "ts": 90, "dur": 90},
{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 2, "ts": 100, "dur": 9.5,
 "args": {"External id": 3, "Concrete Inputs": ["", "", ""], "Input Dims": [[64], [16, 32], [32, 64]],
 "Input Strides": [[1], [32, 1], [1, 32]], "Input type": ["float", "float", "float"]}},
{"ph": "X", "cat": "cpu_op", "name": "aten::cudnn_convolution", "pid": 1, "tid": 2, "ts": 110,
 "dur": 5, "args": {"External id": 4, "Concrete Inputs": ["", "", "[1, 1]", "[2, 2]", "[1, 1]", "2"],
 "Input Dims": [[2, 16, 8, 8], [32, 8, 3, 3]], "Input type": ["c10::Half", "c10::Half"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "l", "pid": 1, "tid": 2, "ts": 101, "dur": 1,
 "args": {"correlation": 70}},
{"ph": "X", "cat": "kernel", "name": "cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4", "ts": 120,
 "dur": 3, "args": {"External id": 70, "correlation": 70}},
{"ph": "X", "cat": "kernel", "name": "nvjet_tst_64x8_64x16_4x1_v_bz_TNN", "ts": 123, "dur": 4,
 "args": {"External id": 4, "correlation": 71}}]})";

TEST(FuzzRecordings, Kineto) {
  fuzz(kProfile, 20000);
}

TEST(FuzzRecordings, ExecutionTrace) {
  fuzz(
      R"x({"schema": "1.1.0", "nodes": [{"id": 1, "name": "aten::mm", "inputs": {"values": [1, [2]],
    "shapes": [[16, 32], [32, 64]], "types": ["Tensor(c10::Half)"], "strides": [[32, 1], [1, 32]]
}
},
    {"name": "aten::bmm", "inputs": [], "input_shapes": [[2, 8, 4], [2, 4, 8]],
     "input_types": ["Tensor(c10::BFloat16)"]}]
})x",
      20000);
}

TEST(FuzzRecordings, BlasLogs) {
  fuzz(
      "[2026][cublasLt][7][Trace][cublasLtMatmul] A=0X1 Adesc=[type=R_16F rows=32 cols=64 ld=32] "
      "Bdesc=[type=R_16F rows=32 cols=16] Ddesc=[type=R_32F rows=64 cols=16 order=ORDER_ROW] "
      "computeDesc=[computeType=COMPUTE_32F transa=OP_T epilogue=EPILOGUE_GELU] "
      "algo=[tile=MATMUL_TILE_8x8 "
      "stages=MATMUL_STAGES_64x3 numSplitsK=2]\n"
      "[2026][CUSPARSELT][1][Api][x] matmulDescr[out]={m=32, n=46, k=64, matA={format=Structured, "
      "valuesType=CUDA_R_8I}, matB={valuesType=CUDA_R_8I}, is_A_sparse=true, batchSize=1}\n"
      "hipblaslt-bench -m 6 -n 3 -k 12 --transB T --a_type f8_r --batch_count 3\n"
      "- { rocblas_function: \"rocblas_gemm_ex\", a_type: \"bf16_r\", M: 6, N: 3, K: 1, "
      "call_count: 6 }\n",
      20000);
  fuzz(
      "I! cuBLAS (v12) function cublasStatus_t cublasGemmEx(int) called:\ni!  m: type=int; val=5\n"
      "i!  n: type=int; val=6\ni!  k: type=int; val=7\ni!  Atype: type=x; val=CUDA_R_16F(2)\n",
      20000);
}

TEST(FuzzRecordings, TransformerConfig) {
  fuzz(R"({"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 99,
    "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2, "head_dim": 16,
    "num_local_experts": 4, "num_experts_per_tok": 2, "torch_dtype": "float16",
    "quantization_config": {"quant_method": "fp8"}})",
       20000, {{{"batch", 3}, {"seq", 5}}});
  fuzz(R"({"model_type": "vit", "hidden_size": 64, "intermediate_size": 128, "image_size": 32,
    "num_attention_heads": 8, "num_hidden_layers": 2, "patch_size": 16, "id2label": {"0": "a"}})",
       20000, {{{"batch", 3}}});
}

TEST(FuzzRecordings, Nsys) {
  fuzz(support::nsys_file(true), 20000);
}

TEST(FuzzRecordings, Onnx) {
  using namespace sptc::onnx;
  fuzz(
      model(input("x", 10, {0, 16, 9, 9}, "batch") + weight("w", 10, {32, 8, 3, 3}) +
            node("Conv", {"x", "w"}, "c",
                 ints("strides", {2, 2}) + ints("pads", {1, 1, 1, 1}) + integer("group", 2)) +
            node("MaxPool", {"c"}, "p", ints("kernel_shape", {2, 2})) + node("Shape", {"p"}, "s") +
            shape("zero", {0}) + node("Gather", {"s", "zero"}, "b") + shape("rest", {-1}) +
            node("Concat", {"b", "rest"}, "to", integer("axis", 0)) +
            node("Slice", {"to", "zero", "rest"}, "cut") + node("Unsqueeze", {"cut", "zero"}, "u") +
            node("Reshape", {"p", "to"}, "f") + weight("v", 10, {512, 64}) +
            node("MatMul", {"f", "v"}, "y") + node("Split", {"y"}, "q", integer("axis", 1)) +
            node("ReduceMean", {"q"}, "m", ints("axes", {1})) +
            node("Transpose", {"y"}, "t", ints("perm", {1, 0})) + node("Pad", {"t", "to"}, "e") +
            node("Gemm", {"t", "t"}, "g", integer("transB", 1))),
      30000, {{{"batch", 2}}});
}

TEST(FuzzRecordings, OnnxBranchesLoopsAndLayers) {
  using namespace sptc::onnx;
  const std::string body = input("s", 10, {4, 8}) + node("MatMul", {"s", "w"}, "u") + output("u");
  fuzz(model(input("x", 10, {4, 8}) + weight("w", 10, {8, 8}) + input("c", 9, {}) +
             node("If", {"c"}, "i", graph("then_branch", body) + graph("else_branch", body)) +
             bytes(5, tensor("n", 7, {}, number(7, 3))) +
             node_of("Loop", {"n", "c", "i"}, {"l"}, graph("body", body)) +
             node_of("Scan", {"l"}, {"k"}, graph("body", body) + integer("num_scan_inputs", 1)) +
             input("y", 10, {3, 2, 8}) + weight("a", 10, {1, 16, 8}) + weight("r", 10, {1, 16, 4}) +
             node_of("LSTM", {"y", "a", "r"}, {"z", "h"}) + weight("v", 10, {8, 24}) +
             node_of("Attention", {"y", "v"}, {"t"}, integer("num_heads", 2), "com.microsoft") +
             node("MultiHeadAttention", {"y", "y", "y"}, "o", integer("num_heads", 2)) +
             node("Einsum", {"y", "y"}, "e",
                  bytes(5, bytes(1, "equation") + bytes(4, "abc,dbc->ad"))) +
             node("Range", {"n", "n", "n"}, "g") + node("Expand", {"n", "g"}, "p")) +
           bytes(25, bytes(1, "F") + bytes(4, "a") + bytes(5, "b") +
                         bytes(7, bytes(1, "a") + bytes(2, "b") + bytes(4, "F"))),
       30000);
}

TEST(FuzzRecordings, OnnxWeights) {
  using namespace sptc::onnx;
  const std::string raw = bytes(9, std::string(4 * 16 * 4, '\x3F'));
  fuzz(model(input("x", 1, {2, 16}) + bytes(5, tensor("w", 1, {16, 4}, raw)) +
             bytes(5, tensor("v", 3, {4, 4}, bytes(9, std::string(16, '\5')))) +
             node("MatMul", {"x", "w"}, "h") + node("DequantizeLinear", {"v", "s"}, "d") +
             node("Transpose", {"d"}, "t") + node("MatMul", {"h", "t"}, "y")),
       20000);
}

TEST(FuzzRecordings, CutlassProfile) {
  fuzz(
      "Problem,Provider,OperationKind,Operation,Disposition,Status,m,n,k,A,B,C,op_class,Runtime\n"
      "1,CUTLASS,gemm,x,passed,success,64,32,16,f16:column,f16:row,f32:row,tensorop,0.5\n"
      "1,CUTLASS,gemm,y,passed,success,64,32,16,f16:column,f16:row,f32:row,tensorop,0.25\n"
      "1,CUTLASS,spgemm,z,passed,success,64,32,16,s8:column,s8:row,s32:row,tensorop,1e-3\n",
      20000);
}

TEST(FuzzRecordings, ScaleSim) {
  fuzz("Layer, M, N, K, Sparsity,\nffn, 16, 32, 64, 2:4,\nhead, 8, 8, 8,\n", 20000);
  fuzz(
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
      "Strides,\nconv1, 18, 18, 3, 3, 16, 8, 2,\nDP2, 18, 18, 3, 3, 16, 1, 1, 1:1,\n",
      20000);
}

TEST(FuzzRecordings, CompressionAndTar) {
  fuzz(support::gzipped("m,n,k\n16,32,64\n"), 20000);
  fuzz(support::xz_packed("m,n,k\n16,32,64\n"), 20000);
  fuzz(support::zstd_packed("m,n,k\n16,32,64\n"), 20000);
  fuzz(support::tar_member("a", "m,n,k\n") + support::tar_member("b.csv", "m,n,k\n16,32,64\n") +
           support::tar_end(),
       20000);
}

TEST(FuzzRecordings, KernelNames) {
  for (const char* name :
       {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn>(x)",
        "sm80_xmma_sparse_gemm_f16f16_f16f32_f32_tt_t_tilesize128x128x64_stage3_sptensor16x8x32",
        "nvjet_sm121_hsh_mma_128x208x64_2_32x104x64_tmaAB_bz_NNNN",
        "_ZN7cutlassGemmShapeILi128ELi128ELi32EEETensorOp"}) {
    const Mutator mutator(name, 1);
    for (std::uint64_t index = 0; index < 20000; ++index) {
      if (const auto kernel = workload::decode_kernel_name(mutator.mutation(index))) {
        EXPECT_FALSE(kernel->summary().empty());
      }
    }
  }
}

}  // namespace
}  // namespace sptc::fuzz
