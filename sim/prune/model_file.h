// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/tensor_layout.h"
#include "sim/workload/onnx/model.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::prune {

/// Name of the file that says which shard has which tensor.
inline constexpr std::string_view kIndexName = "model.safetensors.index.json";
/// Name of what a safetensors file says of itself, and of the array of bytes with it in a `.npz`.
inline constexpr std::string_view kMetadataName = "__metadata__";

/// A tensor of a model and the file of it, a shard, that it is in.
struct ModelTensor {
  io::TensorEntry entry;
  std::string shard;  ///< file name in the directory of the model; empty where it is one file
};

/// The tensors of a model, read one at a time: a `.safetensors` file, the shards that a `.safetensors.index.json` lists
/// (or the directory with it), a `.npz`, a `.npy`, or the initializers and constants of an ONNX model.
class ModelFile {
 public:
  /// Opens the model at `path`; what the headers say is checked against the files. Throws InputError.
  static std::unique_ptr<ModelFile> open(const std::filesystem::path& path);
  virtual ~ModelFile() = default;

  /// The directory of a model that was opened by it or by the index of its shards; else empty.
  const std::filesystem::path& directory() const { return directory_; }
  /// Whether an index says which shard has which tensor.
  bool has_index() const { return has_index_; }
  /// The name in messages.
  const std::string& shown() const { return shown_; }
  const std::vector<ModelTensor>& tensors() const { return tensors_; }
  /// Indices of the tensors by their names.
  const std::map<std::string, std::size_t, std::less<>>& places() const { return places_; }
  /// All files that the model is in.
  const std::vector<std::filesystem::path>& files() const { return files_; }
  /// Calls visit(what follows `prefix`, tensor) for each name that begins with it.
  template <typename Visit>
  void for_each_below(const std::string& prefix, Visit visit) const {
    for (auto at = places_.lower_bound(prefix); at != places_.end() && at->first.starts_with(prefix); ++at) {
      visit(std::string_view(at->first).substr(prefix.size()), at->second);
    }
  }
  /// What a file says of itself beside its tensors.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Index of the tensor called `name`; nothing where there is none.
  std::optional<std::size_t> place_of(std::string_view name) const;
  /// The same; throws InputError with the nearest name.
  std::size_t find(const std::string& name) const;

  /// The bytes of a tensor, little-endian and row-major.
  virtual std::vector<std::byte> read(std::size_t tensor) const = 0;

  /// The bytes of an ONNX model and its graph.
  virtual const std::string* onnx_bytes() const { return nullptr; }
  virtual const workload::onnx::Graph* onnx_graph() const { return nullptr; }
  /// Why tensors() of an ONNX model lacks the initializer or constant `name`.
  virtual std::string why_absent(const std::string& /*name*/) const { return {}; }

 protected:
  explicit ModelFile(std::string shown) : shown_(std::move(shown)) {}

  std::string shown_;
  std::filesystem::path directory_;
  bool has_index_ = false;
  std::vector<ModelTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<std::filesystem::path> files_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor of `model` with its bytes.
io::Tensor read_tensor(const ModelFile& model, std::size_t tensor);

}  // namespace sptc::prune
