// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

namespace sptc::workload {

/// A weight of a model, and the operations of a workload that have it: by name, all launches, or as
/// "name[i]", launch i of them.
struct ListedLayer {
  std::string tensor;
  std::vector<std::string> operations;  ///< none: the one called as the tensor is
  std::size_t line = 0;                 ///< of its file
};

/// The layer of a weight: "fc1" of "fc1.weight". Other names are those of layers.
std::string_view layer_of(std::string_view tensor);

/// A line for each layer: its tensor, and behind tabs its operations. Blank lines and those that
/// begin with '#' say nothing. Throws InputError, also where no layer is listed, or one twice.
std::vector<ListedLayer> read_layer_list(const std::filesystem::path& file);

/// What read_layer_list() reads, behind `remarks`. Throws InputError for names no line can hold.
std::string layer_list_text(std::span<const ListedLayer> layers, std::string_view remarks);

/// Lets only the weights of `layers` be pruned; an operation of which some launches are listed is
/// cut in two. Throws InputError for a layer that is no weight of `operations`, or not 2:4.
void prune_only_listed(std::span<const ListedLayer> layers, const std::filesystem::path& file,
                       std::vector<Operation>& operations, std::vector<VectorOperation>& vectors);

}  // namespace sptc::workload
