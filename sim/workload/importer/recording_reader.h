// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/dim_lists.h"
#include "sim/workload/input/input_stream.h"
#include "sim/workload/recording.h"

#include <filesystem>
#include <vector>

namespace sptc::workload::importer {

/// Whether `input` is what another program recorded, or a workload in JSON, which may hold recorded
/// times, and no table of our own.
bool is_recording(const input::InputStream& input);

/// Reads a workload of our own, or what another program recorded. The format is recognised by
/// content. Throws InputError; also where nothing can be simulated.
Recording read_recording(const std::filesystem::path& path, const ImportOptions& options = {});
/// The same from an open stream.
Recording read_recording(input::InputStream& input, const ImportOptions& options = {});

/// Reads `path` once for each combination of the values in `lists`, the last dimension fastest.
/// `options` has no dimensions of its own. Throws InputError, also for several combinations of
/// standard input.
std::vector<Recording> read_recordings(const std::filesystem::path& path, const DimLists& lists,
                                       const ImportOptions& options = {});

}  // namespace sptc::workload::importer
