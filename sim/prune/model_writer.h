// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/compressed_layer.h"
#include "sim/prune/model_file.h"

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::prune {

/// What the config.json of a directory is to say of its weights.
struct DirectoryFacts {
  WeightLayout layout = WeightLayout::kDense;
  std::string structure;            ///< "2:4"; empty: it says nothing of sparsity
  std::vector<std::string> layers;  ///< names of the weights that have it
  double sparsity = 0;              ///< share of zeros among all elements
  bool unpacks = false;             ///< codes that were packed stand one by one, as int-quantized has them
};

/// A model that is written tensor by tensor. A file appears whole or not at all, a directory shard by shard.
class ModelWriter {
 public:
  virtual ~ModelWriter() = default;
  /// Whether a run before wrote this shard: its tensors need not be added.
  virtual bool has(const std::string& /*shard*/) const { return false; }
  /// What tell() told of such a shard.
  virtual std::string told(const std::string& /*shard*/) const { return {}; }
  /// What a later run is to know of the shard whose last tensor was added.
  virtual void tell(std::string /*text*/) {}
  /// The next of the tensors that the writer was made for.
  virtual void add(const io::Tensor& tensor) = 0;
  virtual void finish(const DirectoryFacts& facts) = 0;
};

/// Writes `tensors`, to be added in this order, to `path`: its ending says the format. Another ending: a directory like
/// that of `source` (sim/prune/model_directory.h), of which `task` says when shards are the same. `.onnx`: `source`
/// with other bytes in its initializers. Throws InputError where `path` cannot take them.
std::unique_ptr<ModelWriter> make_writer(const std::filesystem::path& path, const ModelFile& source,
                                         std::vector<ModelTensor> tensors,
                                         const std::map<std::string, std::string>& metadata,
                                         const std::string& task = {});

/// Whether make_writer() makes a directory of `path`.
bool is_directory_path(const std::filesystem::path& path, const ModelFile& source);

/// Throws InputError where `path`, which `option` names, is one of the files that are read.
void require_other_file(std::string_view option, const std::filesystem::path& path,
                        std::span<const std::filesystem::path> read);

/// Throws InputError where no model of the ending of `path` can be made of `source`, or `path` is the source or a
/// directory that exists.
void require_model_path(const std::filesystem::path& path, const ModelFile& source);

}  // namespace sptc::prune
