// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/conversion.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/prune/layer_choice.h"
#include "sim/prune/model_writer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace sptc::prune {
namespace {

/// A layer that is to change its form: of one dense tensor, or of two.
struct ConvertedLayer {
  std::string name;
  CompressedForm from, to;
  std::optional<ChosenLayer> dense;
};

/// The element type in which a dense layer of `type` is written.
std::string_view dense_dtype(numerics::DataType type) {
  return type == numerics::DataType::kS4 ? "I8" : stored_dtype(type);
}

class Conversion {
 public:
  Conversion(const std::filesystem::path& model, const PruneOptions& options)
      : options_(options), model_(ModelFile::open(model)) {
    const auto forms = model_->metadata().find(std::string(kFormsKey));
    if (forms != model_->metadata().end()) {
      find_compressed(forms->second);
    } else {
      find_dense();
    }
  }

  ConversionReport run(const std::filesystem::path& out) {
    const auto writer = make_writer_of(out);
    for (std::size_t i = 0; i < model_->tensors().size(); ++i) {
      const auto layer = layers_.find(i);
      if (layer != layers_.end()) {
        for (const io::Tensor& tensor : converted(layer->second)) {
          writer->add(tensor);
        }
      } else if (!parts_.contains(i)) {
        writer->add(read_tensor(*model_, i));
        ++report_.other_tensors;
      }
    }
    writer->finish();
    report_.model = model_->shown();
    report_.out = io::printable(out.string());
    report_.layout = options_.layout;
    report_.layers = static_cast<std::int64_t>(layers_.size());
    return report_;
  }

 private:
  void find_compressed(const std::string& forms) {
    const std::string place = model_->shown() + ": __metadata__: " + std::string(kFormsKey);
    const nlohmann::json document = io::parse_json(forms, place);
    if (!document.is_object()) {
      throw base::InputError(place + ": must be an object");
    }
    for (const auto& [name, value] : document.items()) {
      ConvertedLayer layer{name, form_of(value, place, name), {}, {}};
      layer.to = layer.from;
      layer.to.layout = options_.layout;
      parts_.insert(model_->find(metadata_name(name)));
      layers_.emplace(model_->find(values_name(name)), std::move(layer));
    }
  }

  void find_dense() {
    if (options_.layout == WeightLayout::kDense) {
      throw base::InputError(model_->shown() +
                             ": holds no compressed layer, so it is dense already");
    }
    for (const ChosenLayer& layer : choose_layers(*model_, options_).layers) {
      if (layer.skipped.empty()) {
        const CompressedForm form = form_of_layer(layer, options_);
        layers_.emplace(layer.tensor, ConvertedLayer{model_->tensors()[layer.tensor].entry.name,
                                                     form, form, layer});
      }
    }
  }

  std::vector<io::TensorEntry> entries_of(const ConvertedLayer& layer) const {
    if (options_.layout != WeightLayout::kDense) {
      const auto pair = compressed_entries(layer.name, layer.to);
      return {pair.begin(), pair.end()};
    }
    io::TensorEntry entry{
        layer.name, std::string(dense_dtype(layer.to.type)), {layer.to.rows, layer.to.k}, 0, 0};
    if (layer.to.k_first) {
      std::swap(entry.shape[0], entry.shape[1]);
    }
    entry.bytes = static_cast<std::uint64_t>(
        io::packed_bytes(entry.shape, io::find_element_type(entry.dtype)->bytes).value());
    return {entry};
  }

  std::unique_ptr<ModelWriter> make_writer_of(const std::filesystem::path& out) const {
    require_model_path(out, *model_);
    if (out.extension() == ".onnx" || out.extension() == ".npy") {
      throw base::InputError(fmt::format("--out {}: its ending must be .safetensors or .npz",
                                         io::printable(out.string())));
    }
    std::vector<ModelTensor> tensors;
    nlohmann::ordered_json forms = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < model_->tensors().size(); ++i) {
      const auto layer = layers_.find(i);
      if (layer == layers_.end()) {
        if (!parts_.contains(i)) {
          tensors.push_back(model_->tensors()[i]);
        }
        continue;
      }
      forms[layer->second.name] = json_of(layer->second.to);
      for (const io::TensorEntry& entry : entries_of(layer->second)) {
        tensors.push_back({entry, model_->tensors()[i].shard});
      }
    }
    std::map<std::string, std::string> metadata = model_->metadata();
    metadata.erase(std::string(kFormsKey));
    if (options_.layout != WeightLayout::kDense) {
      metadata[std::string(kFormsKey)] =
          forms.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    }
    return make_writer(out, *model_, std::move(tensors), metadata);
  }

  sparsity::CompressedMatrix matrix_of(const ConvertedLayer& layer) const {
    if (!layer.dense) {
      return compressed_matrix(read_tensor(*model_, model_->find(values_name(layer.name))),
                               read_tensor(*model_, model_->find(metadata_name(layer.name))),
                               layer.from);
    }
    const io::Tensor tensor = read_tensor(*model_, layer.dense->tensor);
    load_weights(tensor, layer.dense->type, layer.dense->layout);  // refuses NaN
    try {
      return sparsity::compress(
          words_of_layer(tensor, layer.dense->type, layer.dense->layout, layer.to.type),
          layer.to.type);
    } catch (const base::InputError& error) {
      throw base::InputError(fmt::format("{}: layer '{}': {}; prune makes it so", model_->shown(),
                                         io::printable(layer.name), error.what()));
    }
  }

  std::vector<io::Tensor> converted(const ConvertedLayer& layer) const {
    const sparsity::CompressedMatrix matrix = matrix_of(layer);
    if (options_.layout != WeightLayout::kDense) {
      auto pair = compressed_tensors(layer.name, matrix, layer.to);
      return {std::move(pair[0]), std::move(pair[1])};
    }
    const io::TensorEntry entry = entries_of(layer)[0];
    base::Matrix<numerics::Word> dense = sparsity::decompress(matrix);
    dense = layer.to.k_first ? dense.transposed() : std::move(dense);
    const bool is_s4 = layer.to.type == numerics::DataType::kS4;
    for (std::size_t i = 0; is_s4 && i < dense.size(); ++i) {
      numerics::Word& word = dense.data()[i];
      word = static_cast<numerics::Word>(numerics::to_integer(word, layer.to.type));
    }
    return {tensor_of_words(entry, dense)};
  }

  const PruneOptions& options_;
  std::unique_ptr<ModelFile> model_;
  std::map<std::size_t, ConvertedLayer> layers_;  ///< by the tensor that comes first
  std::set<std::size_t> parts_;                   ///< tensors of metadata
  ConversionReport report_;
};

}  // namespace

ConversionReport convert_model(const std::filesystem::path& model, const std::filesystem::path& out,
                               const PruneOptions& options) {
  return Conversion(model, options).run(out);
}

std::string conversion_text(const ConversionReport& report) {
  return fmt::format("{}: {} layers written as {} to {}, {} other tensors copied\n", report.model,
                     report.layers, name(report.layout), report.out, report.other_tensors);
}

std::string conversion_json(const ConversionReport& report) {
  const nlohmann::ordered_json root{{"schema", "sptcsim-convert/0.1"},
                                    {"model", report.model},
                                    {"out", report.out},
                                    {"layout", name(report.layout)},
                                    {"layers", report.layers},
                                    {"other_tensors", report.other_tensors}};
  return root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace sptc::prune
