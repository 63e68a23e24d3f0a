// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/evidence.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/io/json_reader.h"

namespace sptc::config {

/// Collects what no single number of an architecture can get wrong: numbers that contradict each
/// other, and those without effect beside others. `root` is the place of the file.
void check_consistency(const gpu::GpuSpec& gpu, const io::JsonPlace& root, ErrorList& errors);

}  // namespace sptc::config
