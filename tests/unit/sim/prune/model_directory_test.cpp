// SPDX-License-Identifier: Apache-2.0
//
// A directory of a model becomes another one that other software loads, shard by shard.
#include "sim/prune/model_directory.h"

#include "sim/io/tensor_file.h"
#include "sim/io/text_file.h"
#include "sim/prune/conversion.h"
#include "sim/prune/prune_model.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace sptc::prune {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

io::Tensor weight(const std::string& name, int first) {
  io::Tensor tensor{name, "I8", {4, 8}, {}};
  for (int i = 0; i < 32; ++i) {
    tensor.bytes.push_back(static_cast<std::byte>(1 + (first + i * 7) % 100));
  }
  return tensor;
}

class ModelDirectories : public testing::Test {
 protected:
  const support::TemporaryDirectory temporary;
  const fs::path in = temporary.path() / "Model-1.5B", out = temporary.path() / "Model-1.5B-24";

  void SetUp() override {
    fs::create_directories(in / "onnx");
    put(1);
    put(2);
    write("model.safetensors.index.json",
          R"({"metadata": {"total_size": 128},
              "weight_map": {"a.weight": "1.safetensors", "b.weight": "1.safetensors",
                             "c.weight": "2.safetensors", "d.weight": "2.safetensors"}})");
    write("config.json", R"({"model_type": "tiny", "hidden_size": 8})");
    write("tokenizer.json", "{}");
    write("generation_config.json", R"({"eos_token_id": 2})");
    write("pytorch_model.bin", "dense");
  }
  void put(int shard, int first = 0) const {
    io::write_safetensors(in / (std::to_string(shard) + ".safetensors"),
                          shard == 1 ? std::vector{weight("a.weight", first), weight("b.weight", 1)}
                                     : std::vector{weight("c.weight", 2), weight("d.weight", 3)});
  }
  void write(const std::string& name, const std::string& text) const { support::put_file(in / name, text); }
  static std::string read(const fs::path& file) { return io::read_text_file(file, 1 << 20); }
  Json config() const { return Json::parse(read(out / "config.json")); }
  std::set<std::string> names() const {
    std::set<std::string> result;
    for (const auto& entry : fs::directory_iterator(out)) {
      result.insert(entry.path().filename().string());
    }
    return result;
  }
  PruneReport prune(const PruneOptions& options = {}) const { return prune_model(in, out, {}, options); }
  /// What sets a file apart from one that was written again.
  static std::uint64_t inode(const fs::path& file) {
    struct stat found {};
    EXPECT_EQ(::stat(file.c_str(), &found), 0);
    return found.st_ino;
  }
};

TEST_F(ModelDirectories, AreComplete) {
  const PruneReport report = prune();
  EXPECT_EQ(names(), (std::set<std::string>{"1.safetensors", "2.safetensors", "config.json", "generation_config.json",
                                            "model.safetensors.index.json", "sptcsim-shards.json", "tokenizer.json"}));
  EXPECT_EQ(report.notes,
            std::vector<std::string>{"not copied from the directory of the model: onnx, pytorch_model.bin"});
  EXPECT_EQ(read(out / "generation_config.json"), R"({"eos_token_id": 2})");
  const Json index = Json::parse(read(out / "model.safetensors.index.json"));
  EXPECT_EQ(index.at("weight_map").at("c.weight"), "2.safetensors");
  EXPECT_EQ(index.at("metadata").at("total_size"), 128);
  EXPECT_EQ(config().at("hidden_size"), 8);
  EXPECT_FALSE(config().contains("quantization_config"));  // which would ask for a package
  const Json sparsity = config().at("sparsity_config");
  EXPECT_EQ(sparsity.at("format"), "dense");
  EXPECT_EQ(sparsity.at("sparsity_structure"), "2:4");
  EXPECT_EQ(sparsity.at("global_sparsity"), 0.5);
  EXPECT_EQ(sparsity.at("targets"), Json({"a", "b", "c", "d"}));
  PruneOptions options;
  EXPECT_EQ(prune_model(out, temporary.path() / "again", {}, options).layers.size(), 4U);
}

