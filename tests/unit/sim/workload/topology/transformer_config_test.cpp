// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sptc::workload::topology {
namespace {

Recording read(const std::string& text, const std::map<std::string, std::int64_t>& dims) {
  input::InputStream input(text, "x");
  return importer::read_recording(input, {dims});
}

const std::string kLlama3 = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
  "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 128256,
  "rope_scaling": null, "torch_dtype": "float16", "use_cache": true})";

/// The list of traces/ that was checked against published counts.
void expect_shipped(const Recording& recording, const std::string& list, const NamedDims& dims,
                    std::size_t without = 0) {
  const Workload shipped = read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/" + list + ".json", dims);
  const auto& found = recording.workload.operations;
  ASSERT_EQ(found.size(), shipped.operations.size() - without) << list;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Operation& expected = shipped.operations[i];
    EXPECT_EQ(found[i].name, expected.name) << list;
    EXPECT_EQ(found[i].shape, expected.shape) << list << " " << expected.name;
    EXPECT_EQ(found[i].batch, expected.batch) << list << " " << expected.name;
    EXPECT_EQ(found[i].count, expected.count) << list << " " << expected.name;
    EXPECT_EQ(found[i].prunable, expected.prunable) << list << " " << expected.name;
  }
}

/// Multiply-accumulates by name. The shipped list has an operation for each number of tokens that
/// experts get, "moe.expert.down.n696"; a configuration says nothing of that.
std::map<std::string, std::int64_t> work_of(const std::vector<Operation>& operations) {
  std::map<std::string, std::int64_t> macs;
  for (const Operation& op : operations) {
    macs[op.name.substr(0, op.name.find(".n"))] += op.shape.macs() * op.batch * op.count;
  }
  return macs;
}

void expect_work_of_shipped(const Recording& recording, const std::string& list, const NamedDims& dims) {
  const Workload shipped = read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/" + list + ".json", dims);
  EXPECT_EQ(work_of(recording.workload.operations), work_of(shipped.operations)) << list;
}

TEST(TransformerConfig, LlamaIsTheShippedList) {
  for (const NamedDims& dims : {NamedDims{{"batch", 1}, {"seq", 512}}, NamedDims{{"batch", 16}, {"context", 2048}},
                                NamedDims{{"batch", 8}, {"seq", 2}, {"context", 64}}}) {
    expect_shipped(read(kLlama3, dims), "llama3_8b", dims);
  }
}

TEST(TransformerConfig, MixtralIsTheShippedList) {
  const std::string mixtral = R"({"model_type": "mixtral", "hidden_size": 4096,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "num_hidden_layers": 32, "vocab_size": 32000, "num_local_experts": 8,
    "num_experts_per_tok": 2})";
  expect_work_of_shipped(read(mixtral, {{"batch", 1}, {"seq", 2048}}), "mixtral_8x7b", {});
  expect_work_of_shipped(read(mixtral, {{"batch", 64}, {"context", 2048}}), "mixtral_8x7b",
                         {{"batch", 64}, {"seq", 1}, {"context", 2048}});
  // One token reaches two of the eight experts.
  const Recording one = read(mixtral, {{"batch", 1}, {"context", 64}});
  EXPECT_EQ(one.workload.operations.at(5).batch, 2);
  EXPECT_EQ(one.workload.operations.at(5).shape.n, 1);
}

TEST(TransformerConfig, BertIsTheShippedListWithoutTheHead) {
  const std::string bert = R"({"model_type": "bert", "hidden_size": 1024,
    "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24})";
  expect_shipped(read(bert, {{"batch", 8}, {"seq", 384}}), "bert_large", {{"batch", 8}}, 1);
}

