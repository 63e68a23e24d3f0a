// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/model_writer.h"

#include "models/base/error.h"
#include "sim/io/npz.h"
#include "sim/io/output_file.h"
#include "sim/io/scratch_file.h"
#include "sim/io/text_file.h"
#include "sim/prune/compressed_layer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace sptc::prune {
namespace {

using Metadata = std::map<std::string, std::string>;

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
  void finish() override {
    base::ensure(file_.size() == end_, "a safetensors file of other tensors than announced");
    file_.commit();
  }

 private:
  io::OutputFile file_;
  std::uint64_t end_ = 0;
};

/// Shards in a directory of another name until they are all there.
class ShardWriter : public ModelWriter {
 public:
  ShardWriter(std::filesystem::path path, std::vector<ModelTensor> tensors, Metadata metadata)
      : path_(std::move(path)),
        beside_(path_, [](const char* name) { return ::mkdir(name, 0777); }),
        tensors_(std::move(tensors)),
        metadata_(std::move(metadata)) {
    if (beside_.made() < 0) {
      throw base::InputError(fmt::format("{}: the directory cannot be made: {}",
                                         io::printable(path_.string()),
                                         std::strerror(beside_.error())));
    }
  }
  ~ShardWriter() override { shard_.reset(); }

  void add(const io::Tensor& tensor) override {
    const std::string& name = tensors_[next_].shard;
    if (name != open_) {
      close();
      std::vector<ModelTensor> own;
      for (const ModelTensor& other : tensors_) {
        if (other.shard == name) {
          own.push_back(other);
        }
      }
      shard_.emplace(scratch(name), own, metadata_);
      open_ = name;
    }
    shard_->add(tensor);
    ++next_;
  }

  void finish() override {
    close();
    nlohmann::ordered_json map = nlohmann::ordered_json::object();
    std::uint64_t bytes = 0;
    for (const ModelTensor& tensor : tensors_) {
      map[tensor.entry.name] = tensor.shard;
      bytes += tensor.entry.bytes;
    }
    const nlohmann::ordered_json index{{"metadata", {{"total_size", bytes}}}, {"weight_map", map}};
    io::write_file(scratch(std::string(kIndexName)), index.dump(2) + "\n");
    std::error_code error;
    std::filesystem::rename(beside_.path(), path_, error);
    if (error) {
      throw base::InputError(
          fmt::format("{}: cannot be written: {}", io::printable(path_.string()), error.message()));
    }
    beside_.keep();
  }

 private:
  void close() {
    if (shard_) {
      shard_->finish();
      shard_.reset();
    }
  }

  /// The place of a file of the directory.
  const std::filesystem::path& scratch(const std::string& name) {
    return files_.emplace_back(beside_.path() / name).path();
  }

  std::filesystem::path path_;
  io::ScratchFile beside_;
  std::deque<io::ScratchFile> files_;
  std::vector<ModelTensor> tensors_;
  Metadata metadata_;
  std::size_t next_ = 0;
  std::string open_;
  std::optional<SafetensorsWriter> shard_;
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
  void finish() override {
    if (!forms_.empty()) {
      if (std::any_of(arrays_.begin(), arrays_.end(),
                      [](const io::Tensor& array) { return array.name == kMetadataName; })) {
        throw base::InputError(fmt::format(
            "{}: a tensor is called {}, where the forms of compressed layers stand: write a "
            ".safetensors file, or leave the tensor out",
            io::printable(path_.string()), kMetadataName));
      }
      const auto bytes = std::as_bytes(std::span(forms_));
      arrays_.push_back({std::string(kMetadataName),
                         "U8",
                         {static_cast<std::int64_t>(bytes.size())},
                         {bytes.begin(), bytes.end()}});
    }
    io::write_file(path_, path_.extension() == ".npy" ? io::npy_bytes(arrays_.front())
                                                      : io::npz_bytes(arrays_));
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
  void finish() override { io::write_file(path_, bytes_); }

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
      throw base::InputError(fmt::format("{} {}: this file is read, so it is not written over",
                                         option, io::printable(path.string())));
    }
  }
}

void require_model_path(const std::filesystem::path& path, const ModelFile& source) {
  const std::string shown = io::printable(path.string());
  const std::string extension = path.extension().string();
  std::error_code error;
  require_other_file("--out", path, source.files());
  if (extension.empty() || extension == "." || std::filesystem::is_directory(path, error)) {
    if (!source.is_sharded()) {
      throw base::InputError(
          fmt::format("--out {}: its ending must be .safetensors, .npz, .npy or .onnx", shown));
    }
    if (std::filesystem::exists(path, error)) {
      throw base::InputError(fmt::format("--out {}: exists; shards go to a new directory", shown));
    }
    return;
  }
  if (extension == ".onnx" && source.onnx_graph() == nullptr) {
    throw base::InputError(
        fmt::format("--out {}: an ONNX model is written of an ONNX model alone", shown));
  }
  if (extension == ".npy" && source.tensors().size() != 1) {
    throw base::InputError(
        fmt::format("--out {}: a .npy file holds one tensor, and the model has {}", shown,
                    source.tensors().size()));
  }
  if (extension != ".safetensors" && extension != ".npz" && extension != ".npy" &&
      extension != ".onnx") {
    throw base::InputError(
        fmt::format("--out {}: its ending must be .safetensors, .npz, .npy or .onnx, not '{}'",
                    shown, io::printable(extension)));
  }
}

std::unique_ptr<ModelWriter> make_writer(const std::filesystem::path& path, const ModelFile& source,
                                         std::vector<ModelTensor> tensors,
                                         const std::map<std::string, std::string>& metadata) {
  const std::string extension = path.extension().string();
  if (extension == ".safetensors") {
    return std::make_unique<SafetensorsWriter>(path, tensors, metadata);
  }
  if (extension == ".npz" || extension == ".npy") {
    return std::make_unique<ArrayWriter>(path, metadata);
  }
  if (extension == ".onnx") {
    return std::make_unique<OnnxWriter>(path, source);
  }
  return std::make_unique<ShardWriter>(path, std::move(tensors), metadata);
}

}  // namespace sptc::prune
