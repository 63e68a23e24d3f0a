// SPDX-License-Identifier: Apache-2.0
#include "sim/io/tensor_file.h"
#include "sim/prune/plan/planned_layers.h"
#include "tests/support/onnx_file.h"
#include "tests/support/temporary_directory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace sptc::prune::plan {
namespace {

using Lines = std::vector<std::string>;

workload::Operation operation(const std::string& name, std::int64_t count = 1) {
  workload::Operation op;
  op.name = name;
  op.count = count;
  return op;
}

/// A line for each result: "operation: launch x launches: tensors".
Lines matched(const std::filesystem::path& model, const std::vector<workload::Operation>& operations) {
  Lines lines;
  for (const WeightsOfOperation& one : weights_of_operations(*prune::ModelFile::open(model), operations)) {
    lines.push_back(
        fmt::format("{}: {} x {}: {}", one.operation, one.launch, one.launches, fmt::join(one.tensors, ", ")));
  }
  return lines;
}

class LayerWeights : public testing::Test {
 protected:
  /// A model of 4 x 4 matrices, and of one vector for each name that ends in "bias" or "norm".
  std::filesystem::path model(const Lines& names) const {
    std::vector<io::Tensor> tensors;
    for (const std::string& name : names) {
      const bool vector = name.ends_with("bias") || name.ends_with("norm");
      const std::vector<std::int64_t> shape(vector ? 1 : 2, 4);
      tensors.push_back({name, "F32", shape, std::vector<std::byte>(vector ? 16 : 64)});
    }
    io::write_safetensors(path("m.safetensors"), tensors);
    return path("m.safetensors");
  }
  std::filesystem::path path(const std::string& name) const { return temporary_.path() / name; }

 private:
  const support::TemporaryDirectory temporary_;
};

TEST_F(LayerWeights, NamesAreThoseOfTensorsWithOrWithoutTheirEnding) {
  workload::Operation named = operation("third", 2);
  named.tensors.emplace();
  named.tensors->weight = "deep.weight";
  workload::Operation activations = operation("first.weight");
  activations.weight = false;
  EXPECT_EQ(matched(model({"first.weight", "second", "deep.weight"}),
                    {operation("first", 3), operation("first.weight"), activations, named, operation("second.weight"),
                     operation("second")}),
            (Lines{"0: first x 3: first.weight", "1: first.weight x 1: first.weight", "3: third x 2: deep.weight",
                   "5: second x 1: second"}));
}

TEST_F(LayerWeights, PartsOfDecodersAreFoundByTheirNamesInTheOrderOfTheLayers) {
  Lines names{"model.norm", "lm_head.weight"};
  for (const int layer : {10, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8}) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    for (const char* const part : {"self_attn.k_proj", "self_attn.q_proj", "self_attn.v_proj", "self_attn.o_proj",
                                   "mlp.gate_proj", "mlp.up_proj"}) {
      names.push_back(prefix + part + ".weight");
    }
    names.push_back(prefix + "mlp.down_proj.bias");  // no matrix
    names.push_back(prefix + "input_layernorm.weight");
  }
  const auto file = model(names);
  const Lines qkv = matched(file, {operation("attn.qkv", 11)});
  ASSERT_EQ(qkv.size(), 11U);
  const auto expected = [](int layer) {
    const std::string prefix = fmt::format("model.layers.{}.self_attn.", layer);
    return fmt::format("0: attn.qkv[{0}] x 1: {1}k_proj.weight, {1}q_proj.weight, {1}v_proj.weight", layer, prefix);
  };
  for (const int layer : {0, 1, 2, 9, 10}) {
    EXPECT_EQ(qkv[static_cast<std::size_t>(layer)], expected(layer));
  }
  EXPECT_EQ(matched(file, {operation("mlp.gate_up", 11)})[10],
            "0: mlp.gate_up[10] x 1: model.layers.10.mlp.gate_proj.weight, "
            "model.layers.10.mlp.up_proj.weight");
  EXPECT_EQ(matched(file, {operation("mlp.down", 11), operation("attn.o", 10)}), Lines{});
}

