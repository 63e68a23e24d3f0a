// SPDX-License-Identifier: Apache-2.0
//
// What each reader does with the facts that its input states: a case per fact of the table "What is
// read of a recording" of traces/README.md, which must name it.
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/nsys_file.h"
#include "tests/support/onnx_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sptc::workload::importer {
namespace {

Recording read(const std::string& text, const NamedDims& dims = {}) {
  input::InputStream input(text, "x");
  return read_recording(input, {dims});
}

/// "2 of 16 x 8 x 32 f16; ..": operations, what was not taken, notes.
std::string summary(const Recording& recording) {
  std::string text;
  for (const Operation& op : recording.workload.operations) {
    const kernels::OperandStorage& storage = op.storage;
    text += fmt::format(
        "{} of {} x {} x {} {}{}{}{}{}; ", op.count * op.batch, op.shape.m, op.shape.n, op.shape.k,
        numerics::name(op.dtype), storage.weight ? fmt::format(" weight {}", numerics::name(*storage.weight)) : "",
        storage.scale_block > 0 ? fmt::format(" block {}", storage.scale_block) : "", op.recorded.sparse ? " 2:4" : "",
        op.recorded.time_us > 0 ? fmt::format(" {} us", op.recorded.time_us) : "");
  }
  for (const NotTaken& left : recording.workload.not_taken) {
    text += fmt::format("not {} of {} x {} x {} {}: {}; ", left.count, left.shape.m, left.shape.n, left.shape.k,
                        left.dtype, left.reason);
  }
  for (const auto& notes : {recording.account.notes, recording.workload.notes}) {
    for (const std::string& note : notes) {
      text += "note: " + note + "; ";
    }
  }
  return text;
}

struct Case {
  std::string reader, fact;  ///< as the table calls them
  std::string text;
  std::string expected;  ///< part of the summary, or of the refusal behind "refused: "
  NamedDims dims{};
};

void expect(const Case& fact) {
  SCOPED_TRACE(fact.reader + ": " + fact.fact);
  const std::string kRefused = "refused: ";
  if (fact.expected.starts_with(kRefused)) {
    const std::string problem = fact.expected.substr(kRefused.size());
    support::expect_input_error([&] { read(fact.text, fact.dims); }, {problem});
    return;
  }
  const std::string found = summary(read(fact.text, fact.dims));
  EXPECT_NE(found.find(fact.expected), std::string::npos) << "expected: " << fact.expected << "\nfound: " << found;
}

/// The line of `reader` in the table of traces/README.md.
std::string row_of(const std::string& reader) {
  std::ifstream file(std::string(SPTC_SOURCE_DIR) + "/traces/README.md");
  std::string line;
  bool in_table = false;
  while (std::getline(file, line)) {
    in_table = in_table || line.starts_with("| reader | used |");
    if (in_table && line.starts_with("| " + reader + " |")) {
      return line;
    }
  }
  return "";
}

void expect_all(const std::vector<Case>& cases) {
  for (const Case& fact : cases) {
    expect(fact);
    EXPECT_NE(row_of(fact.reader).find(fact.fact), std::string::npos)
        << "traces/README.md does not name '" << fact.fact << "' of " << fact.reader;
  }
}

// PyTorch

std::string profile(const std::string& events) {
  return R"({"schemaVersion": 1, "deviceProperties": [{"name": "NVIDIA H100 80GB HBM3"}],
    "traceEvents": [)" +
         events + "]}";
}

std::string op(const std::string& name, int process, int id, const std::string& dims, const std::string& types) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": {}, "tid": 1, "ts": {}, "dur": 50,
      "args": {{"External id": {}, "Input Dims": [{}], "Input type": [{}]}}}})",
      name, process, 1000 * id, id, dims, types);
}

std::string call(int process, int id) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": {}, "tid": 1,
      "ts": {}, "dur": 5, "args": {{"External id": {}, "correlation": {}}}}})",
      process, 1000 * id + 10, id, 900 + id);
}

