// SPDX-License-Identifier: Apache-2.0
//
// One reader per format. Each fills the workload and the account from the whole stream, and throws
// InputError "file: place: ..." for what it cannot make sense of.
#pragma once

#include "sim/workload/recording.h"

#include <string_view>
#include <vector>

namespace sptc::workload {

/// The keys of the JSON object that `head` begins, as far as it goes; none where it begins none.
std::vector<std::string> top_level_keys(std::string_view head);

/// A PyTorch profile: the JSON that torch.profiler exports.
void read_kineto(InputStream& input, const ImportOptions& options, Recording& recording);
/// A PyTorch execution trace: the JSON of ExecutionTraceObserver.
void read_execution_trace(InputStream& input, const ImportOptions& options, Recording& recording);
/// Logs of cuBLASLt, cuBLAS, cuSPARSELt, hipBLASLt and rocBLAS, also mixed with other output.
bool is_blas_log(std::string_view head);
void read_blas_log(InputStream& input, const ImportOptions& options, Recording& recording);
/// A config.json of Hugging Face: the GEMMs of one pass of the model.
void read_transformer_config(InputStream& input, const ImportOptions& options,
                             Recording& recording);
/// The CSV of cutlass_profiler: of each problem the fastest kernel.
bool is_cutlass_profile(std::string_view head);
void read_cutlass_profile(InputStream& input, const ImportOptions& options, Recording& recording);

/// A topology of SCALE-Sim: GEMMs or convolutions.
bool is_scale_sim(std::string_view head);
void read_scale_sim(InputStream& input, const ImportOptions& options, Recording& recording);

/// A .traceg of Accel-Sim: says the mix of its instructions, and that nothing of it is simulated.
bool is_sass_trace(std::string_view head);
void read_sass_trace(InputStream& input, const ImportOptions& options, Recording& recording);

/// The SQLite export of Nsight Systems: times by kernel; shapes where NVTX ranges say them.
void read_nsys(InputStream& input, const ImportOptions& options, Recording& recording);
/// An ONNX model: the GEMMs of one pass. Open dimensions are those of `options`.
bool is_onnx(std::string_view head);
void read_onnx(InputStream& input, const ImportOptions& options, Recording& recording);

}  // namespace sptc::workload
