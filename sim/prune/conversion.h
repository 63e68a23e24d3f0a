// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/prune_options.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sptc::prune {

struct ConversionReport {
  std::string model, out;
  WeightLayout layout = WeightLayout::kDense;
  std::int64_t layers = 0;         ///< in another form than before
  std::int64_t other_tensors = 0;  ///< copied as they are
  std::vector<std::string> notes;  ///< one sentence each
};

/// Writes the model at `model` to `out` with its weights in `options.layout`. Weights that a file of ours, or a
/// checkpoint of another package, holds compressed or quantised are taken from there; of a model without such, those
/// that `options` choose, which must have the pattern already where the layout asks for it. Throws InputError, also
/// where the layout does not hold a weight.
ConversionReport convert_model(const std::filesystem::path& model, const std::filesystem::path& out,
                               const PruneOptions& options);

std::string conversion_text(const ConversionReport& report);
/// One JSON object (schema "sptcsim-convert/0.1").
std::string conversion_json(const ConversionReport& report);

}  // namespace sptc::prune
