// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"
#include "tests/support/expect_input_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace sptc::workload::topology {
namespace {

Recording read(const std::string& text, const NamedDims& dims = {{"batch", 1}, {"seq", 8}}) {
  input::InputStream input(text, "x");
  return importer::read_recording(input, {dims});
}

/// A model of which the file says this, small where `type` has no defaults of its own kind.
std::string model(const std::string& type, const std::string& keys = "") {
  return R"({"model_type": ")" + type + "\"" + (keys.empty() ? "" : ", ") + keys + "}";
}

Operation named(const std::vector<Operation>& operations, const std::string& name) {
  for (const Operation& op : operations) {
    if (op.name == name) {
      return op;
    }
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

std::string notes_of(const Recording& recording) {
  return fmt::format("{}", fmt::join(recording.account.notes, "; "));
}

void expect_note(const Recording& recording, const std::string& part) {
  EXPECT_NE(notes_of(recording).find(part), std::string::npos) << part << "\nin: " << notes_of(recording);
}

TEST(ModelConfig, WhatIsMissingIsAsTheClassOfTransformersHasIt) {
  const Recording gemma = read(R"({"model_type": "gemma3", "text_config": {"hidden_size": 2560,
    "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34,
    "sliding_window": 1024}, "torch_dtype": "bfloat16", "vision_config": {"image_size": 896}})");
  const auto& ops = gemma.workload.operations;
  EXPECT_EQ(named(ops, "attn.qkv").shape, (base::GemmShape{4096, 8, 2560}));
  EXPECT_EQ(named(ops, "attn.qkv").count, 34);
  EXPECT_EQ(named(ops, "attn.o").shape, (base::GemmShape{2560, 8, 2048}));
  EXPECT_EQ(named(ops, "lm_head").shape, (base::GemmShape{262208, 1, 2560}));
  expect_note(gemma, "not in the file, so as Gemma3TextConfig of transformers");
  for (const char* const part :
       {"num_attention_heads = 8", "num_key_value_heads = 4", "head_dim = 256", "vocab_size = 262208"}) {
    expect_note(gemma, part);
  }
  expect_note(gemma, "keys that are not read: vision_config");
}

TEST(ModelConfig, EachClassHasItsDefaults) {
  // m of qkv, m and k of the MLP's last weight, vocabulary, layers.
  struct Row {
    const char* type;
    std::int64_t qkv, hidden, ffn, vocab, layers;
  };
  for (const Row& row :
       {Row{"llama", 3 * 4096, 4096, 11008, 32000, 32}, Row{"mistral", 48 * 128, 4096, 14336, 32000, 32},
        Row{"qwen2", 3 * 4096, 4096, 22016, 151936, 32}, Row{"qwen3", 96 * 128, 4096, 22016, 151936, 32},
        Row{"gemma", 48 * 256, 3072, 24576, 256000, 28}, Row{"gemma2", 16 * 256, 2304, 9216, 256000, 26},
        Row{"gemma3_text", 16 * 256, 2304, 9216, 262208, 26}, Row{"phi", 3 * 2048, 2048, 8192, 51200, 24},
        Row{"phi3", 3 * 3072, 3072, 8192, 32064, 32}, Row{"granite", 3 * 4096, 4096, 11008, 32000, 32},
        Row{"gpt2", 3 * 768, 768, 3072, 50257, 12}, Row{"gpt_neox", 3 * 6144, 6144, 24576, 50432, 44},
        Row{"opt", 3 * 768, 768, 3072, 50272, 12}}) {
    SCOPED_TRACE(row.type);
    const Recording recording = read(model(row.type));
    const auto& ops = recording.workload.operations;
    EXPECT_EQ(named(ops, "attn.qkv").shape, (base::GemmShape{row.qkv, 8, row.hidden}));
    EXPECT_EQ(named(ops, "attn.qkv").count, row.layers);
    EXPECT_EQ(ops.at(ops.size() - 2).shape, (base::GemmShape{row.hidden, 8, row.ffn}));
    EXPECT_EQ(named(ops, "lm_head").shape, (base::GemmShape{row.vocab, 1, row.hidden}));
  }
  EXPECT_EQ(named(read(model("mixtral")).workload.operations, "moe.router").shape.m, 8);
  EXPECT_EQ(named(read(model("qwen3_moe")).workload.operations, "moe.router").shape.m, 128);
  EXPECT_EQ(named(read(model("qwen2_moe")).workload.operations, "moe.shared.down").shape.k, 5632);
  EXPECT_EQ(named(read(model("bert"), {{"batch", 1}, {"seq", 8}}).workload.operations, "ffn.output").shape,
            (base::GemmShape{768, 8, 3072}));
  EXPECT_EQ(named(read(model("vit"), {{"batch", 1}}).workload.operations, "ffn.output").shape,
            (base::GemmShape{768, 197, 3072}));
}

