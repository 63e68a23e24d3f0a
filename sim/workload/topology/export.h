// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

#include <string>
#include <string_view>

namespace sptc::workload::topology {

/// `workload` as a GEMM topology of SCALE-Sim: a row per GEMM, so that a launch of a batch and
/// launches that repeat are rows of their own. Throws InputError for more than a million rows.
std::string scale_sim_text(const Workload& workload);

/// `workload` as problems of Timeloop: a YAML document per operation, convolutions as their
/// implicit GEMMs. Prunable weights have the density of the pattern that their type executes.
std::string timeloop_text(const Workload& workload);

/// What `import --to` writes: "workload", "scalesim" or "timeloop", in this order. Throws
/// InputError.
enum class ExportFormat { kWorkload, kScaleSimRows, kTimeloopProblems };
ExportFormat parse_export_format(std::string_view name);

}  // namespace sptc::workload::topology
