// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/dim_lists.h"
#include "sim/workload/input/input_stream.h"
#include "sim/workload/recording.h"

namespace sptc::workload::importer {

/// Whether `input` is what another program recorded, or a workload in JSON, which may hold recorded
/// times, and no table of our own.
bool is_recording(const input::InputStream& input);

/// Reads a workload of our own, or what another program recorded. The format is recognised by
/// content. Throws InputError; also where nothing can be simulated.
Recording read_recording(const std::filesystem::path& path, const ImportOptions& options = {});
Recording read_recording(input::InputStream& input, const ImportOptions& options = {});

/// Reads `path` once for each combination of `lists`, the last dimension fastest. Throws
/// InputError, also for several of standard input.
std::vector<Recording> read_recordings(const std::filesystem::path& path, const DimLists& lists,
                                       const ImportOptions& options = {});

/// What was taken, what was not and why, as a bounded_message() that ends with its line; of a
/// workload of our own the notes alone.
std::string account_text(const Recording& recording);

/// Throws InputError where something was not taken.
void require_all_taken(const Recording& recording);

}  // namespace sptc::workload::importer
