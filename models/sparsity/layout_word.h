// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sptc::sparsity {

/// The word for the layout of metadata that `word` means: "cutlass" for "reordered", "ptx" for
/// "lanes"; any other is itself. Throws InputError for that of CUTLASS 3.x, which is not known
/// here.
std::string_view layout_word(std::string_view word);

}  // namespace sptc::sparsity
