// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/criterion.h"
#include "models/sparsity/permutation.h"
#include "models/sparsity/prune.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/prune/conversion.h"
#include "sim/prune/prune_model.h"
#include "sim/python/arrays.h"
#include "sim/python/bindings.h"
#include "sim/python/callbacks.h"
#include "sim/run/worker_pool.h"
#include "sim/workload/dense_role.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <string_view>
#include <vector>

namespace nb = nanobind;

namespace sptc::python {
namespace {

base::Matrix<float> floats_of(const Bits& array, std::string_view what) {
  const base::Matrix<numerics::Word> words = words_of(array, what);
  base::Matrix<float> values(words.rows(), words.cols());
  std::transform(words.data(), words.data() + words.size(), values.data(),
                 [](numerics::Word word) { return std::bit_cast<float>(word); });
  return values;
}

std::vector<std::size_t> permutation_search(const Bits& weights, std::uint64_t seed) {
  const base::Matrix<float> values = floats_of(weights, "a");
  sparsity::PermutationSearch search;
  search.seed = seed;
  return run::rows_of<std::size_t>(
      in_worker([&] { return run::bytes_of(sparsity::permutation_search(values, search).order); }));
}

/// Weights [rows, k] of float32 by a criterion, for inputs [samples, k] that magnitudes do without,
/// into `pruned`, and into the bytes of `mask` which of them stay.
void prune_weights(const Bits& dense, const Bits& calibration, const std::string& criterion, const std::string& pattern,
                   const Output& pruned, const Output& mask) {
  const nb::gil_scoped_release unlocked;
  const sparsity::Criterion by = sparsity::parse_criterion(criterion);
  const sparsity::WeightPattern kept = sparsity::parse_weight_pattern(pattern);
  const base::Matrix<float> inputs = floats_of(calibration, "inputs");
  sparsity::PrunedWeights result{floats_of(dense, "weights"), {}};
  if (by == sparsity::Criterion::kSparseGpt) {
    result = sparsity::prune_by_sparse_gpt(result.weights, inputs, kept);
  } else {
    result.mask = sparsity::select(by == sparsity::Criterion::kWanda ? sparsity::wanda_scores(result.weights, inputs)
                                                                     : sparsity::magnitudes(result.weights),
                                   kept);
  }
  base::Matrix<numerics::Word> words(result.mask.rows(), result.mask.cols());
  for (std::size_t i = 0; i < words.size(); ++i) {
    words.data()[i] = result.mask.data()[i] != 0 ? std::bit_cast<numerics::Word>(result.weights.data()[i]) : 0;
  }
  write_words(words, pruned);
  write_words(result.mask, mask);
}

int group_of(const std::string& pattern) {
  return sparsity::parse_weight_pattern(pattern).pattern.group;
}

}  // namespace

prune::PruneOptions pruning_options(OptionTexts words) {
  prune::PruneOptions options;
  if (words.contains("criterion")) {
    options.criterion = sparsity::parse_criterion(words["criterion"]);
  }
  if (words.contains("layout")) {
    options.layout = prune::parse_weight_layout(words["layout"]);
  }
  if (!words["pattern"].empty()) {
    options.pattern = sparsity::parse_weight_pattern(words["pattern"]);
  }
  if (!words["dtype"].empty()) {
    options.dtype = prune::parse_executed_type(words["dtype"]);
  }
  options.activations = words["activations"];
  options.layers = words["layers"];
  options.exclude = words["exclude"];
  options.include = words["include"];
  options.transposed = words["transposed"];
  options.k_axis = words["k_axis"];
  return options;
}

void bind_model_pruning(nb::module_& module) {
  module.def("prune_model", [](const std::string& model, OptionTexts words, const std::vector<std::string>& permute,
                               std::uint64_t seed) {
    const nb::gil_scoped_release unlocked;
    prune::PruneOptions options = pruning_options(words);
    options.permute = permute;
    options.seed = seed;
    return prune::prune_json(prune::prune_model(model, words["out"], words["masks"], options));
  });
  module.def("convert_model", [](const std::string& model, const std::string& out, const OptionTexts& words) {
    const nb::gil_scoped_release unlocked;
    return prune::conversion_json(prune::convert_model(model, out, pruning_options(words)));
  });
  module.def("permutation_search", permutation_search);
  module.def("prune_weights", prune_weights);
  module.def("group_of", group_of);
  module.def("dense_role", [](const std::string& name) { return std::string(workload::dense_role(name)); });
}

}  // namespace sptc::python
