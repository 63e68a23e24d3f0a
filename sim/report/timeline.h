// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/passage_log.h"

#include <string>

namespace sptc::report {

/// Trace events in JSON, for Perfetto (ui.perfetto.dev) and Chrome. The SM has a track for each stage of each tensor
/// core, and one for each warp. It also has a track of its copies, and a counter of the instructions under way. The
/// memory of all SMs has tracks of what L2 and DRAM do, and counters of their bytes. A microsecond of the viewer is a
/// cycle. A long log has what tensor cores and warps do or wait for in stretches of cycles, and counters.
std::string timeline_json(const gpu::PassageLog& log);

/// The same for Konata, Kanata 0004. A row shows an instruction, its stages, and what it waits for in lane 1. An arrow
/// comes from the instruction whose accumulator it takes.
std::string konata_log(const gpu::PassageLog& log);

}  // namespace sptc::report
