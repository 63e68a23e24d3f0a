// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/onnx/model.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace sptc::workload::onnx {

/// The bytes of a model and of its files of external data, which weights are read from.
class ModelBytes {
 public:
  /// `path` is the file of the model, or of no file.
  ModelBytes(std::string model, std::filesystem::path path);
  ~ModelBytes();
  ModelBytes(const ModelBytes&) = delete;
  ModelBytes& operator=(const ModelBytes&) = delete;

  /// The model, whose tensors have their elements. Files of external data lie in the directory of
  /// the model or below. Throws InputError "`name`: ..." for others and for places outside of a
  /// file; those that are not there are absent.
  Model parse(const std::string& name);
  const std::set<std::string>& absent() const { return absent_; }

 private:
  /// Gives `tensor`, whose data are external, its elements.
  void open(Tensor& tensor, const std::string& name);
  /// Nothing where there is no such file.
  const std::string_view* file(const std::string& location, const std::string& place);

  std::string model_;
  std::filesystem::path path_;
  std::map<std::string, std::string_view> files_;  ///< mapped into memory
  std::set<std::string> absent_;
};

}  // namespace sptc::workload::onnx
