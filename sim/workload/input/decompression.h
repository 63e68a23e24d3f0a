// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/input/input_stream.h"

#include <memory>
#include <string>

namespace sptc::workload::input {

/// `source`, and what gzip, xz or zstd compressed in it, by content. Several members in a row are
/// one. `name` is for messages: data that end early or are damaged are InputErrors.
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         const std::string& name);

}  // namespace sptc::workload::input
