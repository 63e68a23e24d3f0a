// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/conversion.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "sim/io/json_reader.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"
#include "sim/prune/bitmask_layer.h"
#include "sim/prune/checkpoint_layer.h"
#include "sim/prune/layer.h"
#include "sim/prune/layer_choice.h"
#include "sim/prune/model_directory.h"
#include "sim/prune/model_writer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace sptc::prune {
namespace {

using numerics::DataType;

/// A layer that is to change its form: of tensors of its own, or of a dense one.
struct ConvertedLayer {
  std::string name;
  CompressedForm to;
  std::optional<CheckpointWeight> stored;
  std::optional<ChosenLayer> dense;
  std::optional<std::size_t> scale;  ///< the tensor with it, for marlin-24
};

/// Whether the layout holds weights that were quantised before, of 2:4 or not.
bool is_quantised(WeightLayout layout) {
  return !is_pair(layout) && layout != WeightLayout::kDense && layout != WeightLayout::kSparse24Bitmask;
}

/// `scale` of `rows` as F16 [rows, groups]. Throws InputError where F16 does not hold it.
io::Tensor half_scale(io::Tensor scale, std::int64_t rows) {
  const auto refuse = [&](const std::string& problem) {
    io::refuse("tensor '{}': {}", io::printable(scale.name), problem);
  };
  if (io::find_element_type(scale.dtype) == nullptr || scale.shape.empty() || scale.shape[0] != rows ||
      scale.shape.size() > 2 || scale.elements() == 0) {
    refuse("marlin-24 needs a scale for each row");
  }
  if (scale.dtype == "F16") {
    return scale;
  }
  const std::vector<double> values = io::as_doubles(scale);
  std::vector<std::byte> bytes(2 * values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const numerics::Word word = numerics::from_double(values[i], DataType::kF16);
    if (numerics::to_double(word, DataType::kF16) != values[i]) {
      refuse(fmt::format("marlin-24 holds scales of F16, and element {} of {} is {}, which F16 does not hold", i,
                         io::printable(scale.dtype), values[i]));
    }
    std::memcpy(bytes.data() + 2 * i, &word, 2);
  }
  scale.dtype = "F16";
  scale.bytes = std::move(bytes);
  return scale;
}

class Conversion {
 public:
  Conversion(const std::filesystem::path& model, const PruneOptions& options)
      : options_(options), model_(ModelFile::open(model)) {
    find_pairs();
    CheckpointWeights stored = checkpoint_weights(*model_);
    report_.notes = std::move(stored.notes);
    for (CheckpointWeight& weight : stored.weights) {
      add_stored(std::move(weight));
    }
    if (layers_.empty()) {
      find_dense();
    }
  }

  ConversionReport run(const std::filesystem::path& out) {
    const auto writer = make_writer_of(out);
    for (std::size_t i = 0; i < model_->tensors().size(); ++i) {
      const bool written = writer->has(model_->tensors()[i].shard);
      const auto layer = layers_.find(i);
      if (layer != layers_.end()) {
        for (const io::Tensor& tensor : written ? std::vector<io::Tensor>() : converted(layer->second)) {
          writer->add(tensor);
        }
      } else if (!parts_.contains(i)) {
        ++report_.other_tensors;
        if (!written) {
          writer->add(other(i));
        }
      }
    }
    writer->finish(facts());
    add_notes_of_output(*model_, out, options_.layout, report_.notes);
    report_.model = model_->shown();
    report_.out = io::printable(out.string());
    report_.layout = options_.layout;
    report_.layers = static_cast<std::int64_t>(layers_.size());
    return report_;
  }

 private:
  void find_pairs() {
    const auto forms = model_->metadata().find(std::string(kFormsKey));
    if (forms == model_->metadata().end()) {
      return;
    }
    const std::string place = model_->shown() + ": __metadata__: " + std::string(kFormsKey);
    const nlohmann::json document = io::parse_json(forms->second, place);
    if (!document.is_object()) {
      io::refuse("{}: must be an object", place);
    }
    for (const auto& [name, value] : document.items()) {
      add_stored({name,
                  form_of(value, place, name),
                  {model_->find(name + kValuesEnding), model_->find(name + kMetadataEnding)}});
    }
  }

