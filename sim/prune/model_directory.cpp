// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/model_directory.h"

#include "models/base/error.h"
#include "sim/io/file_use.h"
#include "sim/io/json_reader.h"
#include "sim/io/output_file.h"
#include "sim/io/scratch_file.h"
#include "sim/io/text_file.h"
#include "sim/workload/layer_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <re2/re2.h>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sptc::prune {
namespace {

using Json = nlohmann::ordered_json;
using Metadata = std::map<std::string, std::string>;

constexpr std::string_view kSchema = "sptcsim-shards/0.1";
constexpr std::string_view kConfigName = "config.json";
constexpr std::uint64_t kMaxTextBytes = 64 << 20;
constexpr std::string_view kMethod = "compressed-tensors";

/// Size and time of a file; empty where there is none.
std::string stamp_of(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return {};
  }
  return fmt::format("{} bytes of {}.{:09}", found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
}

std::string text_of(const Json& json) {
  return io::json_text(json, 2) + "\n";
}

void write_durably(const std::filesystem::path& path, std::string_view bytes) {
  io::OutputFile file(path);
  file.write(bytes);
  file.commit_durably();
}

void copy_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  io::announce_input(from);
  std::ifstream stream(from, std::ios::binary);
  io::OutputFile file(to);
  std::string buffer(kBytes, '\0');
  while (stream) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    file.write(std::string_view(buffer).substr(0, static_cast<std::size_t>(stream.gcount())));
  }
  if (!stream.eof()) {
    io::refuse("{}: cannot be read to its end", io::printable(from.string()));
  }
  file.commit_durably();
}

/// Whether a file of that name holds weights, of which the directory has its own.
bool holds_weights(const std::filesystem::path& name) {
  constexpr std::array<std::string_view, 10> kEndings{".safetensors", ".bin",  ".pt",  ".pth", ".gguf",
                                                      ".ckpt",        ".onnx", ".npz", ".h5",  ".msgpack"};
  const std::string ending = name.extension().string();
  return std::ranges::count(kEndings, ending) > 0 || name.string().ends_with(".index.json");
}

/// Files beside the weights of `source`, without those that are read for them. `deeper` gets what is not copied.
std::vector<std::filesystem::path> files_beside(const ModelFile& source, std::vector<std::string>* deeper) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(source.directory(), error)) {
    const std::filesystem::path name = entry.path().filename();
    const bool is_read = std::ranges::any_of(source.files(), [&](const auto& file) { return file.filename() == name; });
    if (is_read || name == kManifestName || name.string().starts_with('.')) {
      continue;
    }
    if (entry.is_regular_file(error) && !holds_weights(name)) {
      files.push_back(entry.path());
    } else if (deeper != nullptr) {
      deeper->push_back(io::printable(name.string()));
    }
  }
  std::ranges::sort(files);
  return files;
}

/// Whether a file is what a process that was killed left of one: "<name>.<number>.<number>.tmp".
bool is_remnant(const std::string& name) {
  static const RE2 kRemnant(R"((?s).+\.[0-9]+\.[0-9]+\.tmp)", RE2::Latin1);
  return RE2::FullMatch(name, kRemnant);
}

/// The directory that is written, which one process has at a time.
class OwnDirectory {
 public:
  explicit OwnDirectory(const std::filesystem::path& path) : path_(path) {
    if (::mkdir(path_.c_str(), 0777) == 0) {
      made_.emplace(path_);
    } else if (errno != EEXIST) {
      io::refuse("{}: the directory cannot be made: {}", io::printable(path_.string()), std::strerror(errno));
    }
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const std::string problem =
          descriptor_ >= 0 && errno == EWOULDBLOCK ? "another process writes there" : std::strerror(errno);
      keep();  // that process has it now
      close();
      io::refuse("--out {}: {}", io::printable(path_.string()), problem);
    }
  }
  ~OwnDirectory() { close(); }
  OwnDirectory(const OwnDirectory&) = delete;
  OwnDirectory& operator=(const OwnDirectory&) = delete;

  /// Names of what is there, without remnants, which are removed.
  std::set<std::string> names() const {
    std::set<std::string> result;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
      const std::string name = entry.path().filename().string();
      if (is_remnant(name)) {
        std::filesystem::remove(entry.path(), error);
      } else {
        result.insert(name);
      }
    }
    return result;
  }
  /// It stays when the writer ends, since it has something that a second run need not do again.
  void keep() {
    if (made_) {
      made_->keep();
    }
  }

 private:
  void close() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
    descriptor_ = -1;
  }

  std::filesystem::path path_;
  std::optional<io::ScratchFile> made_;
  int descriptor_ = -1;
};

