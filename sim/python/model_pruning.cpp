// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/permutation.h"
#include "sim/prune/conversion.h"
#include "sim/prune/prune_model.h"
#include "sim/python/arrays.h"
#include "sim/python/bindings.h"
#include "sim/python/callbacks.h"
#include "sim/run/worker_pool.h"

#include <bit>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace sptc::python {
namespace {

std::vector<std::size_t> permutation_search(const Bits& weights, std::uint64_t seed) {
  const base::Matrix<numerics::Word> words = words_of(weights, "a");
  base::Matrix<float> values(words.rows(), words.cols());
  for (std::size_t i = 0; i < words.size(); ++i) {
    values.data()[i] = std::bit_cast<float>(words.data()[i]);
  }
  sparsity::PermutationSearch search;
  search.seed = seed;
  return run::rows_of<std::size_t>(
      in_worker([&] { return run::bytes_of(sparsity::permutation_search(values, search).order); }));
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
  module.def("prune_model", [](const std::string& model, OptionTexts words,
                               const std::vector<std::string>& permute, std::uint64_t seed) {
    const nb::gil_scoped_release unlocked;
    prune::PruneOptions options = pruning_options(words);
    options.permute = permute;
    options.seed = seed;
    return prune::prune_json(prune::prune_model(model, words["out"], words["masks"], options));
  });
  module.def("convert_model", [](const std::string& model, const std::string& out,
                                 const OptionTexts& words) {
    const nb::gil_scoped_release unlocked;
    return prune::conversion_json(prune::convert_model(model, out, pruning_options(words)));
  });
  module.def("permutation_search", permutation_search);
}

}  // namespace sptc::python