  void add_stored(CheckpointWeight weight) {
    ConvertedLayer layer;
    layer.name = weight.name;
    layer.to = weight.form;
    if (options_.dtype && *options_.dtype != weight.form.type &&
        !(*options_.dtype == DataType::kS4 && is_quantised(options_.layout))) {
      io::refuse("weight '{}' is stored as {}, which is not rounded to {}", io::printable(weight.name),
                 numerics::name(weight.form.type), numerics::name(*options_.dtype));
    }
    for (const std::size_t part : weight.parts) {
      parts_.insert(part);
    }
    const std::size_t first = weight.parts.front();
    invert_scales(weight);
    layer.stored = std::move(weight);
    add(first, std::move(layer));
  }

  void add(std::size_t first, ConvertedLayer layer) {
    layer.to.layout = options_.layout;
    if (options_.dtype == DataType::kS4 && is_quantised(options_.layout)) {
      layer.to.bits = 4;
    }
    if (is_quantised(options_.layout)) {
      layer.to.bits = is_nvfp4(options_.layout) ? 4 : layer.to.bits;
      find_scale(layer);
    }
    if (!layers_.emplace(first, std::move(layer)).second) {
      io::refuse("{}: tensor '{}' belongs to two weights", model_->shown(),
                 io::printable(model_->tensors()[first].entry.name));
    }
  }

  /// The scales that a quantised weight has beside it.
  void find_scale(ConvertedLayer& layer) {
    const bool has_one = layer.stored && layer.stored->form.layout == WeightLayout::kMarlin24;
    if (has_one) {
      return;
    }
    const std::string of = layer_of_weight(layer.name, options_.layout);
    const auto scale = model_->place_of(of + ".weight_scale");
    if (!scale) {
      io::refuse("{}: {} needs '{}.weight_scale', which is not there", model_->shown(), name(options_.layout),
                 io::printable(of));
    }
    if (options_.layout != WeightLayout::kMarlin24) {
      return;
    }
    if (model_->place_of(of + ".weight_g_idx") || model_->place_of(of + ".weight_zero_point")) {
      io::refuse("{}: layer '{}': marlin-24 holds no zero points and no order of groups", model_->shown(),
                 io::printable(of));
    }
    const std::vector<std::int64_t>& shape = model_->tensors()[*scale].entry.shape;
    layer.scale = scale;
    layer.to.scale_groups = shape.size() > 1 ? shape[1] : 1;
    parts_.insert(*scale);
  }