struct FinishedShard {
  std::string source;  ///< its stamp
  std::uint64_t bytes = 0;
  std::string told;
};

class DirectoryWriter : public ModelWriter {
 public:
  DirectoryWriter(const std::filesystem::path& path, const ModelFile& source, std::vector<ModelTensor> tensors,
                  Metadata metadata, std::string task)
      : path_(path),
        source_(source),
        tensors_(std::move(tensors)),
        metadata_(std::move(metadata)),
        task_(std::move(task)),
        directory_(path) {
    if (io::is_same_file(path, source.directory())) {
      io::refuse("--out {}: this directory is read, so it is not written over", shown());
    }
    const std::set<std::string> names = directory_.names();
    if (names.contains(std::string(kManifestName))) {
      read_manifest();
    } else if (!names.empty()) {
      io::refuse("--out {}: exists and is not empty; shards go to a new directory", shown());
    }
    const std::filesystem::path config = source.directory() / kConfigName;
    if (std::error_code error; std::filesystem::exists(config, error)) {
      config_ = io::read_text_file(config, kMaxTextBytes);
      edited_config(config_, io::printable(config.string()), {});  // refuses it before the work
    }
  }

  bool has(const std::string& shard) const override {
    const auto found = finished_.find(shard);
    std::error_code error;
    return found != finished_.end() && found->second.source == stamp_of(source_.directory() / shard) &&
           std::filesystem::file_size(path_ / shard, error) == found->second.bytes && !error;
  }
  std::string told(const std::string& shard) const override { return finished_.at(shard).told; }
  void tell(std::string text) override {
    if (shard_) {
      told_ = std::move(text);
    }
  }

  void add(const io::Tensor& tensor) override {
    skip();
    base::ensure(next_ < tensors_.size() && tensors_[next_].entry.name == tensor.name,
                 "a directory of other tensors than announced");
    const std::string& shard = tensors_[next_].shard;
    if (shard != open_) {
      close();
      open(shard);
    }
    shard_->write(tensor.bytes);
    ++next_;
  }

  void finish(const DirectoryFacts& facts) override {
    close();
    skip();
    base::ensure(next_ == tensors_.size(), "a directory that lacks tensors");
    for (const std::filesystem::path& file : files_beside(source_, nullptr)) {
      if (file.filename() != kConfigName) {
        copy_durably(file, path_ / file.filename());
      }
    }
    if (!config_.empty()) {
      write_durably(path_ / kConfigName, edited_config(config_, std::string(kConfigName), facts));
    }
    if (source_.has_index()) {
      write_index();
    }
    directory_.keep();
  }

 private:
  std::string shown() const { return io::printable(path_.string()); }

  /// Past the tensors of shards that are there.
  void skip() {
    while (next_ < tensors_.size() && tensors_[next_].shard != open_ && has(tensors_[next_].shard)) {
      ++next_;
    }
  }

  void open(const std::string& name) {
    std::vector<io::TensorEntry> own;
    for (const ModelTensor& tensor : tensors_) {
      if (tensor.shard == name) {
        own.push_back(tensor.entry);
      }
    }
    source_stamp_ = stamp_of(source_.directory() / name);
    shard_.emplace(path_ / name);
    shard_->write(io::safetensors_head(own, metadata_));
    open_ = name;
  }

