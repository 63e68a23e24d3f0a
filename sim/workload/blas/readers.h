// SPDX-License-Identifier: Apache-2.0
//
// One reader per format. Each fills the workload and the account from the whole stream, and throws
// InputError "file: place: ..." for what it cannot make sense of.
#pragma once

#include "sim/workload/input/input_stream.h"
#include "sim/workload/recording.h"

#include <string_view>

namespace sptc::workload::blas {

/// Logs of cuBLASLt, cuBLAS, cuSPARSELt, hipBLASLt and rocBLAS, also mixed with other output.
bool is_blas_log(std::string_view head);
void read_blas_log(input::InputStream& input, const ImportOptions& options, Recording& recording);

/// The CSV of cutlass_profiler: of each problem the fastest kernel.
bool is_cutlass_profile(std::string_view head);
void read_cutlass_profile(input::InputStream& input, const ImportOptions& options,
                          Recording& recording);

}  // namespace sptc::workload::blas
