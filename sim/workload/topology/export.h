// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

namespace sptc::workload::topology {

/// A row per GEMM: batches and launches that repeat, too. Throws InputError beyond a million rows.
std::string scale_sim_text(const Workload& workload);

/// A YAML document per operation; prunable weights have the density of their pattern.
std::string timeloop_text(const Workload& workload);

/// "workload", "scalesim" or "timeloop", in this order. Throws InputError.
enum class ExportFormat { kWorkload, kScaleSimRows, kTimeloopProblems };
ExportFormat parse_export_format(std::string_view name);

}  // namespace sptc::workload::topology