  /// compressed-tensors multiplies with 1 / global_scale, Model Optimizer with weight_scale_2.
  void invert_scales(const CheckpointWeight& weight) {
    const WeightLayout from = weight.form.layout;
    if (!is_nvfp4(from) || !is_nvfp4(options_.layout) || from == options_.layout) {
      return;
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kNames{
        {{".weight_global_scale", ".weight_scale_2"}, {".input_global_scale", ".input_scale"}}};
    const std::string layer = layer_of_weight(weight.name, from);
    for (const auto& [compressed, optimizer] : kNames) {
      const bool is_compressed = from == WeightLayout::kNvfp4;
      if (const auto place = model_->place_of(layer + std::string(is_compressed ? compressed : optimizer))) {
        inverted_[*place] = layer + std::string(is_compressed ? optimizer : compressed);
      }
    }
  }

  void find_dense() {
    if (options_.layout == WeightLayout::kDense) {
      io::refuse("{}: holds no compressed layer{}", model_->shown(),
                 report_.notes.empty() ? ", so it is dense already" : ": " + report_.notes.front());
    }
    PruneOptions options = options_;
    if (is_quantised(options.layout)) {
      options.layout = WeightLayout::kDense;
      options.dtype.reset();
    }
    for (const ChosenLayer& layer : choose_layers(*model_, options).layers) {
      const bool of_other_type =
          is_quantised(options_.layout) && layer.type != DataType::kS8 && layer.type != DataType::kE4m3;
      if (layer.skipped.empty() && !of_other_type) {
        ConvertedLayer converted;
        converted.name = model_->tensors()[layer.tensor].entry.name;
        converted.to = form_of_layer(layer, options);
        converted.dense = layer;
        add(layer.tensor, std::move(converted));
      }
    }
    if (layers_.empty()) {
      io::refuse("{}: has no quantised weights, which {} holds, and sptcsim quantises none", model_->shown(),
                 name(options_.layout));
    }
  }

  std::vector<io::TensorEntry> entries_of(const ConvertedLayer& layer) const {
    std::vector<io::TensorEntry> entries = stored_entries(layer.name, layer.to);
    if (keeps_scale(layer)) {
      entries.push_back(entry_of(layer.name + "_scale", "F16", {layer.to.rows, layer.stored->form.scale_groups}));
    }
    return entries;
  }

  /// Whether the scale leaves marlin-24 for a tensor of its own.
  bool keeps_scale(const ConvertedLayer& layer) const {
    return layer.stored && layer.stored->form.layout == WeightLayout::kMarlin24 &&
           options_.layout != WeightLayout::kMarlin24;
  }

  std::unique_ptr<ModelWriter> make_writer_of(const std::filesystem::path& out) const {
    require_model_path(out, *model_);
    if (out.extension() == ".onnx" || out.extension() == ".npy") {
      io::refuse("--out {}: its ending must be .safetensors or .npz", io::printable(out.string()));
    }
    std::vector<ModelTensor> tensors;
    nlohmann::ordered_json forms = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < model_->tensors().size(); ++i) {
      const ModelTensor& tensor = model_->tensors()[i];
      const auto layer = layers_.find(i);
      if (layer == layers_.end()) {
        if (!parts_.contains(i)) {
          tensors.push_back(tensor);
          if (const auto inverted = inverted_.find(i); inverted != inverted_.end()) {
            tensors.back().entry.name = inverted->second;
          }
        }
        continue;
      }
      forms[layer->second.name] = json_of(layer->second.to);
      for (const io::TensorEntry& entry : entries_of(layer->second)) {
        tensors.push_back({entry, tensor.shard});
      }
    }
    std::map<std::string, std::string> metadata = model_->metadata();
    metadata.erase(std::string(kFormsKey));
    if (is_pair(options_.layout)) {
      metadata[std::string(kFormsKey)] = io::json_text(forms);
    }
    return make_writer(out, *model_, std::move(tensors), metadata,
                       is_directory_path(out, *model_) ? task_of(options_, "convert", *model_) : std::string());
  }

  WeightMatrix matrix_of(const ConvertedLayer& layer) const {
    WeightMatrix weight;
    if (layer.stored) {
      weight = read_weight(*model_, *layer.stored);
    } else {
      const io::Tensor tensor = read_tensor(*model_, layer.dense->tensor);
      load_weights(tensor, layer.dense->type, layer.dense->layout);  // refuses NaN
      weight.words = words_of_layer(tensor, layer.dense->type, layer.dense->layout, layer.to.type);
    }
    if (layer.scale) {
      weight.scale = half_scale(read_tensor(*model_, *layer.scale), layer.to.rows);
    }
    return weight;
  }

  std::vector<io::Tensor> converted(const ConvertedLayer& layer) const {
    WeightMatrix weight = matrix_of(layer);
    std::optional<io::Tensor> scale;
    if (keeps_scale(layer)) {
      scale = std::move(weight.scale);
    }
    try {
      std::vector<io::Tensor> tensors = stored_tensors(layer.name, std::move(weight), layer.to);
      if (scale) {
        tensors.push_back(std::move(*scale));
      }
      return tensors;
    } catch (const base::InputError& error) {
      io::refuse("{}: layer '{}': {}{}", model_->shown(), io::printable(layer.name), error.what(),
                 layer.dense && !is_quantised(options_.layout) ? "; prune makes it so" : "");
    }
  }

