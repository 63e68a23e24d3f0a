// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/prune_options.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace sptc::prune {

/// What convert_model() did.
struct ConversionReport {
  std::string model, out;
  WeightLayout layout = WeightLayout::kDense;
  std::int64_t layers = 0;         ///< in another form than before
  std::int64_t other_tensors = 0;  ///< copied as they are
};

/// Writes the model at `model` to `out` with its compressed layers in `options.layout`. Layers that
/// a safetensors file of ours holds compressed are taken from there; of a file without such, those
/// that `options` choose, which must have the pattern already. Throws InputError.
ConversionReport convert_model(const std::filesystem::path& model, const std::filesystem::path& out,
                               const PruneOptions& options);

std::string conversion_text(const ConversionReport& report);
/// One JSON object (schema "sptcsim-convert/0.1").
std::string conversion_json(const ConversionReport& report);

}  // namespace sptc::prune