std::string kernel(int gpu, int id, int duration, const std::string& name = "nvjet_tst_64x8_64x16_4x1_v_bz_TNN") {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "{}", "pid": {}, "tid": 7, "ts": {}, "dur": {},
      "args": {{"External id": {}, "correlation": {}, "device": {}}}}})",
      name, gpu, 1000 * id + 100, duration, id, 900 + id, gpu);
}

std::string addmm(int process, int id, int n) {
  return op("aten::addmm", process, id, fmt::format("[{0}], [16, 32], [32, {0}], [], []", n),
            R"("c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar")");
}

std::string cslt(const std::string& type, int elements) {
  return profile(op("aten::_cslt_sparse_mm", 1, 5, fmt::format("[{}], [4096, 1024]", elements),
                    fmt::format(R"("{0}", "{0}")", type)) +
                 "," + kernel(0, 5, 40, "sm90_xmma_sparse_gemm_x_tilesize128x256x128_cutlass_sparse"));
}

TEST(InputLanguage, PyTorchProfile) {
  const std::string reader = "PyTorch profile";
  const std::string compressed = "compressed 2:4 weights, by their type";
  const std::string ids = "ids, by process";
  const std::string first = addmm(11, 5, 64) + "," + call(11, 5);
  const std::string second = addmm(12, 5, 128) + "," + call(12, 5);
  const std::string both = "1 of 64 x 16 x 32 bf16 500 us; 1 of 128 x 16 x 32 bf16 10 us; ";
  const std::string in_turn = addmm(11, 5, 64) + "," + addmm(12, 5, 128) + "," + call(11, 5) + "," + call(12, 5) + "," +
                              kernel(0, 5, 500) + "," + kernel(1, 5, 10);
  const std::string faults = "byte order mark, commas, brackets, control characters";
  const std::string one = addmm(1, 5, 64) + "," + kernel(0, 5, 40);
  const std::string taken = "1 of 64 x 16 x 32 bf16 40 us; ";
  expect_all({
      {reader, compressed, cslt("c10::Half", 9437184), "1 of 4096 x 1024 x 4096 f16 2:4"},
      {reader, compressed, cslt("c10::BFloat16", 9437184), "1 of 4096 x 1024 x 4096 bf16 2:4"},
      {reader, compressed, cslt("signed char", 10485760), "1 of 4096 x 1024 x 4096 s8 2:4"},
      {reader, compressed, cslt("c10::Float8_e4m3fn", 10485760), "1 of 4096 x 1024 x 4096 e4m3"},
      {reader, compressed, cslt("c10::Float8_e5m2", 10485760), "1 of 4096 x 1024 x 4096 e5m2"},
      {reader, compressed, cslt("double", 10485760), "refused: give no GEMM"},
      // Ranks one after the other, with GPUs of their own or each with its GPU 0.
      {reader, ids, profile(first + "," + kernel(0, 5, 500) + "," + second + "," + kernel(1, 5, 10)), both},
      {reader, ids, profile(first + "," + kernel(0, 5, 500) + "," + second + "," + kernel(0, 5, 10)), both},
      {reader, ids, profile(first + "," + kernel(0, 5, 500) + "," + second + "," + kernel(0, 5, 10)),
       "note: launches of 2 processes are counted together"},
      // In the order of time ids that both have tell nothing.
      {reader, ids, profile(in_turn), "refused: no launch of this PyTorch profile can be simulated"},
      {reader, ids, profile(in_turn + "," + addmm(11, 6, 64) + "," + call(11, 6) + "," + kernel(1, 6, 500)),
       "1 of 64 x 16 x 32 bf16 500 us; "},
      {reader, ids, profile(in_turn + "," + addmm(11, 6, 64) + "," + call(11, 6) + "," + kernel(1, 6, 500)),
       "a kernel whose id several processes have counts for none"},
      {reader, faults, "\xEF\xBB\xBF" + profile(one), taken},
      {reader, faults, "\xEF\xBB\xBF" + profile(one), "note: a byte order mark is skipped"},
      {reader, faults, "[" + one, taken},
      {reader, faults, "[" + one + ",\n", "1 closing bracket missing at the end"},
      {reader, faults, "{\"traceEvents\": [" + one, "2 closing brackets missing at the end"},
      {reader, faults, profile(one + ","), "1 comma before nothing"},
      {reader, faults, profile(one + R"(, {"ph": "i", "name": "a
b)" + "\x01" + R"("})"),
       "2 control characters in strings"},
      {reader, faults, profile(one + R"(, {"ph": "i", "name": "torch\cuda\u12"})"),
       "2 backslashes that escape nothing"},
      {reader, faults, profile(one + ", {\"ph\": \"i\", \"name\": \"\xFF\xC3(\xED\xA0\x80\"}"), "5 bytes of no UTF-8"},
      {reader, faults, profile(one + R"(, {"ph": "i", "args": {"v": NaN, "w": -Infinity}})"),
       "2 numbers that are none"},
      {reader, faults, profile(one).substr(0, profile(one).size() - 20), "refused: ; the file is cut off"},
      {reader, faults, profile(one + R"x(, {"ph": "i", "name": "a("b")"})x"), "refused: x: not valid JSON: line"},
  });
}

