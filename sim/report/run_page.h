// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/run_result.h"

#include <string>

namespace sptc::report {

/// One page that needs no network: sim/report/run.html with the result of a run on `gpu`.
/// `command` repeats it; empty: not known.
std::string run_page(const run::RunResult& result, const gpu::GpuSpec& gpu,
                     const std::string& command);

}  // namespace sptc::report
