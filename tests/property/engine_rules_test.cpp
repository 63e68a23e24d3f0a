// SPDX-License-Identifier: Apache-2.0
// What an engine's rules do to a network, in closed form.
#include "models/numerics/data_type_info.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/run/network/engine.h"
#include "sim/run/simulate.h"
#include "sim/workload/workload.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <set>
#include <string>

namespace sptc::property {
namespace {

using nlohmann::json;

const std::string kSource = SPTC_SOURCE_DIR;

json engine_file(const std::string& name) {
  return json::parse(io::read_text_file(kSource + "/configs/engines/" + name + ".json", 1 << 20));
}

class EngineRules : public testing::Test {
 protected:
  run::InferenceResult run(const std::string& engine, const workload::NamedDims& dims = {{"batch", 8}},
                           const std::string& network = "bert_large", const char* dtype = "f16") {
    run::SimulationOptions options;
    options.fidelity = run::Fidelity::kAnalytic;
    options.check = run::CheckMode::kNone;
    options.what_ifs = false;
    options.engine = engine;
    options.dtype = numerics::parse_data_type(dtype);
    const workload::Workload workload = workload::read_workload(kSource + "/traces/" + network + ".json", dims);
    return *run::simulate(workload, a100, options).inference;
  }
  double latency(const std::string& engine, const workload::NamedDims& dims = {{"batch", 8}}) {
    return run(engine, dims).dense->latency_us;
  }
  /// The path of an engine file.
  std::string written(json engine) {
    engine["name"] = "changed";
    const std::filesystem::path path = directory.path() / (std::to_string(++files) + ".json");
    io::write_file(path, engine.dump());
    return path.string();
  }
  std::string without_rule(const std::string& engine, const std::string& rule) {
    json file = engine_file(engine);
    json& rules = file["rules"];
    const std::size_t before = rules.size();
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (rules[i]["name"] == rule) {
        rules.erase(i);
        break;
      }
    }
    EXPECT_EQ(rules.size() + 1, before) << rule;
    if (rules.empty()) {
      file.erase("rules");
      if (file.contains("base")) {
        file["rules"] = nullptr;  // nor those of its base
      }
    }
    return written(file);
  }