std::string nsys(const std::string& kernel_columns, const std::string& kernels) {
  constexpr std::int64_t kProcess = 1 << 24;
  std::string calls, ranges;
  for (const int rank : {1, 2}) {
    const std::int64_t thread = rank * kProcess + 7;
    calls += fmt::format("{}({}, {}, {}, 100)", calls.empty() ? "" : ", ", 1000000 + rank, 1001000 + rank, thread);
    ranges += fmt::format("{}({}, {}, 'aten::mm, sizes = [[16, 32], [32, {}]]', {}, NULL)", ranges.empty() ? "" : ", ",
                          900000 + rank, 1100000 + rank, 64 * rank, thread);
  }
  return support::sqlite_file(
      "CREATE TABLE StringIds(id INT, value TEXT);"
      "INSERT INTO StringIds VALUES(1, 'nvjet_tst_64x8_64x16_4x1_v_bz_TNN');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, demangledName INT, "
      "correlationId INT" +
      kernel_columns + "); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES" + kernels +
      "; CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, "
      "correlationId INT); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES" +
      calls +
      "; CREATE TABLE NVTX_EVENTS(start INT, end INT, text TEXT, globalTid INT, textId INT); "
      "INSERT INTO NVTX_EVENTS VALUES" +
      ranges +
      "; CREATE TABLE TARGET_INFO_GPU(name TEXT);"
      "INSERT INTO TARGET_INFO_GPU VALUES('NVIDIA H100 80GB HBM3'), ('NVIDIA L4');");
}

TEST(InputLanguage, NsightSystems) {
  const std::string reader = "Nsight Systems", ids = "ids, by process";
  const std::string both = "1 of 64 x 16 x 32 bf16 500 us; 1 of 128 x 16 x 32 bf16 10 us; ";
  const std::string columns = ", deviceId INT";
  const std::string first = "(2000000, 2500000, 1, 100, 0", second = "(2000000, 2010000, 1, 100, 1";
  expect_all({
      {reader, ids, nsys(columns + ", globalPid INT", first + ", 16777216), " + second + ", 33554432)"), both},
      // In the other order; without the column nothing tells them apart.
      {reader, ids, nsys(columns + ", globalPid INT", second + ", 33554432), " + first + ", 16777216)"), both},
      {reader, ids, nsys(columns, first + "), " + second + ")"),
       "refused: no launch of this export of Nsight Systems can be simulated"},
      // A kernel of a process that is not recorded belongs to none.
      {reader, ids, nsys(columns + ", globalPid INT", first + ", 16777216), " + second + ", 50331648)"),
       "no kernel is recorded"},
      {reader, "several GPUs", nsys(columns + ", globalPid INT", first + ", 16777216), " + second + ", 33554432)"),
       "note: recorded on several GPUs, of which the first stands for all: NVIDIA H100 80GB HBM3, "
       "NVIDIA L4"},
  });
}

