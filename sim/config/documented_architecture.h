// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"

#include <nlohmann/json.hpp>

#include <string>

namespace sptc::config {

/// An architecture, and the completed document that it was read from, with its fitted design:
/// itself where it has no other.
struct DocumentedArchitecture {  // NOLINT(bugprone-exception-escape): json's move throws nothing
  Architecture value;
  nlohmann::json document;
};

/// Reads what load_architecture() finds.
DocumentedArchitecture load_documented_architecture(const std::string& name_or_path);

}  // namespace sptc::config
