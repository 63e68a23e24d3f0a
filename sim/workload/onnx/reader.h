// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/input/input_stream.h"
#include "sim/workload/recording.h"

#include <string_view>

namespace sptc::workload::onnx {

/// An ONNX model: the GEMMs of one pass. Open dimensions are those of `options`.
/// Throws InputError "file: place: ..." for what it cannot make sense of.
bool is_onnx(std::string_view head);
void read_onnx(input::InputStream& input, const ImportOptions& options, Recording& recording);

}  // namespace sptc::workload::onnx