TEST(InputLanguage, PyTorchExecutionTrace) {
  const std::string reader = "PyTorch execution trace";
  const std::string text = R"x({"schema": "1.0.1", "nodes": [{"name": "aten::mm", "inputs": [],
    "input_shapes": [[16, 32], [32, 64]], "input_types": ["Tensor(c10::Half)", "Tensor(c10::Half)"]}
    ,]})x";
  expect_all({{reader, "types", text, "1 of 64 x 16 x 32 f16; "},
              {reader, "commas, brackets", text, "1 comma before nothing"}});
}

// Libraries

std::string lt(const std::string& type, const std::string& compute) {
  return "[2025-11-03 19:07:51][cublasLt][5][Trace][cublasLtMatmul] A=0X1 Adesc=[type=" + type +
         " rows=64 cols=32 ld=64] B=0X2 Bdesc=[type=" + type +
         " rows=64 cols=16 ld=64] C=0X0 Cdesc=[null] D=0X4 Ddesc=[type=R_16BF rows=32 cols=16 "
         "ld=32] computeDesc=[" +
         compute + " transa=OP_T] algo=[algoId=66] workSpace=0X0 beta=0 stream=0X0\n";
}

std::string scaled(const std::string& type, const std::string& a, const std::string& b) {
  return lt(type, "computeType=COMPUTE_32F aScaleMode=" + a + " bScaleMode=" + b);
}

TEST(InputLanguage, LogsOfBlasLibraries) {
  const std::string reader = "log of a BLAS library";
  const std::string scales = "scale modes", emulation = "emulation", types = "types";
  const std::string heuristics = "calls without a launch", failures = "calls that failed";
  const std::string prefix = "[2025-11-03 19:07:51][cublasLt][5]";
  const std::string half = lt("R_16F", "computeType=COMPUTE_32F");
  expect_all({
      {reader, scales, scaled("R_8F_E4M3", "VEC32_UE8M0", "VEC32_UE8M0"), "1 of 32 x 16 x 64 e4m3 block 32"},
      {reader, scales, scaled("R_8F_E5M2", "VEC32_UE8M0", "VEC32_UE8M0"), "1 of 32 x 16 x 64 e5m2 block 32"},
      {reader, scales, scaled("R_4F_E2M1", "VEC16_UE4M3", "VEC16_UE4M3"), "1 of 32 x 16 x 64 e2m1 block 16"},
      {reader, scales, scaled("R_4F_E2M1", "VEC32_UE8M0", "VEC32_UE8M0"),
       "refused: e2m1 with scales of 32 elements (VEC32_UE8M0) is not modelled"},
      {reader, scales, lt("R_4F_E2M1", "computeType=COMPUTE_32F"),
       "refused: e2m1 without scales of blocks is not modelled"},
      {reader, scales, scaled("R_8F_E4M3", "VEC32_UE8M0", "SCALAR_32F"),
       "refused: scales of A (VEC32_UE8M0) and B (SCALAR_32F) that differ are not modelled"},
      {reader, scales, scaled("R_8F_E4M3", "OUTER_VEC_32F", "OUTER_VEC_32F"),
       "note: a launch of 8 bits with scales of rows or blocks of 128: the cost of scaling is "
       "not "
       "simulated"},
      {reader, scales, scaled("R_8F_E4M3", "BLK128x128_32F", "VEC128_32F"), "1 of 32 x 16 x 64 e4m3; "},
      {reader, scales, scaled("R_8F_E4M3", "VEC64_NEW", "VEC64_NEW"), "refused: its scale mode VEC64_NEW is not known"},
      {reader, emulation, lt("R_32F", "computeType=COMPUTE_32F_EMULATED_16BFX9"),
       "refused: BF16x9 emulation on tensor cores is not modelled"},
      {reader, emulation, lt("R_64F", "computeType=COMPUTE_64F_EMULATED_FIXEDPOINT"),
       "refused: fixed-point emulation on integer tensor cores is not modelled"},
      {reader, emulation, lt("R_32F", "computeType=COMPUTE_32F_EMULATED_OTHER"),
       "refused: the emulation OTHER is not modelled"},
      {reader, types, lt("R_6F_E2M3", "computeType=COMPUTE_32F") + half,
       "not 1 of 32 x 16 x 64 e2m3: type that no simulated tensor core kernel takes"},
      {reader, heuristics,
       prefix + "[Api][cublasLtMatmulAlgoGetHeuristic] Adesc=[type=R_8F_E4M3 rows=32 cols=16 "
                "ld=32] computeDesc=[computeType=COMPUTE_32F]\n",
       "refused: heuristic calls only, no launch"},
      {reader, heuristics, prefix + "[Api][cublasLtMatmulAlgoCheck] Adesc=[..]\n",
       "refused: heuristic calls only, no launch"},
      {reader, heuristics, prefix + "[Api][cublasLtMatmulAlgoGetHeuristic] Adesc=[..]\n" + half,
       "1 of 32 x 16 x 64 f16; note: the logs"},
      {reader, failures, half + half + prefix + "[Error][cublasLtMatmul] not supported\n",
       "1 of 32 x 16 x 64 f16; not 1 of 32 x 16 x 64 f16: the call failed"},
  });
}

