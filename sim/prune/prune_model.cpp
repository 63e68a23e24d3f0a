// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/prune_model.h"

#include "sim/io/file_use.h"
#include "sim/io/json_reader.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"
#include "sim/prune/calibration.h"
#include "sim/prune/channel_permutation.h"
#include "sim/prune/layer_choice.h"
#include "sim/prune/model_directory.h"
#include "sim/prune/model_file.h"
#include "sim/prune/model_writer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

namespace sptc::prune {
namespace {

using sparsity::Criterion;
using sparsity::Mask;

void tell(const base::Matrix<float>& weights, const Mask& mask, LayerReport& report) {
  report.zeros_before = report.zeros_after = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const bool is_zero = weights.data()[i] == 0;
    report.zeros_before += is_zero;
    report.zeros_after += is_zero || mask.data()[i] == 0;
  }
  report.kept = sparsity::kept_share(weights, mask);
}

class Pruning {
 public:
  Pruning(const std::filesystem::path& model, const PruneOptions& options)
      : options_(options),
        pattern_(pattern_of(options)),
        model_(ModelFile::open(model)),
        calibration_(options.activations) {
    LayerChoice choice = choose_layers(*model_, options);
    for (ChosenLayer& layer : choice.layers) {
      layers_.emplace(layer.tensor, std::move(layer));
    }
    report_.notes = std::move(choice.notes);
    permutation_ = plan_permutation(*model_, layers_, options);
    report_.notes.insert(report_.notes.end(), permutation_.notes.begin(), permutation_.notes.end());
    report_.model = model_->shown();
    report_.pattern = pattern_;
    report_.criterion = options.criterion;
    report_.layout = options.layout;
  }

  PruneReport run(const std::filesystem::path& out, const std::filesystem::path& masks) {
    open(out, masks);
    for (std::size_t i = 0; i < model_->tensors().size(); ++i) {
      begin_shard(i);
      const auto layer = layers_.find(i);
      if (layer == layers_.end()) {
        ++report_.other_tensors;
        copy(i);
      } else if (!layer->second.skipped.empty()) {
        report_.layers.push_back(described(layer->second));
        report_.layers.back().skipped = layer->second.skipped;
        copy(i);
      } else if (is_written_ && !masks_) {
        report_.layers.push_back(told(layer->second));
      } else {
        prune(layer->second);
      }
      end_shard(i);
    }
    require_effect(out);
    if (writer_) {
      writer_->finish(facts());
    }
    if (masks_) {
      masks_->finish({});
    }
    return std::move(report_);
  }

 private:
  const std::string& shard_of(std::size_t tensor) const { return model_->tensors()[tensor].shard; }

  /// Whether the shard of the tensor stands already, of a run before, and what was told of it.
  void begin_shard(std::size_t tensor) {
    if (tensor > 0 && shard_of(tensor) == shard_of(tensor - 1)) {
      return;
    }
    is_written_ = writer_ && writer_->has(shard_of(tensor));
    told_ = nlohmann::json::object();
    if (is_written_) {
      const std::string place = fmt::format("{}: {}", kManifestName, io::printable(shard_of(tensor)));
      told_ = io::parse_json(writer_->told(shard_of(tensor)), place);
    }
    tell_ = nlohmann::ordered_json::object();
  }

  void end_shard(std::size_t tensor) {
    const bool is_last = tensor + 1 == model_->tensors().size() || shard_of(tensor + 1) != shard_of(tensor);
    if (is_last && writer_ && !is_written_) {
      writer_->tell(io::json_text(tell_));
    }
  }

  /// A layer of a shard that stands already.
  LayerReport told(const ChosenLayer& layer) const {
    LayerReport report = described(layer);
    const io::JsonPlace place{std::string(kManifestName), ""};
    const io::JsonObject all(told_, place);
    const io::JsonObject one = all.object(std::to_string(layer.tensor));
    constexpr std::int64_t kMost = std::int64_t{1} << 53;
    const auto number = [&](std::string_view key) {
      const nlohmann::json& value = one.require(key);
      if (!value.is_number()) {
        (one.place() / key).fail("must be a number");
      }
      return value.get<double>();
    };
    report.was_sparse = one.boolean_or("was_sparse", false);
    report.zeros_before = one.integer("zeros_before", 0, kMost);
    report.zeros_after = one.integer("zeros_after", 0, kMost);
    report.kept.energy = number("energy");
    report.kept.magnitude = number("magnitude");
    if (one.has("error")) {
      report.output_error = number("error");
      report.output_norm = number("norm");
    }
    report.permutation = permutation_.report(layer.tensor);
    return report;
  }

