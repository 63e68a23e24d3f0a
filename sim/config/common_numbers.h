// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture_fields.h"

#include <nlohmann/json_fwd.hpp>

namespace sptc::sim {

/// An architecture document with the numbers that its file leaves out, where there is a place for
/// them: those of common/architecture.json in the configuration directory, which are the same for
/// every GPU that does not say otherwise, and those that follow from others:
///
///     selector_bytes_per_cycle   dot_units x dot_width_bytes
///     epilogue_bytes_per_cycle   sm_port_bytes_per_cycle
///
/// Throws InputError where the file of the common numbers cannot be read.
nlohmann::json with_common_numbers(nlohmann::json document);

/// Whether a file may leave `field` out.
bool may_be_left_out(const ArchitectureField& field);

}  // namespace sptc::sim