  support::TemporaryDirectory directory;
  int files = 0;
  config::Architecture a100 = config::load_architecture("a100-sxm4-40gb");
};

/// Whether another rule takes what `rule` does: then it changes where, and not whether.
bool taken_by_another(const run::network::FusionRule& rule, const run::network::EngineSpec& engine) {
  return std::any_of(engine.rules.begin(), engine.rules.end(), [&](const auto& other) {
    return other.name != rule.name && std::includes(other.operations.begin(), other.operations.end(),
                                                    rule.operations.begin(), rule.operations.end());
  });
}

/// Every rule of every engine that BERT has operations for; those of convolutions, of weights of
/// one input and of what no epilogue takes have tests of their own.
TEST_F(EngineRules, SwitchingARuleOffTakesLonger) {
  const std::set<std::string> elsewhere{"convolution, sum and activation", "weights of one input", "point-wise"};
  int rules = 0;
  for (const std::string& engine : run::network::engine_names()) {
    const run::network::EngineSpec spec = run::network::load_engine(engine);
    // A batch whose kernels are longer than what any host needs for their launches.
    const double all = spec.gemms_only ? 0 : latency(engine, {{"batch", 64}});
    for (const run::network::FusionRule& rule : spec.rules) {
      const bool own = engine_file(engine).contains("rules");  // else they are those of its base
      if (own && !elsewhere.contains(rule.name) && !taken_by_another(rule, spec)) {
        EXPECT_GT(latency(without_rule(engine, rule.name), {{"batch", 64}}), 1.005 * all)
            << engine << ": " << rule.name;
        ++rules;
      }
    }
  }
  EXPECT_GE(rules, 13);
}

TEST_F(EngineRules, PointWiseOperationsThatNoEpilogueTakesShareAKernel) {
  json apart = engine_file("tensorrt");
  apart["rules"].erase(std::find_if(apart["rules"].begin(), apart["rules"].end(),
                                    [](const json& rule) { return rule["name"] == "epilogue"; }));
  const std::string chained = written(apart);
  apart["rules"].erase(std::find_if(apart["rules"].begin(), apart["rules"].end(),
                                    [](const json& rule) { return rule["name"] == "point-wise"; }));
  EXPECT_GT(latency(written(apart)), 1.01 * latency(chained));
}

TEST_F(EngineRules, WeightsOfOneInputAreFasterTogether) {
  workload::Workload workload;
  for (const char* name : {"q", "k", "v"}) {
    workload::Operation op;
    op.name = name;
    op.input = "x";
    op.shape = {1024, 384, 1024};
    op.count = 24;
    workload.operations.push_back(op);
  }
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  options.check = run::CheckMode::kNone;
  options.what_ifs = false;
  const auto latency_of = [&](const std::string& engine) {
    options.engine = engine;
    return run::simulate(workload, a100, options).inference->dense->latency_us;
  };
  EXPECT_GT(latency_of(without_rule("tensorrt", "weights of one input")), 1.5 * latency_of("tensorrt"));
}

TEST_F(EngineRules, TensorsOfMixedPrecisionTakeLonger) {
  const workload::NamedDims dims{{"batch", 64}};
  for (const std::string engine : {"pytorch", "inductor"}) {
    EXPECT_GT(latency(engine + "-autocast", dims), 1.03 * latency(engine, dims)) << engine;
  }
}

TEST_F(EngineRules, QuantisedWeightsMakeDecodingFaster) {
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  options.check = run::CheckMode::kNone;
  options.what_ifs = false;
  options.engine = "compiled";
  const workload::Workload llama =
      workload::read_workload(kSource + "/traces/llama3_8b.json", {{"batch", 1}, {"seq", 1}, {"context", 256}});
  const auto latency_of = [&](std::optional<numerics::DataType> weight) {
    options.storage.weight = weight;
    return run::simulate(llama, a100, options).inference->dense->latency_us;
  };
  const double plain = latency_of(std::nullopt);
  const double bytes = latency_of(numerics::DataType::kS8);
  EXPECT_LT(bytes, 0.75 * plain);
  EXPECT_LT(latency_of(numerics::DataType::kS4), 0.85 * bytes);
}

TEST_F(EngineRules, WhatIsLeftOutIsAPartOfThePass) {
  const run::InferenceResult result = run("tensorrt", {{"batch", 1}, {"seq", 128}});
  ASSERT_FALSE(result.not_modelled.empty());
  for (const run::NotModelled& part : result.not_modelled) {
    ASSERT_TRUE(part.share) << part.what;
    EXPECT_GT(*part.share, 0) << part.what;
    EXPECT_LT(*part.share, 0.05) << part.what;
  }
  const run::InferenceResult gemms = run("tensorrt", {}, "cusparselt_bert_large");
  ASSERT_EQ(gemms.not_modelled.size(), 2U);  // copies, and what the list lacks
  EXPECT_FALSE(gemms.not_modelled.back().share);
}

TEST_F(EngineRules, FusedAttentionGainsMoreTheLongerTheSequence) {
  const std::string apart = without_rule("tensorrt", "attention");
  const auto gain = [&](std::int64_t seq) {
    const workload::NamedDims dims{{"batch", 8}, {"seq", seq}};
    return latency(apart, dims) / latency("tensorrt", dims);
  };
  EXPECT_GT(gain(128), 1);
  EXPECT_GT(gain(512), gain(128));
}

TEST_F(EngineRules, EpiloguesOfConvolutionsGain) {
  const workload::NamedDims dims{{"batch", 32}};
  const double fused = run("tensorrt", dims, "resnet50", "s8").dense->latency_us;
  const std::string apart = without_rule("tensorrt", "convolution, sum and activation");
  EXPECT_GT(run(apart, dims, "resnet50", "s8").dense->latency_us, 1.3 * fused);
}

TEST_F(EngineRules, WiderTensorsBetweenKernelsTakeLonger) {
  json wide = engine_file("tensorrt");
  wide["tensors"]["s8"]["value"] = "s32";
  const workload::NamedDims dims{{"batch", 32}};
  EXPECT_GT(run(written(wide), dims, "bert_large", "s8").dense->latency_us,
            1.1 * run("tensorrt", dims, "bert_large", "s8").dense->latency_us);
}

TEST_F(EngineRules, LaunchesIntoAStreamTakeLongerThanAGraph) {
  json stream = engine_file("tensorrt");
  stream["launch"]["value"] = "stream";
  EXPECT_GT(latency(written(stream), {{"batch", 1}}), 1.05 * latency("tensorrt", {{"batch", 1}}));
}

TEST_F(EngineRules, AHostThatIsSlowIsWaitedForOnlyByShortKernels) {
  json slow = engine_file("tensorrt");
  slow["host_us"] = {{"value", 20}, {"evidence", "assumed"}, {"source", "a test"}};
  const std::string path = written(slow);
  const run::InferenceResult short_kernels = run(path, {{"batch", 1}, {"seq", 128}});
  EXPECT_GT(short_kernels.dense->waiting_us, 0.3 * short_kernels.dense->latency_us);
  EXPECT_LT(run(path, {{"batch", 64}}).dense->waiting_us, 100);
}

TEST_F(EngineRules, TheMixIsNoSlowerThanEitherOfItsParts) {
  for (const std::int64_t batch : {1, 8, 64}) {
    const run::InferenceResult result = run("tensorrt", {{"batch", batch}, {"seq", 128}});
    EXPECT_LE(result.mix->latency_us, result.dense->latency_us);
    EXPECT_LE(result.mix->latency_us, result.sparse->latency_us);
  }
}

/// A GEMM, or a convolution, and what is fused into its epilogue.
void add(const char* name, bool convolution, std::initializer_list<workload::VectorKind> epilogue,
         workload::Workload& workload) {
  workload::Operation op;
  op.name = name;
  op.shape = {1024, 8192, 256};
  op.dtype = numerics::DataType::kS8;
  if (convolution) {
    op.conv = workload::ConvGeometry{8, 256, 32, 32, 1024, 1, 1};
    op.conv->p = op.conv->q = 32;
  }
  workload.operations.push_back(op);
  for (const workload::VectorKind kind : epilogue) {
    workload::VectorOperation vector;
    vector.name = name;
    vector.kind = kind;
    vector.rows = vector.input_rows = op.shape.n;
    vector.columns = op.shape.m;
    vector.tensors = workload::info(kind).tensors;
    vector.after = workload.operations.size();
    workload.vectors.push_back(vector);
  }
}

TEST_F(EngineRules, EpiloguesIssueInstructionsInBothFidelities) {
  workload::Workload workload;
  add("relu", false, {workload::VectorKind::kRelu}, workload);
  add("gelu", false, {workload::VectorKind::kBias, workload::VectorKind::kGelu}, workload);
  run::SimulationOptions options;
  options.check = run::CheckMode::kNone;
  options.what_ifs = false;
  options.engine = "tensorrt";
  const auto longer = [&](run::Fidelity fidelity) {
    options.fidelity = fidelity;
    const run::InferenceResult result = *run::simulate(workload, a100, options).inference;
    EXPECT_EQ(result.kernels.size(), 2U);
    return result.kernels[1].dense->time_us / result.kernels[0].dense->time_us;
  };
  // The closed form counts the epilogue of CTAs that share an SM once.
  EXPECT_GT(longer(run::Fidelity::kAnalytic), 1.02);
  EXPECT_GT(longer(run::Fidelity::kTiming), 1.02);
}

TEST_F(EngineRules, AResidualIsReadByTheEpilogueOfAConvolution) {
  workload::Workload workload;
  add("conv", true, {workload::VectorKind::kRelu}, workload);
  add("sum", true, {workload::VectorKind::kResidual, workload::VectorKind::kRelu}, workload);
  run::SimulationOptions options;
  options.check = run::CheckMode::kNone;
  options.fidelity = run::Fidelity::kAnalytic;
  options.engine = "tensorrt";
  const run::InferenceResult result = *run::simulate(workload, a100, options).inference;
  ASSERT_EQ(result.kernels.size(), 2U);
  EXPECT_GT(*result.kernels[1].dense->energy_uj, *result.kernels[0].dense->energy_uj);
  EXPECT_GT(result.kernels[1].dense->time_us, result.kernels[0].dense->time_us);
}

TEST_F(EngineRules, TimesAndEnergiesAddUp) {
  const run::InferenceResult result = run("tensorrt");
  const auto& groups = result.dense->group_us;
  EXPECT_NEAR(std::accumulate(groups.begin(), groups.end(), 0.0), result.dense->latency_us, 1e-6);
  double us = 0;
  double uj = 0;
  for (const run::InferenceKernel& kernel : result.kernels) {
    us += static_cast<double>(kernel.count) * kernel.dense->time_us;
    uj += static_cast<double>(kernel.count) * *kernel.dense->energy_uj;
  }
  EXPECT_NEAR(us, result.dense->latency_us, 1e-6);
  EXPECT_NEAR(uj, *result.dense->energy_uj, 1e-6 * uj);
  EXPECT_NEAR(*result.dense->power_w, uj / us, 1e-6);
  EXPECT_LE(*result.dense->power_w, 400.5);
}

TEST_F(EngineRules, TransposedResultsSlowSparseWeightsDownAlone) {
  const workload::NamedDims dims{{"batch", 64}};
  json file = engine_file("pytorch");
  file["sparse_result"]["value"] = "contiguous";
  const run::InferenceResult contiguous = run(written(file), dims, "bert_base");
  const run::InferenceResult transposed = run("pytorch", dims, "bert_base");
  EXPECT_DOUBLE_EQ(transposed.dense->latency_us, contiguous.dense->latency_us);
  EXPECT_GT(transposed.sparse->latency_us, 1.2 * contiguous.sparse->latency_us);
  EXPECT_LE(transposed.mix->latency_us, transposed.sparse->latency_us);
  // Layer by layer the times add up, with the copies that dense weights do not need.
  double us = 0;
  int copies = 0;
  for (const run::InferenceKernel& kernel : transposed.kernels) {
    const auto& figures = kernel.sparse ? kernel.sparse : kernel.dense;
    us += static_cast<double>(kernel.count) * figures->time_us;
    copies += kernel.dense ? 0 : 1;
  }
  EXPECT_EQ(copies, 2);
  EXPECT_LE(us, transposed.sparse->latency_us);
  const auto& groups = transposed.sparse->group_us;
  EXPECT_NEAR(std::accumulate(groups.begin(), groups.end(), 0.0), us, 1e-6 * us);
}

}  // namespace
}  // namespace sptc::property
