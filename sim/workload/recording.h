// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/dim_lists.h"
#include "sim/workload/input_stream.h"
#include "sim/workload/workload_text.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sptc::workload {

/// What was understood of a recording, and what was not. The launches that were not taken stand in
/// the workload.
struct Account {
  std::string format;              ///< empty: a workload of our own, which needs no account
  std::string gpu;                 ///< as the recording names it; may be empty
  std::string arch;                ///< the board that the name means; empty where it means none
  double kernels_us = 0;           ///< of all kernels that were recorded; 0: no times
  std::vector<std::string> notes;  ///< one sentence each: grounds and choices
};

struct Recording {
  Workload workload;
  /// The workload as JSON with expressions of its dimensions, where they are known; else empty.
  std::string parametric;
  Account account;
};

struct ImportOptions {
  NamedDims dims{};                                           ///< --dim NAME=V
  std::map<std::string, std::vector<std::int64_t>> inputs{};  ///< --input NAME=1,3,640,640
  bool tf32 = false;  ///< f32 GEMMs whose kernel is not recorded run as TF32
  Convention convention = Convention::kWeightFirst;  ///< of a CSV of m, n, k
};

/// Whether `input` is what another program recorded, or a workload in JSON, which may hold recorded
/// times, and no table of our own.
bool is_recording(const InputStream& input);

/// Reads a workload of our own, or what another program recorded. The format is recognised by
/// content. Throws InputError; also where nothing can be simulated.
Recording read_recording(const std::filesystem::path& path, const ImportOptions& options = {});
/// The same from an open stream.
Recording read_recording(InputStream& input, const ImportOptions& options = {});

/// Reads `path` once for each combination of the values in `lists`, the last dimension fastest.
/// `options` has no dimensions of its own. Throws InputError, also for several combinations of
/// standard input.
std::vector<Recording> read_recordings(const std::filesystem::path& path, const DimLists& lists,
                                       const ImportOptions& options = {});

}  // namespace sptc::workload
