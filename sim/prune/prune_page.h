// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/prune_model.h"

#include <string>

namespace sptc::prune {

/// One page that needs no network: sim/prune/prune.html with `pruned`. `command` repeats it.
std::string prune_page(const PruneReport& pruned, const std::string& command);

}  // namespace sptc::prune
