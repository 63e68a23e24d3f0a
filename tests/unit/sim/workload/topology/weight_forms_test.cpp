// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sptc::workload::topology {
namespace {

Recording read(const std::string& text) {
  input::InputStream input(text, "x");
  return importer::read_recording(input, {{{"batch", 1}, {"seq", 8}}});
}

/// A model of which the file says this.
std::string model(const std::string& type, const std::string& keys) {
  return R"({"model_type": ")" + type + R"(", "dtype": "bfloat16", )" + keys + "}";
}

Operation named(const std::vector<Operation>& operations, const std::string& name) {
  const auto found = std::ranges::find(operations, name, &Operation::name);
  EXPECT_NE(found, operations.end()) << name;
  return found == operations.end() ? Operation() : *found;
}

/// "bf16 s4 128": type of the products, of the weight in memory, elements of a scale.
std::string form_of(const Recording& recording, const std::string& name) {
  const Operation op = named(recording.workload.operations, name);
  return fmt::format("{} {} {}", numerics::name(op.dtype), op.storage.weight ? numerics::name(*op.storage.weight) : "-",
                     op.storage.scale_block);
}

void expect_note(const Recording& recording, const std::string& part) {
  const std::string notes = fmt::format("{}", fmt::join(recording.account.notes, "; "));
  EXPECT_NE(notes.find(part), std::string::npos) << part << "\nin: " << notes;
}

TEST(WeightForms, QuantizationsAreReadOrSaid) {
  struct Row {
    const char* quantization;
    const char* form;  ///< type of the products, of the weight, elements of a scale
    const char* note;
  };
  for (const Row& row :
       {Row{R"("quant_method": "fp8", "weight_block_size": [128, 128])", "e4m3 - 0", "weight_block_size"},
        Row{R"("quant_method": "fbgemm_fp8")", "e4m3 - 0", ""},
        Row{R"("quant_method": "gptq", "bits": 4, "group_size": 128)", "bf16 s4 128",
            "weights of 4 bits with a scale for 128 are dequantised to bf16"},
        Row{R"("quant_method": "gptq", "bits": 8, "group_size": -1)", "bf16 s8 0", "8 bits"},
        Row{R"("quant_method": "gptq", "bits": 3, "group_size": 128)", "bf16 - 0",
            "quantization 'of 3 bits, multiplied as bf16' is not read"},
        Row{R"("quant_method": "awq", "w_bit": 4, "q_group_size": 64)", "bf16 s4 64", ""},
        Row{R"("quant_method": "bitsandbytes", "load_in_4bit": true)", "bf16 s4 64", ""},
        Row{R"("quant_method": "bitsandbytes", "load_in_8bit": true)", "s8 - 0", ""},
        Row{R"("quant_method": "modelopt", "quant_algo": "NVFP4")", "e2m1 - 16", ""},
        Row{R"("quant_method": "hqq")", "bf16 - 0", "quantization 'hqq' is not read"},
        Row{R"("quant_method": "mxfp4")", "bf16 - 0", "weights of experts are mxfp4"},
        Row{R"("quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights":
               {"num_bits": 4, "type": "int", "group_size": 128}, "input_activations": null}},
               "ignore": ["lm_head"])",
            "bf16 s4 128", "ignore names 1 module: lm_head"},
        Row{R"("quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights":
               {"num_bits": 8, "type": "int"}, "input_activations": {"num_bits": 8}}},
               "sparsity_config": {"format": "sparse-24-bitmask"})",
            "s8 - 0", "sparsity_config says"},
        Row{R"("quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights":
               {"num_bits": 8, "type": "float"}, "input_activations": {"num_bits": 8}}})",
            "e4m3 - 0", ""}}) {
    SCOPED_TRACE(row.quantization);
    const Recording recording =
        read(model("mixtral", fmt::format(R"("quantization_config": {{{}}})", row.quantization)));
    EXPECT_EQ(form_of(recording, "attn.qkv"), row.form);
    expect_note(recording, row.note);
    for (const char* const plain : {"lm_head", "moe.router", "attn.scores"}) {
      EXPECT_EQ(form_of(recording, plain), "bf16 - 0") << plain;
    }
  }
}

