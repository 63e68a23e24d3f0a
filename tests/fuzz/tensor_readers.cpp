// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/check/vectors/bit_array.h"
#include "sim/io/tensor_file.h"
#include "sim/io/text_file.h"
#include "sim/prune/conversion.h"
#include "sim/prune/model_directory.h"
#include "sim/prune/prune_model.h"
#include "tests/fuzz/readers.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sptc::fuzz {
namespace {

/// Reads everything that a tensor file offers.
void use(const io::TensorFile& file) {
  for (const io::Tensor& tensor : file.tensors()) {
    io::as_doubles(tensor);
    io::as_matrix(tensor, numerics::DataType::kBf16);
    io::as_matrix(tensor, numerics::DataType::kS8);
  }
}

/// `bytes` as a file called `name`, in a directory that lives as long as the program.
std::filesystem::path as_file(const std::string& name, const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  support::put_file(directory.path() / name, bytes);
  return directory.path() / name;
}

void read_npy(const std::string& bytes) {
  std::istringstream stream(bytes);
  use(io::TensorFile::read_npy(stream, bytes.size(), "f.npy"));
  check::vectors::read_bit_array(as_file("f.npy", bytes));
}

void read_safetensors(const std::string& bytes) {
  std::istringstream stream(bytes);
  use(io::TensorFile::read_safetensors(stream, bytes.size(), "f.safetensors"));
}

/// Prunes a model, then takes the result apart again.
void prune(const std::filesystem::path& model) {
  const std::filesystem::path out = model.parent_path() / "out.safetensors";
  prune::PruneOptions options;
  options.layout = prune::WeightLayout::kCanonical;
  prune::prune_model(model, out, "", options);
  options.layout = prune::WeightLayout::kDense;
  prune::convert_model(out, model.parent_path() / "dense.safetensors", options);
}

void read_model(const std::string& bytes) {
  prune(as_file("m.safetensors", bytes));
}

void read_npz(const std::string& bytes) {
  prune(as_file("m.npz", bytes));
}

void read_onnx_model(const std::string& bytes) {
  const std::filesystem::path model = as_file("m.onnx", bytes);
  prune::prune_model(model, model.parent_path() / "out.onnx", "", {});
}

/// A converted model says in its header which layers it holds compressed.
void read_converted_model(const std::string& bytes) {
  const std::filesystem::path model = as_file("c.safetensors", bytes);
  prune::convert_model(model, model.parent_path() / "dense.safetensors", {});
}

/// A checkpoint of another package, to layouts of which one at least holds it.
void read_checkpoint(const std::string& bytes) {
  const std::filesystem::path model = as_file("p.safetensors", bytes);
  bool taken = false;
  std::string reason;
  for (const auto layout :
       {prune::WeightLayout::kCanonical, prune::WeightLayout::kSparse24Bitmask, prune::WeightLayout::kMarlin24,
        prune::WeightLayout::kIntQuantized, prune::WeightLayout::kModelOptNvfp4}) {
    prune::PruneOptions options;
    options.layout = layout;
    try {
      prune::convert_model(model, model.parent_path() / "other.safetensors", options);
      taken = true;
    } catch (const base::InputError& error) {
      reason = error.what();
    }
  }
  if (!taken) {
    throw base::InputError(reason);
  }
}

/// The config.json of a directory, which is written with more in it.
void read_sparse_config(const std::string& bytes) {
  for (const auto layout : {prune::WeightLayout::kSparse24Bitmask, prune::WeightLayout::kMarlin24}) {
    prune::edited_config(bytes, "config.json", {layout, "2:4", {"a.weight"}, 0.5});
  }
}

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
  return text;
}

/// What a directory says of its one shard. "@TASK@", "@SOURCE@" and "@BYTES@" stand for what is
/// true of it.
void read_shard_manifest(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  const std::filesystem::path in = directory.path() / "in", out = directory.path() / "out";
  const std::filesystem::path manifest = out / prune::kManifestName;
  static const nlohmann::json whole = [&] {
    std::filesystem::create_directory(in);
    const base::Matrix<numerics::Word> words(8, 16, 0x3C00);
    io::write_safetensors(in / "model.safetensors",
                          std::vector{io::make_tensor("a.weight", words, numerics::DataType::kF16)});
    prune::prune_model(in, out, "", {});
    return nlohmann::json::parse(io::read_text_file(manifest, 1 << 20));
  }();
  const nlohmann::json& shard = whole.at("shards").at("model.safetensors");
  std::string text = replaced(bytes, "\"@TASK@\"", whole.at("task").dump());
  text = replaced(text, "@SOURCE@", shard.at("source").get<std::string>());
  text = replaced(text, "\"@BYTES@\"", shard.at("bytes").dump());
  support::put_file(manifest, text);
  prune::prune_model(in, out, "", {});
}

/// The index of two files that are there.
void read_model_index(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  static const bool written = [] {
    const base::Matrix<numerics::Word> words(8, 16, 0x3C00);
    for (const std::string name : {"a", "b"}) {
      const io::Tensor tensors[] = {io::make_tensor(name + ".weight", words, numerics::DataType::kF16)};
      io::write_safetensors(directory.path() / (name + ".safetensors"), tensors);
    }
    return true;
  }();
  const std::filesystem::path index = directory.path() / "m.safetensors.index.json";
  support::put_file(index, bytes);
  if (written) {
    prune::prune_model(index, "", directory.path() / "masks.safetensors", {});
  }
}

/// The config.json beside the attention of two layers and the experts of one.
void read_model_config(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  static const bool written = [] {
    const auto weights = [](const std::string& name, std::vector<std::int64_t> shape) {
      io::Tensor tensor{"model.layers." + name, "I8", std::move(shape), {}};
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        tensor.bytes.push_back(static_cast<std::byte>(i * 37 % 127));
      }
      return tensor;
    };
    io::write_safetensors(
        directory.path() / "m.safetensors",
        std::vector{weights("0.self_attn.q_proj.weight", {16, 16}), weights("0.self_attn.k_proj.weight", {8, 16}),
                    weights("0.self_attn.v_proj.weight", {8, 16}), weights("0.self_attn.o_proj.weight", {16, 16}),
                    weights("1.self_attn.kv_b_proj.weight", {32, 16}), weights("1.self_attn.o_proj.weight", {16, 16}),
                    weights("1.mlp.experts.gate_up_proj", {2, 16, 16}),
                    weights("1.mlp.experts.down_proj", {2, 16, 8})});
    return true;
  }();
  support::put_file(directory.path() / "config.json", bytes);
  if (written) {
    prune::PruneOptions options;
    options.permute = {"auto"};
    prune::prune_model(directory.path() / "m.safetensors", "", directory.path() / "masks.safetensors", options);
  }
}

constexpr Reader kReaders[] = {
    {"npy", Content::kBytes, read_npy},
    {"safetensors", Content::kBytes, read_safetensors},
    {"model", Content::kBytes, read_model, 100},
    {"npz", Content::kBytes, read_npz, 100},
    {"onnx_model", Content::kBytes, read_onnx_model, 100},
    {"converted_model", Content::kBytes, read_converted_model, 100},
    {"checkpoint", Content::kBytes, read_checkpoint, 1200},
    {"sparse_config", Content::kJson, read_sparse_config},
    {"shard_manifest", Content::kJson, read_shard_manifest, 100},
    {"model_index", Content::kJson, read_model_index, 100},
    {"model_config", Content::kJson, read_model_config, 100},
};

}  // namespace

std::span<const Reader> tensor_readers() {
  return kReaders;
}

}  // namespace sptc::fuzz