TEST_F(LayerWeights, PartsOfEncodersAreFoundByTheirNames) {
  const auto file =
      model({"bert.encoder.layer.0.attention.self.query.weight", "bert.encoder.layer.0.attention.self.key.weight",
             "bert.encoder.layer.0.attention.self.query.bias", "bert.encoder.layer.0.attention.output.dense.weight",
             "bert.encoder.layer.0.intermediate.dense.weight", "bert.encoder.layer.0.output.dense.weight",
             "bert.pooler.output.dense.weight"});
  EXPECT_EQ(matched(file, {operation("attn.qkv"), operation("attn.output"), operation("ffn.intermediate"),
                           operation("ffn.output")}),
            (Lines{"0: attn.qkv[0] x 1: bert.encoder.layer.0.attention.self.query.weight, "
                   "bert.encoder.layer.0.attention.self.key.weight",
                   "1: attn.output[0] x 1: bert.encoder.layer.0.attention.output.dense.weight",
                   "2: ffn.intermediate[0] x 1: bert.encoder.layer.0.intermediate.dense.weight",
                   "3: ffn.output[0] x 1: bert.encoder.layer.0.output.dense.weight"}));
}

TEST_F(LayerWeights, ExpertsLatentAttentionAndStateSpacesAreFoundByTheirNames) {
  const std::string first = "model.layers.0.", second = "model.layers.1.";
  const auto file = model({first + "mlp.gate_proj.weight", first + "self_attn.q_a_proj.weight",
                           first + "self_attn.kv_a_proj_with_mqa.weight", first + "self_attn.kv_b_proj.weight",
                           second + "mlp.gate.weight", second + "mlp.experts.0.gate_proj.weight",
                           second + "mlp.experts.0.up_proj.weight", second + "mlp.experts.0.down_proj.weight",
                           second + "mlp.experts.10.down_proj.weight", second + "mlp.shared_experts.down_proj.weight",
                           "backbone.layers.2.mixer.in_proj.weight", "model.layers.3.mlp.experts.down_proj"});
  EXPECT_EQ(matched(file, {operation("attn.qkv_a"), operation("attn.v_up"), operation("attn.q_absorb"),
                           operation("moe.router"), operation("moe.expert.gate_up"), operation("moe.expert.down", 2),
                           operation("moe.shared.down"), operation("ssm.in_proj"), operation("mlp.gate_up")}),
            (Lines{"0: attn.qkv_a[0] x 1: model.layers.0.self_attn.q_a_proj.weight, "
                   "model.layers.0.self_attn.kv_a_proj_with_mqa.weight",
                   "1: attn.v_up[0] x 1: model.layers.0.self_attn.kv_b_proj.weight",
                   "3: moe.router[0] x 1: model.layers.1.mlp.gate.weight",
                   "4: moe.expert.gate_up[0] x 1: model.layers.1.mlp.experts.0.gate_proj.weight, "
                   "model.layers.1.mlp.experts.0.up_proj.weight",
                   "5: moe.expert.down[0] x 1: model.layers.1.mlp.experts.0.down_proj.weight, "
                   "model.layers.1.mlp.experts.10.down_proj.weight",
                   "5: moe.expert.down[1] x 1: model.layers.3.mlp.experts.down_proj",
                   "6: moe.shared.down[0] x 1: model.layers.1.mlp.shared_experts.down_proj.weight",
                   "7: ssm.in_proj[0] x 1: backbone.layers.2.mixer.in_proj.weight",
                   "8: mlp.gate_up[0] x 1: model.layers.0.mlp.gate_proj.weight"}));
}

TEST_F(LayerWeights, OfOnnxTheNodesSayTheirWeights) {
  const std::string graph = onnx::input("x", 1, {8, 16}) + onnx::weighted_product("w", 16, 16, "x", "y") +
                            onnx::node("MatMul", {"y", "w"}, "z") + onnx::weighted_product("v", 16, 16, "z", "u") +
                            onnx::output("u");
  std::ofstream(path("m.onnx"), std::ios::binary) << onnx::model(graph);
  EXPECT_EQ(matched(path("m.onnx"), {operation("u"), operation("z", 2), operation("y"), operation("w")}),  // no node
            (Lines{"0: u x 1: v", "1: z x 2: w", "2: y x 1: w"}));
}

}  // namespace
}  // namespace sptc::prune::plan
