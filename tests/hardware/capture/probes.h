// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "tests/hardware/capture/capture_writer.h"
#include "tests/hardware/capture/device.h"

#include <filesystem>

namespace sptc::hardware {

/// Runs the directed inputs of `probes` (tests/hardware/probes.json) on `device` and writes
/// probes.json of the capture: the word of element (0, 0), and which hypotheses predicted it.
/// Throws InputError where the file cannot be understood.
ItemOutcome capture_probes(const CaptureWriter& writer, const std::filesystem::path& probes, const mma::Target& target,
                           Device& device);

}  // namespace sptc::hardware