  void keep(std::size_t tensor, const LayerReport& report) {
    nlohmann::ordered_json& entry = tell_[std::to_string(tensor)];
    entry = {{"was_sparse", report.was_sparse},
             {"zeros_before", report.zeros_before},
             {"zeros_after", report.zeros_after},
             {"energy", report.kept.energy},
             {"magnitude", report.kept.magnitude}};
    if (report.output_error) {
      entry["error"] = *report.output_error;
      entry["norm"] = report.output_norm;
    }
  }

  /// What the configuration of a directory says. Values and metadata of ours it cannot.
  DirectoryFacts facts() const {
    DirectoryFacts result;
    result.layout = options_.layout;
    result.structure = is_pair(options_.layout) ? "" : pattern_.name();
    double all = 0, zeros = 0;
    for (const ModelTensor& tensor : model_->tensors()) {
      all += static_cast<double>(io::packed_bytes(tensor.entry.shape, 1).value_or(0));
    }
    for (const LayerReport& layer : report_.layers) {
      if (layer.skipped.empty()) {
        result.layers.push_back(layer.name);
        zeros += static_cast<double>(layer.zeros_after);
      }
    }
    result.sparsity = all > 0 ? zeros / all : 0;
    return result;
  }

  bool is_pruned(std::size_t tensor) const {
    const auto layer = layers_.find(tensor);
    return layer != layers_.end() && layer->second.skipped.empty();
  }

  /// The writers, for the tensors that there will be.
  void open(const std::filesystem::path& out, const std::filesystem::path& masks) {
    std::vector<ModelTensor> tensors, mask_tensors;
    nlohmann::ordered_json forms = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < model_->tensors().size(); ++i) {
      const ModelTensor& tensor = model_->tensors()[i];
      if (is_pruned(i)) {
        io::TensorEntry mask{tensor.entry.name, "BOOL", tensor.entry.shape, 0, 0};
        mask.bytes = static_cast<std::uint64_t>(io::packed_bytes(mask.shape, 1).value());
        mask_tensors.push_back({mask, ""});
      }
      if (options_.layout == WeightLayout::kDense || !is_pruned(i)) {
        tensors.push_back(tensor);
        continue;
      }
      const CompressedForm form = form_of_layer(layers_.at(i), options_);
      forms[tensor.entry.name] = json_of(form);
      for (const io::TensorEntry& entry : compressed_entries(tensor.entry.name, form)) {
        tensors.push_back({entry, tensor.shard});
      }
    }
    if (!out.empty()) {
      require_model_path(out, *model_);
      add_notes_of_output(*model_, out, options_.layout, report_.notes);
      require_other_file("--out", out, calibration_.files());
      const bool dense = options_.layout == WeightLayout::kDense;
      if (!dense && (out.extension() == ".onnx" || out.extension() == ".npy")) {
        io::refuse("--out {}: compressed weights are written to .safetensors or .npz", io::printable(out.string()));
      }
      std::map<std::string, std::string> metadata = model_->metadata();
      if (is_pair(options_.layout)) {
        metadata[std::string(kFormsKey)] = io::json_text(forms);
      }
      writer_ = make_writer(out, *model_, std::move(tensors), metadata,
                            is_directory_path(out, *model_) ? task_of(options_, "prune", *model_) : std::string());
      report_.out = io::printable(out.string());
    }
    if (!masks.empty()) {
      if (masks.extension() != ".safetensors" && masks.extension() != ".npz") {
        io::refuse("--masks {}: its ending must be .safetensors or .npz", io::printable(masks.string()));
      }
      require_other_file("--masks", masks, model_->files());
      require_other_file("--masks", masks, calibration_.files());
      if (io::is_same_file(masks, out)) {
        io::refuse("--masks and --out name the same file");
      }
      masks_ = make_writer(masks, *model_, std::move(mask_tensors), {});
    }
  }

  void copy(std::size_t tensor) {
    if (writer_ && !is_written_) {
      writer_->add(permutation_.read(*model_, tensor));
    }
  }

  LayerReport described(const ChosenLayer& layer) const {
    LayerReport report;
    report.name = layer.name;
    report.dtype = layer.packed ? model_->tensors()[layer.tensor].entry.dtype : std::string(numerics::name(layer.type));
    report.rows = layer.layout.stacked ? layer.layout.matrix_rows() : layer.layout.rows;
    report.taps = layer.layout.stacked ? 1 : layer.layout.taps;
    report.k = layer.layout.k;
    return report;
  }

