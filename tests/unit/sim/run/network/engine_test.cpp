// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/engine.h"

#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sptc::run::network {
namespace {

using Kind = FusionRule::Kind;

constexpr const char* kLaunch =
    R"("launch": {"value": "graph", "evidence": "cited", "source": "s"})";

std::string with(const std::string& rest) {
  return R"({"name": "e", "description": "d", )" + std::string(kLaunch) + rest + "}";
}

TEST(Engine, ShippedOnesAreRead) {
  const std::vector<std::string> names = engine_names();
  for (const char* name :
       {"compiled", "fastertransformer", "fastertransformer-int8", "gemms", "inductor",
        "inductor-autocast", "pytorch", "pytorch-autocast", "tensorrt"}) {
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
  support::expect_input_error(
      [] { parse_engine(with(R"(, "wide": {"operations": ["layernorm"]})"), "e.json"); },
      {"/wide", "evidence"});
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
  refuse(with(R"(, "rules": [{"name": "r", "fuse": "chain", "operations": ["bias"]}])"),
         {"/rules/0", "evidence"});
  refuse(with(R"(, "host_us": 5)"), {"/host_us", "must be an object"});
  refuse(with(R"(, "host_us": {"value": -1, "evidence": "assumed", "source": "s"})"),
         {"/host_us/value", "from 0"});
  refuse(with(R"(, "sparse_result": {"value": "flat", "evidence": "cited", "source": "s"})"),
         {"/sparse_result/value", "unknown layout", "'contiguous'"});
  refuse(with(R"(, "tensors": {"int8": {"value": "s8", "evidence": "cited", "source": "s"}})"),
         {"/tensors/int8"});
  support::expect_input_error([] { load_engine("tensorr"); }, {"unknown engine", "'tensorrt'"});
}

}  // namespace
}  // namespace sptc::run::network
