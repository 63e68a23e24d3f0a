// SPDX-License-Identifier: Apache-2.0
//
// One reader per format. Each fills the workload and the account from the whole stream, and throws
// InputError "file: place: ..." for what it cannot make sense of.
#pragma once

#include "sim/workload/input/input_stream.h"
#include "sim/workload/recording.h"

#include <cstddef>
#include <string_view>

namespace sptc::workload::profile {

/// Inputs of a call, extents of one and values that are kept; no operator needs more.
inline constexpr std::size_t kMaxInputs = 4096;

/// A PyTorch profile: the JSON that torch.profiler exports.
void read_kineto(input::InputStream& input, const ImportOptions& options, Recording& recording);

/// A PyTorch execution trace: the JSON of ExecutionTraceObserver.
void read_execution_trace(input::InputStream& input, const ImportOptions& options,
                          Recording& recording);

/// The SQLite export of Nsight Systems: times by kernel; shapes where NVTX ranges say them.
void read_nsys(input::InputStream& input, const ImportOptions& options, Recording& recording);

/// A .traceg of Accel-Sim: says the mix of its instructions, and that nothing of it is simulated.
bool is_sass_trace(std::string_view head);
void read_sass_trace(input::InputStream& input, const ImportOptions& options, Recording& recording);

}  // namespace sptc::workload::profile
