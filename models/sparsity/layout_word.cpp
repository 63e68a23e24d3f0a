// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/layout_word.h"

#include "models/base/error.h"

namespace sptc::sparsity {

std::string_view layout_word(std::string_view word) {
  if (word.starts_with("cutlass3") || word.starts_with("cutlass-3")) {
    throw base::InputError(
        "the layout of CUTLASS 3.x, metadata of wgmma and tcgen05, is not known here; 'cutlass' is "
        "that of CUTLASS 2.x");
  }
  return word == "reordered" ? "cutlass" : word == "lanes" ? "ptx" : word;
}

}  // namespace sptc::sparsity
