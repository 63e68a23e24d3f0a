// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/model_file.h"

#include "models/base/text.h"
#include "sim/io/json_reader.h"
#include "sim/io/memory_guard.h"
#include "sim/io/npz.h"
#include "sim/io/text_file.h"
#include "sim/prune/compressed_layer.h"
#include "sim/prune/onnx_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <ranges>
#include <set>
#include <utility>

namespace sptc::prune {
namespace {

constexpr std::uint64_t kMaxIndexBytes = 64 << 20;
constexpr std::uint64_t kMaxOnnxBytes = std::uint64_t{1} << 31;  // of protobuf

class SafetensorsModel : public ModelFile {
 public:
  explicit SafetensorsModel(const std::filesystem::path& path) : ModelFile(io::printable(path.string())) {}

  /// Adds the tensors of the file at `path`.
  void add(const std::filesystem::path& path, const std::string& shard) {
    const std::string shown = io::printable(path.string());
    auto [stream, size] = io::open_tensors(path);
    files_.push_back(path);
    io::SafetensorsHeader header = io::read_safetensors_header(stream, size, shown);
    for (io::TensorEntry& entry : header.entries) {
      tensors_.push_back({std::move(entry), shard});
      paths_.push_back(path);
    }
    metadata_.merge(header.metadata);
  }

  void add_index(const std::filesystem::path& path) {
    files_.push_back(path);
    has_index_ = true;
    set_directory(path.parent_path());
  }
  void set_directory(const std::filesystem::path& path) { directory_ = path.empty() ? "." : path; }

  /// Throws InputError unless the shards hold what `wanted`, tensor to shard, says.
  void require(const std::map<std::string, std::string>& wanted) const {
    std::set<std::string> found;
    for (const ModelTensor& tensor : tensors_) {
      const auto place = wanted.find(tensor.entry.name);
      if (place == wanted.end() || place->second != tensor.shard) {
        io::refuse("{}: does not say that '{}' is in {}", shown_, io::printable(tensor.entry.name),
                   io::printable(tensor.shard));
      }
      found.insert(tensor.entry.name);
    }
    for (const auto& [name, shard] : wanted) {
      if (!found.contains(name)) {
        io::refuse("{}: tensor '{}' is not in {}", shown_, io::printable(name), io::printable(shard));
      }
    }
  }

  std::vector<std::byte> read(std::size_t tensor) const override {
    const io::TensorEntry& entry = tensors_[tensor].entry;
    io::require_memory(entry.bytes, fmt::format("tensor '{}'", io::printable(entry.name)));
    std::ifstream stream(paths_[tensor], std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(entry.offset));
    return io::read_bytes(stream, entry.bytes, io::printable(paths_[tensor].string()));
  }

 private:
  std::vector<std::filesystem::path> paths_;  ///< of each tensor
};

std::unique_ptr<ModelFile> open_shards(const std::filesystem::path& index) {
  auto model = std::make_unique<SafetensorsModel>(index);
  const nlohmann::json document = io::parse_json(io::read_text_file(index, kMaxIndexBytes), model->shown());
  const io::JsonObject root(document, {model->shown(), ""});
  const io::JsonObject map = root.object("weight_map");
  std::map<std::string, std::string> wanted;
  std::set<std::string> shards;
  for (const auto& [name, value] : map.value().items()) {
    const std::string shard = map.text(name);
    if (std::filesystem::path(shard).filename() != shard) {
      (map.place() / name).fail("must be the name of a file beside the index");
    }
    wanted[name] = shard;
    shards.insert(shard);
  }
  model->add_index(index);
  for (const std::string& shard : shards) {
    model->add(index.parent_path() / shard, shard);
  }
  model->require(wanted);
  return model;
}

/// Arrays in memory.
class ArrayModel : public ModelFile {
 public:
  ArrayModel(const std::filesystem::path& path, std::vector<io::Tensor> arrays)
      : ModelFile(io::printable(path.string())), arrays_(std::move(arrays)) {
    files_.push_back(path);
    take_metadata();
    for (const io::Tensor& array : arrays_) {
      tensors_.push_back({{array.name, array.dtype, array.shape, 0, array.bytes.size()}, ""});
    }
  }

  std::vector<std::byte> read(std::size_t tensor) const override { return arrays_[tensor].bytes; }

 private:
  /// What compressed layers are stands in an array of that name, as ArrayWriter has it.
  void take_metadata() {
    const auto words = [](const io::Tensor& array) {
      return std::string_view(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
    };
    const auto text = std::ranges::find_if(arrays_, [&](const io::Tensor& array) {
      return array.name == kMetadataName && array.dtype == "U8" &&
             words(array).find(kFormsKey) != std::string_view::npos;
    });
    if (text != arrays_.end()) {
      metadata_ = io::parse_metadata(words(*text), fmt::format("{}: {}", shown_, kMetadataName));
      arrays_.erase(text);
    }
  }

  std::vector<io::Tensor> arrays_;
};

std::string_view dtype_name(workload::onnx::Type type) {
  using workload::onnx::Type;
  constexpr std::pair<Type, std::string_view> kNames[] = {
      {Type::kFloat, "F32"},    {Type::kUint8, "U8"},     {Type::kInt8, "I8"},    {Type::kInt32, "I32"},
      {Type::kInt64, "I64"},    {Type::kFloat16, "F16"},  {Type::kDouble, "F64"}, {Type::kBfloat16, "BF16"},
      {Type::kE4m3, "F8_E4M3"}, {Type::kE5m2, "F8_E5M2"},
  };
  const auto* const found = std::ranges::find_if(kNames, [&](const auto& row) { return row.first == type; });
  return found == std::end(kNames) ? std::string_view() : found->second;
}

/// Those initializers and constants whose values stand in the file, packed, and weights of
/// layers whose values do not: their extents can be asked for.
class OnnxModel : public ModelFile {
 public:
  explicit OnnxModel(const std::filesystem::path& path)
      : ModelFile(io::printable(path.string())),
        bytes_(io::read_text_file(path, kMaxOnnxBytes)),
        graph_(workload::onnx::parse_onnx(bytes_, shown_).graph) {
    files_.push_back(path);
    for (const OnnxLayer& layer : onnx_layers(graph_)) {
      layers_.insert(layer.initializer);
    }
    for (const auto& [name, tensor] : onnx_constants(graph_)) {
      add(*tensor, name);
    }
  }