TEST(InputLanguage, CutlassProfiles) {
  const std::string reader = "CUTLASS profile", status = "status and disposition";
  const auto profile_of = [](const std::string& state, const std::string& types) {
    return "Problem,Provider,OperationKind,Operation,Disposition,Status,m,n,k,A,B,C,op_class,"
           "Runtime\n1,CUTLASS,gemm,a,passed,success,64,16,32,f16:row,f16:column,f32:column,"
           "tensorop,0.5\n1,CUTLASS,gemm,b," +
           state + ",128,16,32," + types + ",f32:column,tensorop,0.25\n";
  };
  const std::string f16 = "f16:row,f16:column";
  expect_all({
      {reader, status, profile_of("incorrect,success", f16),
       "not 1 of 128 x 16 x 32 f16: its disposition is 'incorrect'"},
      {reader, status, profile_of("failed,success", f16), "its disposition is 'failed'"},
      {reader, status, profile_of("not_run,invalid", f16), "its status is 'invalid'"},
      {reader, status, profile_of("not_verified,success", f16), "1 of 128 x 16 x 32 f16 250 us; "},
      {reader, "types of A and B", profile_of("passed,success", "f16:row,s8:column"),
       "not 1 of 128 x 16 x 32 f16 x s8: type that no simulated"},
      {reader, "types of A and B", profile_of("passed,success", "fe4m3:row,fe5m2:column"),
       "1 of 128 x 16 x 32 e4m3 250 us"},
  });
}

// Topologies