  void prune(const ChosenLayer& layer) {
    io::Tensor tensor = permutation_.read(*model_, layer.tensor);
    io::Tensor mask{tensor.name, "BOOL", tensor.shape, {}};
    mask.bytes.resize(masks_ ? static_cast<std::size_t>(tensor.elements()) : 0);
    const base::Matrix<float>* const inputs = calibration_.inputs(
        tensor.name, layer.layout, options_.criterion != Criterion::kMagnitude, permutation_.order_of_k(layer.tensor));
    LayerReport report = described(layer);
    report.permutation = permutation_.report(layer.tensor);
    prune(layer, inputs, tensor, mask, report);
    report.was_sparse = report.zeros_after == report.zeros_before;
    keep(layer.tensor, report);
    report_.layers.push_back(std::move(report));
    write(layer, tensor, mask);
  }

  /// Prunes by magnitude where there are no `inputs`.
  void prune(const ChosenLayer& layer, const base::Matrix<float>* inputs, io::Tensor& tensor, io::Tensor& mask,
             LayerReport& report) const {
    const base::Matrix<float> weights = load_weights(tensor, layer.type, layer.layout);
    Mask chosen;
    if (options_.criterion == Criterion::kSparseGpt) {
      sparsity::PrunedWeights result = sparsity::prune_by_sparse_gpt(weights, *inputs, pattern_);
      chosen = std::move(result.mask);
      store_weights(result.weights, layer.layout, tensor, layer.type);
    } else {
      chosen = sparsity::select(options_.criterion == Criterion::kWanda ? sparsity::wanda_scores(weights, *inputs)
                                                                        : sparsity::magnitudes(weights),
                                pattern_);
      apply_mask(chosen, layer.layout, layer.type, tensor.bytes);
    }
    tell(weights, chosen, report);
    if (!mask.bytes.empty()) {
      store_mask(chosen, layer.layout, mask.bytes);
    }
    if (inputs != nullptr) {
      const sparsity::OutputChange change =
          sparsity::output_change(weights, load_weights(tensor, layer.type, layer.layout), *inputs);
      report.output_error = change.relative();
      report.output_norm = change.whole;
    }
  }

  void write(const ChosenLayer& layer, const io::Tensor& tensor, const io::Tensor& mask) {
    if (masks_) {
      masks_->add(mask);
    }
    if (!writer_ || is_written_) {
      return;
    }
    if (options_.layout == WeightLayout::kDense) {
      writer_->add(tensor);
    } else {
      const CompressedForm form = form_of_layer(layer, options_);
      const sparsity::CompressedMatrix matrix =
          compress_layer(words_of_layer(tensor, layer.type, layer.layout, form.type), form);
      for (const io::Tensor& part : compressed_tensors(tensor.name, matrix, form)) {
        writer_->add(part);
      }
    }
  }

  /// A model that has the pattern everywhere comes out as it went in, but for a configuration.
  void require_effect(const std::filesystem::path& out) const {
    const bool any = std::ranges::any_of(
        report_.layers, [](const LayerReport& layer) { return layer.skipped.empty() && !layer.was_sparse; });
    if (!any && permutation_.axes.empty() && writer_ && options_.layout == WeightLayout::kDense &&
        !is_directory_path(out, *model_)) {
      io::refuse("{}: its layers are {} already, so there is nothing to prune", model_->shown(), pattern_.name());
    }
  }

  const PruneOptions& options_;
  sparsity::WeightPattern pattern_;
  std::unique_ptr<ModelFile> model_;
  Calibration calibration_;
  std::map<std::size_t, ChosenLayer> layers_;  ///< by tensor
  ChannelPermutation permutation_;
  std::unique_ptr<ModelWriter> writer_, masks_;
  bool is_written_ = false;      ///< the shard of the tensor that is looked at
  nlohmann::json told_;          ///< of its layers, where it is
  nlohmann::ordered_json tell_;  ///< else: of its layers, for a later run
  PruneReport report_;
};

}  // namespace

double LayerReport::error() const {
  return output_error.value_or(std::sqrt(std::max(0.0, 1 - kept.energy)));
}

std::int64_t PruneReport::pruned_layers() const {
  return std::ranges::count_if(layers, [](const LayerReport& layer) { return layer.skipped.empty(); });
}

std::int64_t PruneReport::pruned_weights() const {
  std::int64_t weights = 0;
  for (const LayerReport& layer : layers) {
    weights += layer.skipped.empty() ? layer.weights() : 0;
  }
  return weights;
}

PruneReport prune_model(const std::filesystem::path& model, const std::filesystem::path& out,
                        const std::filesystem::path& masks, const PruneOptions& options) {
  const bool calibrated = options.criterion != Criterion::kMagnitude;
  if (calibrated && options.activations.empty()) {
    io::refuse("the criterion {} needs --activations, the inputs of the layers", sparsity::name(options.criterion));
  }
  return Pruning(model, options).run(out, masks);
}

}  // namespace sptc::prune
