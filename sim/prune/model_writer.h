// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/model_file.h"

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::prune {

/// A model that is written tensor by tensor and appears whole or not at all.
class ModelWriter {
 public:
  virtual ~ModelWriter() = default;
  /// The next of the tensors that the writer was made for.
  virtual void add(const io::Tensor& tensor) = 0;
  virtual void finish() = 0;
};

/// Writes `tensors`, to be added in this order, to `path`: its ending says the format. No ending: a
/// directory of the shards of `source`, which must be sharded. `.onnx`: `source` with other bytes
/// in its initializers. Throws InputError where `path` cannot take them.
std::unique_ptr<ModelWriter> make_writer(const std::filesystem::path& path, const ModelFile& source,
                                         std::vector<ModelTensor> tensors,
                                         const std::map<std::string, std::string>& metadata);

/// Throws InputError where `path`, which `option` names, is one of the files that are read.
void require_other_file(std::string_view option, const std::filesystem::path& path,
                        std::span<const std::filesystem::path> read);

/// Throws InputError where no model of the ending of `path` can be made of `source`, or `path` is
/// the source or a directory that exists.
void require_model_path(const std::filesystem::path& path, const ModelFile& source);

}  // namespace sptc::prune