  std::vector<std::byte> read(std::size_t tensor) const override {
    const io::TensorEntry& entry = tensors_[tensor].entry;
    if (const auto elsewhere = elsewhere_.find(tensor); elsewhere != elsewhere_.end()) {
      io::refuse("{}: the values of '{}' {}: save the model as one file first, with onnx.save of onnx.load", shown_,
                 io::printable(entry.name), elsewhere->second);
    }
    std::vector<std::byte> bytes(entry.bytes);
    std::memcpy(bytes.data(), bytes_.data() + entry.offset, bytes.size());
    return bytes;
  }
  const std::string* onnx_bytes() const override { return &bytes_; }
  const workload::onnx::Graph* onnx_graph() const override { return &graph_; }
  std::string why_absent(const std::string& name) const override { return absent_.at(name); }

 private:
  void add(const workload::onnx::Tensor& tensor, const std::string& name) {
    const io::ElementType* const type = io::find_element_type(dtype_name(tensor.type));
    const auto bytes = type == nullptr ? std::nullopt : io::packed_bytes(tensor.dims, type->bytes);
    if (type == nullptr) {
      absent_[name] = fmt::format("its elements are {}, which are not pruned here", workload::onnx::name(tensor.type));
      return;
    }
    const bool is_here = bytes && static_cast<std::size_t>(*bytes) == tensor.raw.size();
    if (!bytes || *bytes <= 0 || (!is_here && !layers_.contains(name))) {
      absent_[name] = "its elements do not stand packed in the file";
      return;
    }
    if (!is_here) {
      elsewhere_[tensors_.size()] = tensor.external
                                        ? fmt::format("are in the external file '{}', which is not read here",
                                                      io::printable(tensor.external->location))
                                        : "are not in the file as plain bytes";
    }
    const auto offset = is_here ? static_cast<std::uint64_t>(tensor.raw.data() - bytes_.data()) : 0;
    tensors_.push_back({{name, std::string(type->name), tensor.dims, offset, static_cast<std::uint64_t>(*bytes)}, ""});
  }

  std::map<std::string, std::string> absent_;  ///< why, by name
  std::string bytes_;
  workload::onnx::Graph graph_;
  std::set<std::string> layers_;                  ///< names of their weights
  std::map<std::size_t, std::string> elsewhere_;  ///< by tensor: where its values are
};

std::unique_ptr<ModelFile> opened(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    io::require_directory(path);
    if (std::filesystem::exists(path / kIndexName, error)) {
      return open_shards(path / kIndexName);
    }
    constexpr std::string_view kOnlyShard = "model.safetensors";
    if (!std::filesystem::exists(path / kOnlyShard, error)) {
      io::refuse("{}: is a directory without {} or {}", io::printable(path.string()), kIndexName, kOnlyShard);
    }
    auto model = std::make_unique<SafetensorsModel>(path / kOnlyShard);
    model->add(path / kOnlyShard, std::string(kOnlyShard));
    model->set_directory(path);
    return model;
  }
  const std::string name = path.filename().string();
  if (name.ends_with(".index.json")) {
    return open_shards(path);
  }
  if (name.ends_with(".safetensors")) {
    auto model = std::make_unique<SafetensorsModel>(path);
    model->add(path, "");
    return model;
  }
  if (name.ends_with(".npz")) {
    return std::make_unique<ArrayModel>(path, io::read_npz(path));
  }
  if (name.ends_with(".npy")) {
    return std::make_unique<ArrayModel>(path, io::TensorFile::open(path).tensors());
  }
  if (name.ends_with(".onnx")) {
    return std::make_unique<OnnxModel>(path);
  }
  io::refuse(
      "{}: unknown kind of model '{}' (allowed: .safetensors, .safetensors.index.json or its directory, .npz, .npy, "
      ".onnx)",
      io::printable(path.string()), io::printable(path.extension().string()));
}

}  // namespace

std::unique_ptr<ModelFile> ModelFile::open(const std::filesystem::path& path) {
  std::unique_ptr<ModelFile> model = opened(path);
  for (std::size_t i = 0; i < model->tensors_.size(); ++i) {
    model->places_.emplace(model->tensors_[i].entry.name, i);
  }
  return model;
}

std::optional<std::size_t> ModelFile::place_of(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? std::nullopt : std::optional(place->second);
}

std::size_t ModelFile::find(const std::string& name) const {
  if (const std::optional<std::size_t> place = place_of(name)) {
    return *place;
  }
  const auto names =
      std::views::transform(tensors_, [](const ModelTensor& tensor) { return std::string_view(tensor.entry.name); });
  io::refuse("{}: unknown tensor {}", shown_,
             base::unknown_name(io::printable(name), std::vector(names.begin(), names.end())));
}

io::Tensor read_tensor(const ModelFile& model, std::size_t tensor) {
  const io::TensorEntry& entry = model.tensors()[tensor].entry;
  return {entry.name, entry.dtype, entry.shape, model.read(tensor)};
}

}  // namespace sptc::prune