TEST(ModelConfig, GptsAndOptCallTheirSizesOtherwise) {
  const Recording gpt = read(model("gpt2", R"("n_embd": 1024, "n_layer": 24, "n_head": 16,
    "n_inner": null, "torch_dtype": "float32")"));
  EXPECT_EQ(named(gpt.workload.operations, "mlp.fc1").shape, (base::GemmShape{4096, 8, 1024}));
  EXPECT_EQ(named(gpt.workload.operations, "mlp.fc1").dtype, numerics::DataType::kTf32);
  const Recording opt = read(model("opt", R"("hidden_size": 1024, "ffn_dim": 4096,
    "word_embed_proj_dim": 512, "num_attention_heads": 16, "num_hidden_layers": 24)"));
  EXPECT_EQ(named(opt.workload.operations, "project_in").shape, (base::GemmShape{1024, 8, 512}));
  EXPECT_EQ(named(opt.workload.operations, "lm_head").shape.k, 512);
}

TEST(ModelConfig, TheTypeIsThatOfTheTextPartThenOfTheRootThenSaidToBeTaken) {
  const auto type_of = [](const std::string& text) { return read(text).workload.operations.at(0).dtype; };
  const std::string gemma = R"({"model_type": "gemma3", "text_config": {"model_type":
    "gemma3_text")";
  using numerics::DataType;
  EXPECT_EQ(type_of(gemma + R"(}, "torch_dtype": "float16"})"), DataType::kF16);
  EXPECT_EQ(type_of(gemma + R"(}, "dtype": "float16"})"), DataType::kF16);
  EXPECT_EQ(type_of(gemma + R"(, "torch_dtype": "float16"}})"), DataType::kF16);
  EXPECT_EQ(type_of(gemma + R"(, "dtype": "float16"}, "dtype": "bfloat16"})"), DataType::kF16);
  EXPECT_EQ(type_of(model("llama", R"("dtype": "torch.float32")")), DataType::kTf32);
  expect_note(read(model("llama")), "the configuration says no type (dtype, torch_dtype)");
  support::expect_input_error([] { read(model("llama", R"("dtype": "float64")")); },
                              {"x: /dtype: 'float64' is none of float16, bfloat16 and float32"});
}

TEST(ModelConfig, WhatIsNotModelledIsSaidWithoutANameThatIsNear) {
  for (const char* const type : {"deepseek_v32", "qwen3_next", "jamba", "lama"}) {
    support::expect_input_error([&] { read(model(type)); },
                                {fmt::format("x: /model_type: model_type {} is not modelled yet; "
                                             "known are: llama, mistral, ",
                                             type)});
  }
  // The text part of what is not known may be.
  EXPECT_EQ(
      read(R"({"model_type": "llava", "text_config": {"model_type": "mistral"}})").workload.operations.at(0).shape.m,
      48 * 128);
}

TEST(ModelConfig, HeadsShareAllFeatures) {
  support::expect_input_error([] { read(model("llama", R"("num_attention_heads": 24)")); },
                              {"x: top level: 24 attention heads do not share 4096 hidden features"});
}

TEST(ModelConfig, ListsOfLayersSayWhichHaveExpertsAndWindows) {
  const Recording moe = read(model("qwen3_moe", R"("num_hidden_layers": 12, "decoder_sparse_step":
    2, "mlp_only_layers": [0, 3], "torch_dtype": "bfloat16")"));
  EXPECT_EQ(named(moe.workload.operations, "moe.router").count, 5);
  EXPECT_EQ(named(moe.workload.operations, "mlp.gate_up").count, 7);
  expect_note(moe, "5 of 12 layers have experts");
  support::expect_input_error([] { read(model("qwen3_moe", R"("num_hidden_layers": 2, "mlp_only_layers": [2])")); },
                              {"x: /mlp_only_layers/0: must be an integer from 0 to 1"});

  const NamedDims decode{{"batch", 1}, {"context", 4096}};
  const auto keys_of = [](const Recording& recording) {
    std::map<std::int64_t, std::int64_t> layers;
    for (const Operation& op : recording.workload.operations) {
      if (op.name == "attn.scores") {
        layers[op.shape.m] += op.count;
      }
    }
    return layers;
  };
  using Layers = std::map<std::int64_t, std::int64_t>;
  EXPECT_EQ(keys_of(read(model("gemma3", R"("num_hidden_layers": 34, "sliding_window": 1024)"), decode)),
            (Layers{{1024, 29}, {4096, 5}}));
  EXPECT_EQ(keys_of(read(model("gemma2", R"("num_hidden_layers": 4, "layer_types":
    ["sliding_attention", "full_attention", "full_attention", "full_attention"],
    "sliding_window": 512)"),
                         decode)),
            (Layers{{512, 1}, {4096, 3}}));
  EXPECT_EQ(keys_of(read(model("mistral", R"("sliding_window": null)"), decode)), (Layers{{4096, 32}}));
  const std::string qwen = R"("num_hidden_layers": 4, "sliding_window": 128, "max_window_layers":
    3, "use_sliding_window": )";
  EXPECT_EQ(keys_of(read(model("qwen2", qwen + "true"), decode)), (Layers{{128, 1}, {4096, 3}}));
  EXPECT_EQ(keys_of(read(model("qwen2", qwen + "false"), decode)), (Layers{{4096, 4}}));
  expect_note(read(model("mistral"), decode), "sliding windows of 4096, which hold the whole");
}

TEST(ModelConfig, KeysThatAreNotReadAreNamed) {
  expect_note(read(model("llama", R"("eos_token_id": 2, "new_way": 3, "other": null)")),
              "keys that are not read: new_way");
  EXPECT_EQ(notes_of(read(model("llama", R"("eos_token_id": 2)"))).find("not read"), std::string::npos);
}

/// Vector operations by name, kind and size.
std::vector<std::string> vectors_of(const Workload& workload) {
  std::vector<std::string> names;
  for (const VectorOperation& op : workload.vectors) {
    names.push_back(
        fmt::format("{} {} {}x{} {} after {}", op.name, name(op.kind), op.rows, op.columns, op.count, op.after));
  }
  return names;
}

TEST(ModelConfig, WhatStandsBetweenTheProductsIsThatOfTheShippedLists) {
  const auto shipped = [](const std::string& list, const NamedDims& dims) {
    return vectors_of(read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/" + list + ".json", dims));
  };
  const NamedDims decode{{"batch", 8}, {"context", 2048}};
  EXPECT_EQ(vectors_of(read(model("llama", R"("hidden_size": 4096, "intermediate_size": 14336,
    "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 128256)"),
                            decode)
                           .workload),
            shipped("llama3_8b", decode));
  const auto bert =
      vectors_of(read(model("bert", R"("hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads":
        16, "num_hidden_layers": 24)"),
                      {{"batch", 2}, {"seq", 384}})
                     .workload);
  auto expected = shipped("bert_large", {{"batch", 2}});
  expected.pop_back();  // of the head
  EXPECT_EQ(bert, expected);
}

}  // namespace
}  // namespace sptc::workload::topology
