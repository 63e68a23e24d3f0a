// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/model_file.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::prune {

/// A weight that a checkpoint holds compressed or quantised in several tensors, none of which is the weight itself:
/// zeros in any of them would corrupt it.
struct PackedWeight {
  std::string name;              ///< of the weight: what its tensors have in common
  std::string_view format;       ///< "sparse-24-bitmask", "GPTQ", ...
  bool sparse = false;           ///< 2:4 already
  std::int64_t rows = 0, k = 0;  ///< of the weight itself; 0: not known
  std::size_t tensor = 0;        ///< the one with its values
  std::set<std::size_t> parts;   ///< all of its tensors

  /// Why it is left as it is.
  std::string reason() const;
};

/// Those of `model`, by names and types of its tensors, in the order of their values.
std::vector<PackedWeight> packed_weights(const ModelFile& model);

}  // namespace sptc::prune