  void close() {
    if (!shard_) {
      return;
    }
    base::ensure(next_ == tensors_.size() || tensors_[next_].shard != open_, "a shard that lacks tensors");
    finished_.erase(open_);
    if (finished_.empty()) {
      write_manifest();  // so that a second run knows the directory
    }
    const std::uint64_t bytes = shard_->size();
    shard_->commit_durably();
    shard_.reset();
    directory_.keep();
    finished_[open_] = {source_stamp_, bytes, std::move(told_)};
    told_.clear();
    open_.clear();
    write_manifest();
  }

  void write_manifest() const {
    Json shards = Json::object();
    for (const auto& [name, shard] : finished_) {
      shards[name] = {{"source", shard.source}, {"bytes", shard.bytes}, {"told", shard.told}};
    }
    write_durably(path_ / kManifestName, text_of({{"schema", kSchema}, {"task", task_}, {"shards", shards}}));
  }

  void read_manifest() {
    const std::filesystem::path path = path_ / kManifestName;
    const std::string file = io::printable(path.string());
    const nlohmann::json document = io::parse_json(io::read_text_file(path, kMaxTextBytes), file);
    const io::JsonObject root(document, {file, ""});
    root.allow_only(std::array<std::string_view, 3>{"schema", "task", "shards"});
    root.require_schema(kSchema);
    if (root.text("task") != task_) {
      io::refuse("--out {}: has shards of another model or of other options; name a new directory", shown());
    }
    const io::JsonObject shards = root.object("shards");
    for (const auto& [name, value] : shards.value().items()) {
      const io::JsonObject shard(value, shards.place() / name);
      shard.allow_only(std::array<std::string_view, 3>{"source", "bytes", "told"});
      finished_[name] = {shard.text("source"),
                         static_cast<std::uint64_t>(shard.integer("bytes", 0, std::int64_t{1} << 53)),
                         shard.text_or("told", "")};
    }
  }

  void write_index() const {
    Json map = Json::object();
    std::uint64_t bytes = 0;
    for (const ModelTensor& tensor : tensors_) {
      map[tensor.entry.name] = tensor.shard;
      bytes += tensor.entry.bytes;
    }
    write_durably(path_ / kIndexName, text_of({{"metadata", {{"total_size", bytes}}}, {"weight_map", map}}));
  }

  std::filesystem::path path_;
  const ModelFile& source_;
  std::vector<ModelTensor> tensors_;
  Metadata metadata_;
  std::string task_;
  OwnDirectory directory_;
  std::map<std::string, FinishedShard> finished_;
  std::string config_;  ///< of the source
  std::size_t next_ = 0;
  std::string open_, source_stamp_, told_;  ///< of the shard that is written
  std::optional<io::OutputFile> shard_;
};

Json sparsity_config(const DirectoryFacts& facts) {
  Json targets = Json::array();
  for (const std::string& name : facts.layers) {
    targets.push_back(workload::layer_of(name));
  }
  const bool dense = facts.layout != WeightLayout::kSparse24Bitmask;
  return {{"format", dense ? "dense" : name(facts.layout)},
          {"global_sparsity", facts.sparsity},
          {"ignore", Json::array()},
          {"registry_requires_subclass", false},
          {"sparsity_structure", facts.structure},
          {"targets", std::move(targets)}};
}

/// Whether `layout` is a format of quantised weights of compressed-tensors.
bool is_format(WeightLayout layout) {
  return layout == WeightLayout::kMarlin24 || layout == WeightLayout::kPackQuantized ||
         layout == WeightLayout::kIntQuantized || layout == WeightLayout::kFloatQuantized ||
         layout == WeightLayout::kNvfp4;
}

}  // namespace

std::unique_ptr<ModelWriter> make_directory_writer(const std::filesystem::path& path, const ModelFile& source,
                                                   std::vector<ModelTensor> tensors, const Metadata& metadata,
                                                   const std::string& task) {
  return std::make_unique<DirectoryWriter>(path, source, std::move(tensors), metadata, task);
}

