// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/model_writer.h"

#include "models/base/error.h"
#include "sim/io/npz.h"
#include "sim/io/output_file.h"
#include "sim/io/text_file.h"
#include "sim/prune/compressed_layer.h"
#include "sim/prune/model_directory.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>
#include <utility>

namespace sptc::prune {
namespace {

using Metadata = std::map<std::string, std::string>;

/// Endings of files; others are those of directories.
constexpr std::array<std::string_view, 4> kEndings{".safetensors", ".npz", ".npy", ".onnx"};

class SafetensorsWriter : public ModelWriter {
 public:
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<ModelTensor>& tensors,
                    const Metadata& metadata)
      : file_(path) {
    std::vector<io::TensorEntry> entries;
    for (const ModelTensor& tensor : tensors) {
      entries.push_back(tensor.entry);
      end_ += tensor.entry.bytes;
    }
    file_.write(io::safetensors_head(entries, metadata));
    end_ += file_.size();
  }
  void add(const io::Tensor& tensor) override { file_.write(tensor.bytes); }
  void finish(const DirectoryFacts& /*facts*/) override {
    base::ensure(file_.size() == end_, "a safetensors file of other tensors than announced");
    file_.commit();
  }

 private:
  io::OutputFile file_;
  std::uint64_t end_ = 0;
};

/// `.npy` and `.npz`; of the metadata what compressed layers are.
class ArrayWriter : public ModelWriter {
 public:
  ArrayWriter(std::filesystem::path path, const Metadata& metadata) : path_(std::move(path)) {
    if (const auto forms = metadata.find(std::string(kFormsKey)); forms != metadata.end()) {
      forms_ = nlohmann::json{{forms->first, forms->second}}.dump();
    }
  }
  void add(const io::Tensor& tensor) override { arrays_.push_back(tensor); }
  void finish(const DirectoryFacts& /*facts*/) override {
    if (!forms_.empty()) {
      if (std::ranges::any_of(arrays_, [](const io::Tensor& array) { return array.name == kMetadataName; })) {
        io::refuse(
            "{}: a tensor is called {}, where the forms of compressed layers stand: write a .safetensors file, or "
            "leave the tensor out",
            io::printable(path_.string()), kMetadataName);
      }
      const auto bytes = std::as_bytes(std::span(forms_));
      arrays_.push_back(
          {std::string(kMetadataName), "U8", {static_cast<std::int64_t>(bytes.size())}, {bytes.begin(), bytes.end()}});
    }
    io::write_file(path_, path_.extension() == ".npy" ? io::npy_bytes(arrays_.front()) : io::npz_bytes(arrays_));
  }

 private:
  std::filesystem::path path_;
  std::string forms_;
  std::vector<io::Tensor> arrays_;
};

class OnnxWriter : public ModelWriter {
 public:
  OnnxWriter(std::filesystem::path path, const ModelFile& source)
      : path_(std::move(path)), source_(source), bytes_(*source.onnx_bytes()) {}
  void add(const io::Tensor& tensor) override {
    const io::TensorEntry& entry = source_.tensors()[next_++].entry;
    base::ensure(tensor.bytes.size() == entry.bytes, "an initializer of another size");
    std::memcpy(bytes_.data() + entry.offset, tensor.bytes.data(), tensor.bytes.size());
  }
  void finish(const DirectoryFacts& /*facts*/) override { io::write_file(path_, bytes_); }

 private:
  std::filesystem::path path_;
  const ModelFile& source_;
  std::string bytes_;
  std::size_t next_ = 0;
};

}  // namespace

void require_other_file(std::string_view option, const std::filesystem::path& path,
                        std::span<const std::filesystem::path> read) {
  for (const std::filesystem::path& file : read) {
    std::error_code error;
    if (std::filesystem::equivalent(path, file, error)) {
      io::refuse("{} {}: this file is read, so it is not written over", option, io::printable(path.string()));
    }
  }
}

void require_model_path(const std::filesystem::path& path, const ModelFile& source) {
  const std::string shown = io::printable(path.string());
  const std::string extension = path.extension().string();
  std::error_code error;
  require_other_file("--out", path, source.files());
  if (is_directory_path(path, source)) {
    if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error)) {
      io::refuse("--out {}: is a file; shards go to a new directory", shown);
    }
    return;
  }
  if (extension.empty() || extension == "." || std::filesystem::is_directory(path, error)) {
    io::refuse("--out {}: its ending must be .safetensors, .npz, .npy or .onnx", shown);
  }
  if (extension == ".onnx" && source.onnx_graph() == nullptr) {
    io::refuse("--out {}: an ONNX model is written of an ONNX model alone", shown);
  }
  if (extension == ".npy" && source.tensors().size() != 1) {
    io::refuse("--out {}: a .npy file holds one tensor, and the model has {}", shown, source.tensors().size());
  }
  if (std::ranges::count(kEndings, extension) == 0) {
    io::refuse("--out {}: its ending must be .safetensors, .npz, .npy or .onnx, not '{}'", shown,
               io::printable(extension));
  }
}

bool is_directory_path(const std::filesystem::path& path, const ModelFile& source) {
  std::error_code error;
  return !source.directory().empty() &&
         (std::ranges::count(kEndings, path.extension().string()) == 0 || std::filesystem::is_directory(path, error));
}

std::unique_ptr<ModelWriter> make_writer(const std::filesystem::path& path, const ModelFile& source,
                                         std::vector<ModelTensor> tensors,
                                         const std::map<std::string, std::string>& metadata, const std::string& task) {
  const std::string extension = path.extension().string();
  if (is_directory_path(path, source)) {
    return make_directory_writer(path, source, std::move(tensors), metadata, task);
  }
  if (extension == ".safetensors") {
    return std::make_unique<SafetensorsWriter>(path, tensors, metadata);
  }
  if (extension == ".npz" || extension == ".npy") {
    return std::make_unique<ArrayWriter>(path, metadata);
  }
  return std::make_unique<OnnxWriter>(path, source);
}

}  // namespace sptc::prune
