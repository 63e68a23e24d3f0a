// SPDX-License-Identifier: Apache-2.0
//
// One reader per format. Each fills the workload and the account from the whole stream, and throws
// InputError "file: place: ..." for what it cannot make sense of.
#pragma once

#include "sim/workload/input/input_stream.h"
#include "sim/workload/recording.h"

#include <string_view>

namespace sptc::workload::topology {

/// A topology of SCALE-Sim: GEMMs or convolutions.
bool is_scale_sim(std::string_view head);
void read_scale_sim(input::InputStream& input, const ImportOptions& options, Recording& recording);

/// A config.json of Hugging Face: the GEMMs of one pass of the model.
void read_transformer_config(input::InputStream& input, const ImportOptions& options,
                             Recording& recording);

}  // namespace sptc::workload::topology
