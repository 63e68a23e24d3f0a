// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/engine.h"

#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sptc::run::network {
namespace {

using Kind = FusionRule::Kind;

constexpr const char* kLaunch = R"("launch": {"value": "graph", "evidence": "cited", "source": "s"})";

std::string with(const std::string& rest) {
  return R"({"name": "e", "description": "d", )" + std::string(kLaunch) + rest + "}";
}

TEST(Engine, ShippedOnesAreRead) {
  const std::vector<std::string> names = engine_names();
  for (const char* name :
       {"compiled", "fastertransformer", "fastertransformer-int8", "gemms", "inductor", "inductor-autocast", "pytorch",
        "pytorch-autocast", "sglang", "tensorrt", "tensorrt-llm", "vllm", "vllm-cusparselt", "xformers"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    EXPECT_EQ(load_engine(name).name, name);
  }
  EXPECT_TRUE(load_engine("gemms").gemms_only);
}

TEST(Engine, TensorRtFusesAttentionAndKeepsBytesBetweenKernels) {
  const EngineSpec engine = load_engine("tensorrt");
  EXPECT_EQ(engine.launch, kernels::LaunchMode::kGraph);
  EXPECT_NE(engine.attention(), nullptr);
  EXPECT_NE(engine.rule(Kind::kEpilogue, workload::VectorKind::kGelu), nullptr);
  EXPECT_EQ(engine.rule(Kind::kEpilogue, workload::VectorKind::kLayerNorm), nullptr);
  EXPECT_EQ(engine.rule(Kind::kChain, workload::VectorKind::kResidual),
            engine.rule(Kind::kChain, workload::VectorKind::kLayerNorm));
  EXPECT_EQ(engine.tensors.at(numerics::DataType::kS8), numerics::DataType::kS8);
}

TEST(Engine, MixedPrecisionHasWideOperations) {
  EXPECT_TRUE(load_engine("pytorch").wide.empty());
  const EngineSpec engine = load_engine("pytorch-autocast");
  EXPECT_TRUE(engine.wide.contains(workload::VectorKind::kLayerNorm));
  EXPECT_FALSE(engine.wide.contains(workload::VectorKind::kGelu));
  support::expect_input_error([] { parse_engine(with(R"(, "wide": {"operations": ["layernorm"]})"), "e.json"); },
                              {"/wide", "evidence"});
}

TEST(Engine, IsOfTheReleaseThatIsAskedForOrOfTheNewest) {
  EXPECT_EQ(load_engine("vllm").version, "0.32");
  EXPECT_EQ(load_engine("vllm@0.18.1").version, "0.18.1");
  EXPECT_EQ(load_engine("gemms").version, "");
  EXPECT_EQ(load_engine("torch").name, "pytorch");
  const EngineSpec compiled = load_engine("torch-compiled@2.5");
  EXPECT_EQ(compiled.name, "compiled");
  EXPECT_EQ(compiled.version, "2.5");
  support::expect_input_error([] { load_engine("vllm@9"); }, {"engine 'vllm' knows the versions 0.6 to 0.32, not 9"});
  support::expect_input_error([] { load_engine("gemms@1.0"); }, {"engine 'gemms' has no versions: leave out '@1.0'"});
  support::expect_input_error([] { load_engine("vllm@new"); }, {"a version such as 0.18.1"});
}

TEST(Engine, TakesFromItsBaseWhatItDoesNotSay) {
  const EngineSpec base = load_engine("pytorch");
  const EngineSpec compiled = load_engine("compiled");
  EXPECT_EQ(compiled.sparse.size(), base.sparse.size());
  EXPECT_EQ(compiled.host_us, 0);
  EXPECT_TRUE(compiled.libraries.empty());
  EXPECT_FALSE(compiled.sparse_transposed);
  const EngineSpec mine = parse_engine(R"({"name": "mine", "description": "d", "base": "tensorrt"})", "mine.json");
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.version, load_engine("tensorrt").version);
  for (const char* base_of : {"./tensorrt.json", "compiled", "none"}) {
    const std::string text = R"({"name": "mine", "description": "d", "base": ")" + std::string(base_of) + R"("})";
    support::expect_input_error([&] { parse_engine(text, "mine.json"); }, {"mine.json", "/base"});
  }
}

TEST(Engine, PassesOfManyTokensAreNoGraph) {
  std::vector<workload::Operation> gemms(2);
  gemms[0].shape = {4096, 512, 4096};
  gemms[1].shape = {4096, 100000, 128};
  gemms[1].weight = false;
  const EngineSpec engine = load_engine("vllm");
  const EngineSpec decode = for_pass(engine, gemms, 512);
  EXPECT_EQ(decode.launch, kernels::LaunchMode::kGraph);
  EXPECT_EQ(decode.host_us, 0);
  EXPECT_EQ(for_pass(load_engine("vllm@0.7"), gemms, 512).launch, kernels::LaunchMode::kStream);
  const EngineSpec of_decoding = load_engine("vllm-cusparselt");
  EXPECT_EQ(for_pass(of_decoding, gemms, 512).launch, kernels::LaunchMode::kGraph);
  EXPECT_EQ(for_pass(of_decoding, gemms, 1).launch, kernels::LaunchMode::kStream);
  gemms[0].shape.n = 513;
  const EngineSpec prefill = for_pass(engine, gemms, 512);
  EXPECT_EQ(prefill.launch, kernels::LaunchMode::kStream);
  EXPECT_GT(prefill.host_us, 0);
  EXPECT_EQ(for_pass(load_engine("compiled"), gemms, 512).launch, kernels::LaunchMode::kGraph);
}

TEST(Engine, MistakesAreToldWithTheirPlace) {
  const auto refuse = [](const std::string& text, std::initializer_list<std::string_view> words) {
    support::expect_input_error([&] { parse_engine(text, "e.json"); }, words);
  };
  refuse(R"({"name": "e", "description": "d"})", {"launch", "missing"});
  refuse(R"({"name": "e", "description": "d", "launch": "graph"})", {"/launch"});
  refuse(R"({"name": "e", "description": "d", "scope": "gemm"})", {"/scope", "'gemms'"});
  refuse(with(R"(, "rules": [{"name": "r", "fuse": "epilog", "operations": ["bias"],
                  "evidence": "cited", "source": "s"}])"),
         {"/rules/0/fuse", "'epilogue'"});
  refuse(with(R"(, "rules": [{"name": "r", "fuse": "chain", "operations": ["layernorm"],
                  "evidence": "cited", "source": "s"}])"),
         {"/rules/0/operations/0", "'layer_norm'"});
  refuse(with(R"(, "rules": [{"name": "r", "fuse": "chain", "operations": ["bias"]}])"), {"/rules/0", "evidence"});
  refuse(with(R"(, "host_us": 5)"), {"/host_us", "must be an object"});
  refuse(with(R"(, "host_us": {"value": -1, "evidence": "assumed", "source": "s"})"), {"/host_us/value", "from 0"});
  refuse(with(R"(, "sparse_result": {"value": "flat", "evidence": "cited", "source": "s"})"),
         {"/sparse_result/value", "unknown layout", "'contiguous'"});
  refuse(with(R"(, "tensors": {"int8": {"value": "s8", "evidence": "cited", "source": "s"}})"), {"/tensors/int8"});
  refuse(with(R"(, "types": [{"types": ["fp8"], "evidence": "cited", "source": "s"}])"),
         {"/types/0/types/0", "unknown type of operands 'fp8'"});
  refuse(with(R"(, "sparse": [{"types": ["s8"], "evidence": "cited", "source": "s"}])"), {"/sparse/0", "path"});
  refuse(with(R"(, "types": [{"types": ["s8"], "since": "1", "evidence": "cited",
                  "source": "s"}])"),
         {"/types/0", "versions"});
  refuse(with(R"(, "versions": {"from": "one", "to": "2", "evidence": "cited", "source": "s"})"),
         {"/versions/from", "must be a version"});
  refuse(with(R"(, "versions": {"from": "1", "to": "2", "evidence": "cited", "source": "s"},
                  "graph_tokens": [{"value": 5, "since": "2", "until": "1", "evidence": "cited",
                  "source": "s"}])"),
         {"/graph_tokens/0/until", "above"});
  support::expect_input_error([] { load_engine("tensorr"); }, {"unknown engine", "'tensorrt'"});
}

}  // namespace
}  // namespace sptc::run::network
