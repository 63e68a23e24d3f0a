// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/layer_choice.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sptc::prune {

/// What an order of channels does for the layers that share it: the share of the magnitude that the pattern keeps of
/// them together.
struct PermutationReport {
  std::string group;  ///< the first of them
  bool applied = false;
  double magnitude_before = 0, magnitude_after = 0;
};

/// Orders of channels of the tensors of a model, which leave its function as it is.
struct ChannelPermutation {
  struct Axis {
    std::size_t axis = 0;
    bool is_k = false;
    std::vector<std::size_t> order;  ///< as permute_axis() takes it
  };
  std::map<std::size_t, std::vector<Axis>> axes;  ///< by tensor
  std::map<std::size_t, PermutationReport> reports;
  std::vector<std::string> notes;  ///< which channels stay in their order, and why; a sentence each

  /// A tensor of `model`, its axes in their new order.
  io::Tensor read(const ModelFile& model, std::size_t tensor) const;
  /// The order of k of a layer; empty where it stays.
  std::span<const std::size_t> order_of_k(std::size_t tensor) const;
  std::optional<PermutationReport> report(std::size_t tensor) const;
};

/// Finds the orders that `options.permute` asks for. Throws InputError for a rule that names no tensor, or tensors
/// whose extents do not go together, for "auto" where neither a graph nor names say which channels go together, and for
/// V:N:M.
ChannelPermutation plan_permutation(const ModelFile& model, const std::map<std::size_t, ChosenLayer>& layers,
                                    const PruneOptions& options);

}  // namespace sptc::prune