TEST_F(ModelDirectories, SayWhereCompressedTensorsLooksThatTheyAreSparse) {
  write("config.json", R"({"quantization_config": {"quant_method": "compressed-tensors",
      "format": "int-quantized", "config_groups": {"group_0": {"format": "int-quantized"}}}})");
  PruneOptions options;
  options.layout = WeightLayout::kSparse24Bitmask;
  prune(options);
  const Json quantization = config().at("quantization_config");
  EXPECT_EQ(quantization.at("sparsity_config").at("format"), "sparse-24-bitmask");
  EXPECT_EQ(quantization.at("format"), "int-quantized");
  EXPECT_FALSE(config().contains("sparsity_config"));
  EXPECT_EQ(io::TensorFile::open(out / "1.safetensors").tensors().size(), 6U);
  const Json index = Json::parse(read(out / "model.safetensors.index.json"));
  EXPECT_EQ(index.at("weight_map").at("d.bitmask"), "2.safetensors");
  options.layout = WeightLayout::kDense;
  const fs::path back = temporary.path() / "back";
  convert_model(out, back, options);
  EXPECT_EQ(Json::parse(read(back / "config.json")).at("quantization_config").at("sparsity_config").at("format"),
            "dense");
  prune_model(in, temporary.path() / "dense", {}, {});
  for (const std::string shard : {"1.safetensors", "2.safetensors"}) {
    const io::TensorFile one = io::TensorFile::open(back / shard);
    const io::TensorFile other = io::TensorFile::open(temporary.path() / "dense" / shard);
    ASSERT_EQ(one.tensors().size(), other.tensors().size());
    for (const io::Tensor& tensor : other.tensors()) {
      EXPECT_EQ(one.tensor(tensor.name).bytes, tensor.bytes);
    }
  }
}

TEST_F(ModelDirectories, OfOtherQuantisationKeepWhatTheySayOfIt) {
  const std::string before = R"({"quantization_config": {"quant_method": "awq", "bits": 4}})";
  DirectoryFacts facts{WeightLayout::kSparse24Bitmask, "2:4", {"a.weight"}, 0.25};
  const Json edited = Json::parse(edited_config(before, "config.json", facts));
  EXPECT_EQ(edited.at("quantization_config"), Json::parse(before).at("quantization_config"));
  EXPECT_EQ(edited.at("sparsity_config").at("global_sparsity"), 0.25);
  const Json fresh = Json::parse(edited_config("{}", "config.json", facts));
  EXPECT_EQ(fresh.at("quantization_config").at("quant_method"), "compressed-tensors");
  facts.structure.clear();
  facts.layout = WeightLayout::kMarlin24;
  EXPECT_EQ(Json::parse(edited_config(before, "config.json", facts)), Json::parse(before));
  const std::string ours = R"({"quantization_config": {"quant_method": "compressed-tensors",
      "format": "pack-quantized", "config_groups": {"g": {"format": "pack-quantized"}, "h": []}}})";
  const Json marlin = Json::parse(edited_config(ours, "config.json", facts));
  EXPECT_EQ(marlin.at("quantization_config").at("format"), "marlin-24");
  EXPECT_EQ(marlin.at("quantization_config").at("config_groups").at("g").at("format"), "marlin-24");
  support::expect_input_error([&] { edited_config("[]", "config.json", facts); }, {"config.json: must be an object"});
}

