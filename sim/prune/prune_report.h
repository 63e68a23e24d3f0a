// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/prune_model.h"

#include <string>

namespace sptc::prune {

/// A table of the layers and what they lose.
std::string prune_text(const PruneReport& report);

/// One JSON object (schema "sptcsim-prune/0.1", configs/schema/prune.schema.json).
std::string prune_json(const PruneReport& report);

}  // namespace sptc::prune