TEST(InputLanguage, ScaleSim) {
  const std::string reader = "SCALE-Sim", strides = "strides of height and width";
  const std::string layer =
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, "
      "Channels, Num Filter, Strides,";
  const std::string nine =
      "Layer name, IFMAP height, IFMAP width, Filter height, Filter width, "
      "Channels, Num filter, Stride height, Stride width,\n";
  expect_all({
      {reader, strides, nine + "c,56,56,1,3,64,64,1,2,\n", "1 of 64 x 1568 x 192 f16"},
      {reader, strides, nine + "c,56,56,1,3,64,64,1,2,2:4,\n", "1 of 64 x 1568 x 192 f16"},
      {reader, "sparsity", nine + "c,56,56,1,3,64,64,1,2,1,4,\n", "refused: sparsity 1:4"},
      {reader, "comments", layer + "\nc,32,32,3,3,1,1,1,#dw\n", "1 of 1 x 900 x 9 f16"},
      {reader, "comments", layer + "\nc,32,32,3,3,1,1,1,#dw\n", "note: a comment behind '#'"},
      {reader, "batch size", layer + " Batch Size,\nc,32,32,3,3,1,1,1,4,\n", "1 of 1 x 3600 x 9"},
      {reader, "byte order mark", "\xEF\xBB\xBF" + layer + "\nc,32,32,3,3,1,1,1,\n", "1 of 1 x 900 x 9"},
      {reader, "other columns", layer + ",,Eh,\nc,32,32,3,3,1,1,1,,,110,\n", "note: columns that are not read: 'eh'"},
      {reader, "comments", "L,M,N,K,\na,8,16,32,#x\n", "1 of 16 x 8 x 32 f16"},
      {reader, "tabs",
       "Layer name\t IFMAP Height\t IFMAP Width\t Filter Height\t Filter Width\t "
       "Channels\t Num Filter\t Strides\t\nc\t32\t32\t3\t3\t1\t1\t1\t\n",
       "1 of 1 x 900 x 9"},
  });
}

TEST(InputLanguage, HuggingFace) {
  const std::string reader = "Hugging Face";
  const NamedDims prefill{{"batch", 1}, {"seq", 8}}, decode{{"batch", 1}, {"context", 64}};
  const auto model = [](const std::string& keys) {
    return R"({"model_type": )" + keys + R"(, "torch_dtype": "float16"})";
  };
  const std::string gptq =
      R"("llama", "quantization_config": {"quant_method": "gptq", "bits": 4,
    "group_size": 128})";
  expect_all({
      {reader, "defaults of the class", model(R"("gemma3")"), "104 of 8 x 16 x 256 f16", prefill},
      {reader, "defaults that were used", model(R"("gemma3")"), "head_dim = 256", prefill},
      {reader, "type of the text part, then of the root",
       R"({"model_type": "gemma3", "dtype": "float16", "text_config": {}})", "26 of 4096 x 8 x 2304 f16", prefill},
      {reader, "no type", R"({"model_type": "llama"})", "bf16 is taken", prefill},
      {reader, "bits and scales of weights", model(gptq), "32 of 12288 x 8 x 4096 f16 weight s4 block 128", prefill},
      {reader, "quantizations that are not modelled",
       model(R"("llama", "quantization_config": {"quant_method": "hqq"})"), "quantization 'hqq' is not read", prefill},
      {reader, "layers with experts", model(R"("qwen3_moe", "mlp_only_layers": [0, 2])"), "22 of 128 x 8 x 2048 f16",
       prefill},
      {reader, "sliding windows", model(R"("mistral", "sliding_window": 16)"), "256 of 16 x 4 x 128 f16", decode},
      {reader, "modules that stay in 16 bits",
       model(R"("llama", "quantization_config": {"quant_method": "fp8", "ignore": ["self_attn"]})"),
       "32 of 12288 x 8 x 4096 f16; ", prefill},
      {reader, "listed modules that are not",
       model(R"("llama", "quantization_config": {"quant_method": "fp8", "ignore": ["visual"]})"),
       "that is modelled: visual", prefill},
      {reader, "shared experts", model(R"("glm4_moe", "head_dim": 128)"), "45 of 2816 x 8 x 4096 f16", prefill},
      {reader, "chunks", model(R"("llama4", "attention_chunk_size": 16)"), "288 of 16 x 5 x 128 f16", decode},
      {reader, "latent attention", model(R"("deepseek_v3")"), "61 of 64 x 128 x 576 f16", decode},
      {reader, "states", model(R"("mamba2")"), "64 of 18560 x 8 x 4096 f16", prefill},
      {reader, "layers that predict further tokens", model(R"("deepseek_v3", "num_nextn_predict_layers": 1)"),
       "further tokens are left out", prefill},
      {reader, "keys that are not read", model(R"("llama", "new_key": 1)"), "note: keys that are not read: new_key",
       prefill},
      {reader, "under all names of theirs", model(R"("gpt2", "n_embd": 1024, "n_head": 16)"),
       "12 of 3072 x 8 x 1024 f16", prefill},
  });
}