TEST(TransformerConfig, VitIsTheShippedListWithTheHeadOfItsLabels) {
  std::string labels;
  for (int i = 0; i < 1000; ++i) {
    labels += (i == 0 ? "" : ", ") + ("\"" + std::to_string(i) + "\": \"l\"");
  }
  const std::string vit = R"({"model_type": "vit", "hidden_size": 768, "image_size": 224,
    "patch_size": 16, "num_channels": 3, "intermediate_size": 3072, "num_attention_heads": 12,
    "num_hidden_layers": 12, "id2label": {)" +
                          labels + "}}";
  expect_shipped(read(vit, {{"batch", 1}}), "vit_b_16", {});
}

TEST(TransformerConfig, IsWrittenWithItsDimensions) {
  const std::string text = workload_json(read(kLlama3, {{"batch", 16}, {"context", 2048}}));
  const Workload same = parse_workload_json(text, "x.json");
  EXPECT_EQ(same.dims, (NamedDims{{"batch", 16}, {"context", 2048}, {"seq", 1}}));
  EXPECT_EQ(same.operations.at(1).shape, (base::GemmShape{2048, 4, 128}));
  EXPECT_EQ(same.source, "x: model configuration of Hugging Face");
  const Workload other = parse_workload_json(text, "x.json", {{"batch", 3}, {"seq", 64}});
  EXPECT_EQ(other.operations.at(0).shape.n, 3 * 64);
  // Context follows seq where it was not given.
  const std::string prefill = workload_json(read(kLlama3, {{"batch", 1}, {"seq", 512}}));
  EXPECT_EQ(parse_workload_json(prefill, "x.json", {{"seq", 64}}).operations.at(1).shape,
            (base::GemmShape{64, 4 * 64, 128}));
}

TEST(TransformerConfig, DimensionsThatAreNotGivenAreThoseOfTheShippedList) {
  for (const NamedDims& dims : {NamedDims{}, NamedDims{{"batch", 8}}, NamedDims{{"context", 2048}},
                                NamedDims{{"seq", 1}, {"context", 2048}}, NamedDims{{"batch", 2}, {"seq", 64}}}) {
    const Recording recording = read(kLlama3, dims);
    expect_shipped(recording, "llama3_8b", dims);
    EXPECT_EQ(recording.workload.dims,
              read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/llama3_8b.json", dims).dims);
  }
}

TEST(TransformerConfig, FaultsAreNamed) {
  const std::map<std::string, std::int64_t> dims{{"batch", 1}, {"seq", 8}};
  support::expect_input_error(
      [&] {
        read(kLlama3, {{"batch", 1}, {"seq", 8}, {"sequence", 8}});
      },
      {"x has no open dimension 'sequence' (nearest valid: 'seq'"});
  support::expect_input_error(
      [] {
        read(kLlama3, {{"seq", 10}, {"context", 5}});
      },
      {"--dim context=5 is below seq=10"});
  std::string seven = kLlama3;
  seven.replace(seven.find("_heads\": 8"), 10, "_heads\": 7");
  support::expect_input_error([&] { read(seven, dims); },
                              {"x: top level: 32 attention heads do not share 7 key and value heads"});
  for (const char* model : {"llama", "bert"}) {
    support::expect_input_error(
        [&] {
          read(R"({"model_type": ")" + std::string(model) + R"(", "hidden_size": 3,
    "num_attention_heads": 4, "num_hidden_layers": 1})",
               dims);
        },
        {"x: top level: there are more attention heads than hidden features"});
  }
  support::expect_input_error(
      [&] {
        read(R"({"model_type": "llama", "hidden_size": 64,
    "num_attention_heads": 4, "num_hidden_layers": -1})",
             dims);
      },
      {"x: /num_hidden_layers: must be an integer from 1 to 2147483647, not -1"});
  support::expect_input_error(
      [&] {
        read(R"({"model_type": "llama", "hidden_size": 64, "vocab_size": 9,
    "num_attention_heads": 4, "num_hidden_layers": 1, "intermediate_size": 2147483647})",
             dims);
      },
      {"x: top level: a GEMM of these sizes has an extent above 2147483647"});
}

}  // namespace
}  // namespace sptc::workload::topology
