// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/channel_permutation.h"
#include "sim/prune/prune_options.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sptc::prune {

struct LayerReport {
  std::string name;
  std::string dtype;
  std::int64_t rows = 0, taps = 1, k = 0;
  std::string skipped;      ///< why it stays as it was; empty: pruned
  bool was_sparse = false;  ///< it had the pattern already
  std::int64_t zeros_before = 0, zeros_after = 0;
  sparsity::KeptShare kept;
  std::optional<double> output_error;  ///< ||X W' - X W|| / ||X W|| of the calibration inputs X
  double output_norm = 0;              ///< ||X W|| of these
  std::optional<PermutationReport> permutation;

  std::int64_t weights() const { return rows * taps * k; }
  /// The output error; of inputs that are not known, as of white noise: the root of the share of the energy that goes.
  double error() const;
};

struct PruneReport {
  std::string model, out;
  sparsity::WeightPattern pattern;
  sparsity::Criterion criterion = sparsity::Criterion::kMagnitude;
  WeightLayout layout = WeightLayout::kDense;
  std::vector<LayerReport> layers;
  std::int64_t other_tensors = 0;  ///< copied as they are
  std::vector<std::string> notes;  ///< one sentence each

  std::int64_t pruned_layers() const;
  std::int64_t pruned_weights() const;
};

/// A table of the layers and what they lose.
std::string prune_text(const PruneReport& report);

/// One JSON object (schema "sptcsim-prune/0.1", configs/schema/prune.schema.json).
std::string prune_json(const PruneReport& report);

/// One page that needs no network: sim/prune/prune.html with `report`. `command` repeats it.
std::string prune_page(const PruneReport& report, const std::string& command);

/// Prunes the model at `model` and writes it to `out` and the masks of its layers to `masks`; an empty path is not
/// written. Files appear when all is done. Throws InputError.
PruneReport prune_model(const std::filesystem::path& model, const std::filesystem::path& out,
                        const std::filesystem::path& masks, const PruneOptions& options);

}  // namespace sptc::prune
