// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/prune_model.h"

#include <string>

namespace sptc::report {

/// One page that needs no network: sim/report/prune.html with `pruned`. `command` repeats it.
std::string prune_page(const prune::PruneReport& pruned, const std::string& command);

}  // namespace sptc::report