TEST(InputLanguage, OnnxModels) {
  const std::string reader = "ONNX model", bits = "bits and blocks of quantised weights";
  constexpr std::int64_t kFloat = 1, kUint8 = 2, kInt8 = 3, kFloat16 = 10, kInt4 = 22, kNew = 99;
  const auto packed = [](std::int64_t type, std::int64_t of_weight) {
    return sptc::onnx::model(sptc::onnx::input("x", type, {16, 64}) + sptc::onnx::weight("w", kUint8, {32, 2, 16}) +
                             sptc::onnx::node("MatMulNBits", {"x", "w"}, "y",
                                              sptc::onnx::integer("K", 64) + sptc::onnx::integer("N", 32) +
                                                  sptc::onnx::integer("bits", of_weight) +
                                                  sptc::onnx::integer("block_size", 32)));
  };
  const auto dequantised = [](std::int64_t type, std::int64_t of_weight) {
    return sptc::onnx::model(
        sptc::onnx::input("x", type, {16, 64}) + sptc::onnx::weight("q", of_weight, {64, 32}) +
        sptc::onnx::weight("s", kFloat, {2, 32}) +
        sptc::onnx::node("DequantizeLinear", {"q", "s"}, "w", sptc::onnx::integer("block_size", 32)) +
        sptc::onnx::node("MatMul", {"x", "w"}, "y"));
  };
  expect_all({
      {reader, bits, packed(kFloat16, 4), "1 of 32 x 16 x 64 f16 weight s4 block 32"},
      {reader, bits, packed(kFloat16, 8), "1 of 32 x 16 x 64 f16 weight s8 block 32"},
      {reader, bits, packed(kFloat, 4), "1 of 32 x 16 x 64 f16 weight s4 block 32"},
      {reader, bits, packed(kFloat, 4), "note: weights of 4 or 8 bits in 1 operations"},
      {reader, bits, packed(kFloat16, 2), "refused: weights of 2 bits beside f16"},
      {reader, bits, dequantised(kFloat16, kInt4), "1 of 32 x 16 x 64 f16 weight s4 block 32"},
      {reader, bits, dequantised(kFloat16, kInt8), "1 of 32 x 16 x 64 f16 weight s8 block 32"},
      {reader, "types that are not modelled",
       sptc::onnx::model(sptc::onnx::input("x", kNew, {16, 64}) + sptc::onnx::weight("w", kNew, {64, 32}) +
                         sptc::onnx::node("MatMul", {"x", "w"}, "y") + sptc::onnx::input("z", kFloat, {16, 64}) +
                         sptc::onnx::weight("v", kFloat, {64, 32}) + sptc::onnx::node("MatMul", {"z", "v"}, "u")),
       "not 1 of 32 x 16 x 64 type 99 of ONNX: type that no simulated tensor core kernel "
       "takes"},
  });
}

TEST(InputLanguage, OwnFiles) {
  expect_all({
      {"own CSV", "byte order mark", "\xEF\xBB\xBFm,n,k\n16,8,32\n", "1 of 16 x 8 x 32 f16"},
      {"own CSV", "other columns", "m,n,k,status\n16,8,32,failed\n", "note: columns that are not read: 'status'"},
      {"own JSON", "byte order mark",
       "\xEF\xBB\xBF{\"schema\": \"gemm-workload/0.2\", \"ops\": [{\"name\": \"a\", \"m\": 16, "
       "\"n\": 8, \"k\": 32}]}",
       "1 of 16 x 8 x 32 f16"},
  });
}

}  // namespace
}  // namespace sptc::workload::importer
