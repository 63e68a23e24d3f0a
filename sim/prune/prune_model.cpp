// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/prune_model.h"

#include "models/base/error.h"
#include "sim/io/file_use.h"
#include "sim/io/text_file.h"
#include "sim/prune/calibration.h"
#include "sim/prune/channel_permutation.h"
#include "sim/prune/layer_choice.h"
#include "sim/prune/model_file.h"
#include "sim/prune/model_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace sptc::prune {
namespace {

using sparsity::Criterion;
using sparsity::Mask;

/// What pruning does to the weights of a layer.
void tell(const base::Matrix<float>& weights, const Mask& mask, LayerReport& report) {
  report.zeros_before = report.zeros_after = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const bool is_zero = weights.data()[i] == 0;
    report.zeros_before += is_zero;
    report.zeros_after += is_zero || mask.data()[i] == 0;
  }
  report.kept = sparsity::kept_share(weights, mask);
}

/// A model on its way from one file to another.
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
    report_.model = model_->shown();
    report_.pattern = pattern_;
    report_.criterion = options.criterion;
    report_.layout = options.layout;
  }

  PruneReport run(const std::filesystem::path& out, const std::filesystem::path& masks) {
    open(out, masks);
    for (std::size_t i = 0; i < model_->tensors().size(); ++i) {
      const auto layer = layers_.find(i);
      if (layer == layers_.end()) {
        ++report_.other_tensors;
        copy(i);
      } else if (!layer->second.skipped.empty()) {
        report_.layers.push_back(described(layer->second));
        report_.layers.back().skipped = layer->second.skipped;
        copy(i);
      } else {
        prune(layer->second);
      }
    }
    require_effect();
    if (writer_) {
      writer_->finish();
    }
    if (masks_) {
      masks_->finish();
    }
    return std::move(report_);
  }

 private:
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
      note_files_left(out);
      require_other_file("--out", out, calibration_.files());
      const bool dense = options_.layout == WeightLayout::kDense;
      if (!dense && (out.extension() == ".onnx" || out.extension() == ".npy")) {
        throw base::InputError(
            fmt::format("--out {}: compressed weights are written to .safetensors or .npz",
                        io::printable(out.string())));
      }
      std::map<std::string, std::string> metadata = model_->metadata();
      if (!dense) {
        metadata[std::string(kFormsKey)] =
            forms.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
      }
      writer_ = make_writer(out, *model_, std::move(tensors), metadata);
      report_.out = io::printable(out.string());
    }
    if (!masks.empty()) {
      if (masks.extension() != ".safetensors" && masks.extension() != ".npz") {
        throw base::InputError(fmt::format("--masks {}: its ending must be .safetensors or .npz",
                                           io::printable(masks.string())));
      }
      require_other_file("--masks", masks, model_->files());
      require_other_file("--masks", masks, calibration_.files());
      if (io::is_same_file(masks, out)) {
        throw base::InputError("--masks and --out name the same file");
      }
      masks_ = make_writer(masks, *model_, std::move(mask_tensors), {});
    }
  }

  /// Of the directory of a model its tensors are written, and nothing else.
  void note_files_left(const std::filesystem::path& out) {
    constexpr std::size_t kMostNamed = 8;
    if (out.has_extension() && !model_->is_sharded()) {
      return;
    }
    std::set<std::string> left;
    std::error_code error;
    const std::filesystem::path folder = model_->files().front().parent_path();
    for (const auto& entry :
         std::filesystem::directory_iterator(folder.empty() ? "." : folder, error)) {
      const std::string name = entry.path().filename().string();
      const bool is_read = std::any_of(model_->files().begin(), model_->files().end(),
                                       [&](const auto& file) { return file.filename() == name; });
      if (entry.is_regular_file(error) && !is_read) {
        left.insert(io::printable(name));
      }
    }
    if (!left.empty()) {
      const auto end =
          std::next(left.begin(), static_cast<std::ptrdiff_t>(std::min(kMostNamed, left.size())));
      report_.notes.push_back(fmt::format(
          "not copied from the directory of the model: {}{}", fmt::join(left.begin(), end, ", "),
          left.size() > kMostNamed ? fmt::format(" and {} more", left.size() - kMostNamed) : ""));
    }
  }

  void copy(std::size_t tensor) {
    if (writer_) {
      writer_->add(permutation_.read(*model_, tensor));
    }
  }

  LayerReport described(const ChosenLayer& layer) const {
    LayerReport report;
    report.name = layer.name;
    report.dtype = layer.packed ? model_->tensors()[layer.tensor].entry.dtype
                                : std::string(numerics::name(layer.type));
    report.rows = layer.layout.stacked ? layer.layout.matrix_rows() : layer.layout.rows;
    report.taps = layer.layout.stacked ? 1 : layer.layout.taps;
    report.k = layer.layout.k;
    return report;
  }

  void prune(const ChosenLayer& layer) {
    io::Tensor tensor = permutation_.read(*model_, layer.tensor);
    io::Tensor mask{tensor.name, "BOOL", tensor.shape, {}};
    mask.bytes.resize(masks_ ? static_cast<std::size_t>(tensor.elements()) : 0);
    const base::Matrix<float>* const inputs =
        calibration_.inputs(tensor.name, layer.layout, options_.criterion != Criterion::kMagnitude,
                            permutation_.order_of_k(layer.tensor));
    LayerReport report = described(layer);
    report.permutation = permutation_.report(layer.tensor);
    prune(layer, inputs, tensor, mask, report);
    report.was_sparse = report.zeros_after == report.zeros_before;
    report_.layers.push_back(std::move(report));
    write(layer, tensor, mask);
  }

  /// Without `inputs` by magnitude.
  void prune(const ChosenLayer& layer, const base::Matrix<float>* inputs, io::Tensor& tensor,
             io::Tensor& mask, LayerReport& report) const {
    const base::Matrix<float> weights = load_weights(tensor, layer.type, layer.layout);
    Mask chosen;
    if (options_.criterion == Criterion::kSparseGpt) {
      sparsity::PrunedWeights result = sparsity::prune_by_sparse_gpt(weights, *inputs, pattern_);
      chosen = std::move(result.mask);
      store_weights(result.weights, layer.layout, tensor, layer.type);
    } else {
      chosen = sparsity::select(options_.criterion == Criterion::kWanda
                                    ? sparsity::wanda_scores(weights, *inputs)
                                    : sparsity::magnitudes(weights),
                                pattern_);
      apply_mask(chosen, layer.layout, layer.type, tensor.bytes);
    }
    tell(weights, chosen, report);
    if (!mask.bytes.empty()) {
      store_mask(chosen, layer.layout, mask.bytes);
    }
    if (inputs != nullptr) {
      report.output_error =
          sparsity::output_error(weights, load_weights(tensor, layer.type, layer.layout), *inputs);
    }
  }

  void write(const ChosenLayer& layer, const io::Tensor& tensor, const io::Tensor& mask) {
    if (masks_) {
      masks_->add(mask);
    }
    if (writer_ && options_.layout == WeightLayout::kDense) {
      writer_->add(tensor);
    } else if (writer_) {
      const CompressedForm form = form_of_layer(layer, options_);
      const sparsity::CompressedMatrix matrix = sparsity::compress(
          words_of_layer(tensor, layer.type, layer.layout, form.type), form.type);
      for (const io::Tensor& part : compressed_tensors(tensor.name, matrix, form)) {
        writer_->add(part);
      }
    }
  }

  /// A model that has the pattern everywhere comes out as it went in.
  void require_effect() const {
    const bool any = std::any_of(
        report_.layers.begin(), report_.layers.end(),
        [](const LayerReport& layer) { return layer.skipped.empty() && !layer.was_sparse; });
    if (!any && !permutation_.applies() && writer_ && options_.layout == WeightLayout::kDense) {
      throw base::InputError(
          fmt::format("{}: its layers are {} already, so there is nothing to prune",
                      model_->shown(), pattern_.name()));
    }
  }

  const PruneOptions& options_;
  sparsity::WeightPattern pattern_;
  std::unique_ptr<ModelFile> model_;
  Calibration calibration_;
  std::map<std::size_t, ChosenLayer> layers_;  ///< by tensor
  ChannelPermutation permutation_;
  std::unique_ptr<ModelWriter> writer_, masks_;
  PruneReport report_;
};

}  // namespace

double LayerReport::error() const {
  return output_error.value_or(std::sqrt(std::max(0.0, 1 - kept.energy)));
}

std::int64_t PruneReport::pruned_layers() const {
  return std::count_if(layers.begin(), layers.end(),
                       [](const LayerReport& layer) { return layer.skipped.empty(); });
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
    throw base::InputError(
        fmt::format("the criterion {} needs --activations, the inputs of the layers",
                    sparsity::name(options.criterion)));
  }
  return Pruning(model, options).run(out, masks);
}

}  // namespace sptc::prune