std::string task_of(const PruneOptions& options, std::string_view command, const ModelFile& source) {
  std::error_code error;
  Json files = Json::object();
  if (!options.permute.empty()) {  // an order of channels is of all shards
    for (const std::filesystem::path& file : source.files()) {
      files[file.filename().string()] = stamp_of(file);
    }
  }
  for (const std::string& file :
       {options.layers, options.exclude, options.include, options.transposed, "@" + options.activations.string()}) {
    if (file.size() > 1 && file.front() == '@') {
      files[file] = stamp_of(file.substr(1));
    }
  }
  const Json task{{"command", command},
                  {"directory", std::filesystem::absolute(source.directory(), error).string()},
                  {"criterion", sparsity::name(options.criterion)},
                  {"pattern", options.pattern ? options.pattern->name() : ""},
                  {"dtype", options.dtype ? numerics::name(*options.dtype) : ""},
                  {"layout", name(options.layout)},
                  {"layers", options.layers},
                  {"exclude", options.exclude},
                  {"include", options.include},
                  {"transposed", options.transposed},
                  {"k_axis", options.k_axis},
                  {"permute", options.permute},
                  {"seed", options.seed},
                  {"files", files}};
  return io::json_text(task);
}

void add_notes_of_output(const ModelFile& source, const std::filesystem::path& out, WeightLayout layout,
                         std::vector<std::string>& notes) {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> left;
  if (is_directory_path(out, source)) {
    files_beside(source, &left);
  }
  if (!left.empty()) {
    std::ranges::sort(left);
    const auto end = left.begin() + static_cast<std::ptrdiff_t>(std::min(kMostNamed, left.size()));
    notes.push_back(fmt::format("not copied from the directory of the model: {}{}", fmt::join(left.begin(), end, ", "),
                                left.size() > kMostNamed ? fmt::format(" and {} more", left.size() - kMostNamed) : ""));
  }
  if (layout == WeightLayout::kSparse24Bitmask || layout == WeightLayout::kMarlin24) {
    notes.push_back(
        fmt::format("compressed-tensors 0.14 reads {}; 0.20 does not, and transformers 5 loads such weights as missing",
                    name(layout)));
  }
}

std::string edited_config(const std::string& text, const std::string& file, const DirectoryFacts& facts) {
  constexpr const char* kQuantization = "quantization_config";
  constexpr const char* kSparsity = "sparsity_config";
  if (!io::parse_json(text, file).is_object()) {
    io::refuse("{}: must be an object", file);
  }
  Json config = Json::parse(text);  // in the order of the file
  const bool is_quantised = config.contains(kQuantization) && !config[kQuantization].is_null();
  if (is_quantised && !config[kQuantization].is_object()) {
    io::refuse("{}: {}: must be an object", file, kQuantization);
  }
  const bool is_ours = is_quantised && config[kQuantization].contains("quant_method") &&
                       config[kQuantization]["quant_method"] == Json(kMethod);
  if (!facts.structure.empty()) {
    // Dense zeros load anywhere; quant_method would ask for the package.
    if (is_ours || (!is_quantised && facts.layout == WeightLayout::kSparse24Bitmask)) {
      config[kQuantization]["quant_method"] = kMethod;
      config[kQuantization][kSparsity] = sparsity_config(facts);
      config.erase(std::string(kSparsity));
    } else {
      config[kSparsity] = sparsity_config(facts);
    }
  }
  if (is_ours && (is_format(facts.layout) || facts.unpacks)) {
    const auto format = name(facts.unpacks ? WeightLayout::kIntQuantized : facts.layout);
    Json& quantization = config[kQuantization];
    quantization["format"] = format;
    if (quantization.contains("config_groups") && quantization["config_groups"].is_object()) {
      for (auto& [group, scheme] : quantization["config_groups"].items()) {
        if (scheme.is_object() && scheme.contains("format")) {
          scheme["format"] = format;
        }
      }
    }
  }
  return text_of(config);
}

}  // namespace sptc::prune