  /// A tensor that is no weight of ours.
  io::Tensor other(std::size_t i) const {
    io::Tensor tensor = read_tensor(*model_, i);
    const auto inverted = inverted_.find(i);
    if (inverted == inverted_.end()) {
      return tensor;
    }
    if (tensor.dtype != "F32") {
      io::refuse("tensor '{}': must be F32", io::printable(tensor.name));
    }
    tensor.name = inverted->second;
    for (std::size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, tensor.bytes.data() + at, sizeof value);
      value = 1 / value;
      std::memcpy(tensor.bytes.data() + at, &value, sizeof value);
    }
    return tensor;
  }

  /// Whether the weight was 2:4 before, or must be for the layout that it gets.
  bool is_sparse(const ConvertedLayer& layer) const {
    const auto holds = [](WeightLayout layout) {
      return is_pair(layout) || layout == WeightLayout::kSparse24Bitmask || layout == WeightLayout::kMarlin24;
    };
    return holds(options_.layout) || (layer.stored && holds(layer.stored->form.layout));
  }

  /// Whether `layer` was packed, and the result has its codes one by one.
  bool unpacks(const ConvertedLayer& layer) const {
    const bool in_bytes = options_.layout == WeightLayout::kDense || options_.layout == WeightLayout::kSparse24Bitmask;
    const WeightLayout from = layer.stored ? layer.stored->form.layout : options_.layout;
    return in_bytes && (from == WeightLayout::kPackQuantized || from == WeightLayout::kMarlin24);
  }

  /// What the configuration of a directory says. Values and metadata of ours it cannot.
  DirectoryFacts facts() const {
    DirectoryFacts result;
    result.layout = options_.layout;
    double all = 0, zeros = 0;
    for (std::size_t i = 0; i < model_->tensors().size(); ++i) {
      const bool is_part = layers_.contains(i) || parts_.contains(i);
      all += is_part ? 0 : static_cast<double>(io::packed_bytes(model_->tensors()[i].entry.shape, 1).value_or(0));
    }
    for (const auto& row : layers_) {
      const ConvertedLayer& layer = row.second;
      const double elements = static_cast<double>(layer.to.rows) * static_cast<double>(layer.to.k);
      all += elements;
      result.unpacks = result.unpacks || unpacks(layer);
      if (is_sparse(layer)) {
        zeros += elements / 2;
        result.layers.push_back(layer.name);
      }
    }
    const bool says = options_.layout == WeightLayout::kDense || options_.layout == WeightLayout::kSparse24Bitmask ||
                      options_.layout == WeightLayout::kIntQuantized ||
                      options_.layout == WeightLayout::kFloatQuantized;
    result.structure = says && !result.layers.empty() ? "2:4" : "";
    result.sparsity = all > 0 ? zeros / all : 0;
    return result;
  }

  const PruneOptions& options_;
  std::unique_ptr<ModelFile> model_;
  std::map<std::size_t, ConvertedLayer> layers_;  ///< by the tensor that comes first
  std::set<std::size_t> parts_;                   ///< tensors that the layers stand in
  /// Scales of which another checkpoint has the inverse, under this name; by tensor.
  std::map<std::size_t, std::string> inverted_;
  ConversionReport report_;
};

}  // namespace

ConversionReport convert_model(const std::filesystem::path& model, const std::filesystem::path& out,
                               const PruneOptions& options) {
  return Conversion(model, options).run(out);
}

std::string conversion_text(const ConversionReport& report) {
  std::string text = fmt::format("{}: {} layers written as {} to {}, {} other tensors copied\n", report.model,
                                 report.layers, name(report.layout), report.out, report.other_tensors);
  for (const std::string& note : report.notes) {
    text += "note: " + note + "\n";
  }
  return text;
}

std::string conversion_json(const ConversionReport& report) {
  const nlohmann::ordered_json root{{"schema", "sptcsim-convert/0.1"},
                                    {"model", report.model},
                                    {"out", report.out},
                                    {"layout", name(report.layout)},
                                    {"layers", report.layers},
                                    {"other_tensors", report.other_tensors},
                                    {"notes", report.notes}};
  return io::json_text(root, 2) + "\n";
}

}  // namespace sptc::prune