TEST_F(ModelDirectories, ASecondRunWritesWhatIsNotThere) {
  const std::string first = prune_json(prune());
  const std::uint64_t one = inode(out / "1.safetensors"), two = inode(out / "2.safetensors");
  const std::string bytes = read(out / "2.safetensors");
  EXPECT_EQ(prune_json(prune()), first);  // of shards that it did not look at
  EXPECT_EQ(inode(out / "1.safetensors"), one);
  EXPECT_EQ(inode(out / "2.safetensors"), two);
  fs::remove(out / "2.safetensors");
  fs::remove(out / "model.safetensors.index.json");
  support::put_file(out / "1.safetensors.4711.0.tmp", "of a process that was killed");
  EXPECT_EQ(prune_json(prune()), first);
  EXPECT_EQ(inode(out / "1.safetensors"), one);
  EXPECT_EQ(read(out / "2.safetensors"), bytes);
  EXPECT_FALSE(names().contains("1.safetensors.4711.0.tmp"));
  // A shard of another size, and one whose source is another.
  support::put_file(out / "2.safetensors", bytes.substr(1));
  prune();
  EXPECT_EQ(read(out / "2.safetensors"), bytes);
  put(1, 50);
  fs::last_write_time(in / "1.safetensors", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const std::string old = read(out / "1.safetensors");
  prune();
  EXPECT_NE(read(out / "1.safetensors"), old);
}

TEST_F(ModelDirectories, MasksAreOfAllShards) {
  prune();
  const fs::path masks = temporary.path() / "masks.safetensors";
  prune_model(in, out, masks, {});
  EXPECT_EQ(io::TensorFile::open(masks).tensors().size(), 4U);
}

TEST_F(ModelDirectories, WhatIsNotOursIsNotWrittenOver) {
  prune();
  PruneOptions options;
  options.exclude = "a";
  support::expect_input_error([&] { prune(options); }, {"of other options; name a new directory"});
  write("notes.txt", "mine");
  const fs::path other = temporary.path() / "other";
  fs::create_directory(other);
  prune_model(in, other, {}, {});  // an empty one is taken
  const fs::path full = temporary.path() / "full";
  fs::create_directory(full);
  support::put_file(full / "notes.txt", "mine");
  support::expect_input_error([&] { prune_model(in, full, {}, {}); }, {"is not empty; shards go to a new directory"});
  support::expect_input_error([&] { prune_model(in, in, {}, {}); }, {"this directory is read"});
  support::expect_input_error([&] { prune_model(in, in / "config.json", {}, {}); }, {"is a file"});
  EXPECT_EQ(read(full / "notes.txt"), "mine");
  const int held = ::open(other.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  support::expect_input_error([&] { prune_model(in, other, {}, {}); }, {"another process writes there"});
  ::close(held);
}

TEST_F(ModelDirectories, BadConfigurationsAndManifestsAreRefusedBeforeTheWork) {
  write("config.json", "{");
  support::expect_input_error([&] { prune(); }, {"config.json"});
  EXPECT_FALSE(fs::exists(out));
  write("config.json", "{}");
  prune();
  for (const std::string text : {"{", "{}", R"({"schema": "sptcsim-shards/0.1"})"}) {
    support::put_file(out / kManifestName, text);
    support::expect_input_error([&] { prune(); }, {kManifestName});
  }
}

TEST_F(ModelDirectories, OfOneFileNeedNoIndex) {
  fs::remove(in / "model.safetensors.index.json");
  fs::rename(in / "1.safetensors", in / "model.safetensors");
  fs::remove(in / "2.safetensors");
  EXPECT_EQ(prune().layers.size(), 2U);
  EXPECT_TRUE(names().contains("model.safetensors"));
  EXPECT_FALSE(names().contains("model.safetensors.index.json"));
  EXPECT_EQ(config().at("sparsity_config").at("format"), "dense");
  // A file of it is written as before.
  prune_model(in, temporary.path() / "m.safetensors", {}, {});
  EXPECT_EQ(io::TensorFile::open(temporary.path() / "m.safetensors").tensors().size(), 2U);
}

}  // namespace
}  // namespace sptc::prune