/// Lists name modules by whole names, parts of them, patterns and regular expressions.
TEST(WeightForms, WhatListsNameStaysAsItIs) {
  struct Row {
    const char* list;
    const char* kept;  ///< operations of the five that are not quantised
  };
  for (const Row& row : {Row{R"(["lm_head", "gate"])", ""}, Row{R"(["model.layers.*.self_attn"])", "qkv o"},
                         Row{R"(["self_attn"])", "qkv o"}, Row{R"(["*.self_attn.o_proj*"])", "o"},
                         Row{R"(["model.layers.*.mlp.gate_proj"])", ""}, Row{R"(["re:.*self_attn.*"])", "qkv o"},
                         Row{R"(["re:.*mlp\\.(gate|up)_proj.*", "re:.*shared_experts.*"])", "shared"},
                         Row{R"(["model.layers.0.self_attn.q_proj"])", ""},
                         Row{R"(["model.layers.0.self_attn.q_proj", "model.layers.1.self_attn.q_proj"])", "qkv"},
                         Row{R"(["model.layers.7.self_attn.q_proj"])", ""},
                         Row{R"x(["vision_tower.layers.1.self_attn", "re:(?!self_attn)", 5])x", ""},
                         Row{R"(["mlp.experts"])", "gate_up down"}}) {
    SCOPED_TRACE(row.list);
    const Recording recording =
        read(model("glm4_moe", fmt::format(R"("head_dim": 128, "num_hidden_layers": 2, "first_k_dense_replace": 0,
      "quantization_config": {{"quant_method": "fp8", "ignored_layers": {}}})",
                                           row.list)));
    std::vector<std::string> kept;
    for (const auto& [name, shown] :
         {std::pair("attn.qkv", "qkv"), std::pair("attn.o", "o"), std::pair("moe.expert.gate_up", "gate_up"),
          std::pair("moe.expert.down", "down"), std::pair("moe.shared.gate_up", "shared")}) {
      if (form_of(recording, name) == "bf16 - 0") {
        kept.emplace_back(shown);
      } else {
        EXPECT_EQ(form_of(recording, name), "e4m3 - 0") << name;
      }
    }
    EXPECT_EQ(fmt::format("{}", fmt::join(kept, " ")), row.kept);
    expect_note(recording, "ignored_layers names");
  }
  const std::string four = R"("num_hidden_layers": 4, "quantization_config": {"quant_method": "fp8",
    "modules_to_not_convert": ["model.layers.3.self_attn.q_proj", "layers.9.mlp"]})";
  const Recording one = read(model("llama", four));
  expect_note(one, "1 of 4 layers keep attn.qkv in bf16: all are taken as the others do");
  expect_note(one, "1 name in modules_to_not_convert fits no operation that is modelled: layers.9");
}

TEST(WeightForms, Mxfp4IsOfExperts) {
  const Recording oss = read(model("gpt_oss", R"("num_hidden_layers": 2, "quantization_config":
    {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn",
     "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})"));
  EXPECT_EQ(form_of(oss, "moe.expert.gate_up"), "bf16 s4 64");
  EXPECT_EQ(form_of(oss, "moe.expert.down"), "bf16 s4 64");
  for (const char* const plain : {"attn.qkv", "attn.o", "moe.router", "lm_head"}) {
    EXPECT_EQ(form_of(oss, plain), "bf16 - 0") << plain;
  }
  expect_note(oss, "names 4 modules: lm_head and routers stay bf16, and of the layers attn.o, attn.qkv");
  const auto& op = named(oss.workload.operations, "moe.expert.down");
  const double bits = op.storage.a_bits(16) +
                      static_cast<double>(op.storage.scale_bits(true, op.shape.k)) / static_cast<double>(op.shape.k);
  EXPECT_DOUBLE_EQ(bits, 4 + 8.0 / 32);
}

TEST(WeightForms, AbsorbedWeightsAreNotQuantised) {
  input::InputStream input(model("deepseek_v3", R"("quantization_config": {"quant_method": "fp8"})"), "x");
  const Recording decode = importer::read_recording(input, {{{"batch", 4}, {"context", 4096}}});
  EXPECT_EQ(form_of(decode, "attn.q_absorb"), "bf16 - 0");
  EXPECT_EQ(form_of(decode, "attn.v_up"), "bf16 - 0");
  EXPECT_EQ(form_of(decode, "attn.qkv_a"), "e4m3 - 0");
  expect_note(decode, "the halves of kv_b_proj, are in bf16");
}

}  // namespace
}  // namespace sptc::workload::topology
