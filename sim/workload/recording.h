// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/input_stream.h"
#include "sim/workload/workload.h"

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
  Account account;
};

struct ImportOptions {
  std::map<std::string, std::int64_t> dims{};                 ///< --dim NAME=V
  std::map<std::string, std::vector<std::int64_t>> inputs{};  ///< --input NAME=1,3,640,640
  bool tf32 = false;  ///< f32 GEMMs whose kernel is not recorded run as TF32
};

/// Whether `input` is what another program recorded, or a workload in JSON, which may hold recorded
/// times, and no table of our own.
bool is_recording(const InputStream& input);

/// Reads a workload of our own, or what another program recorded. The format is recognised by
/// content. Throws InputError; also where nothing can be simulated.
Recording read_recording(const std::filesystem::path& path, const ImportOptions& options = {});
/// The same from an open stream.
Recording read_recording(InputStream& input, const ImportOptions& options = {});

}  // namespace sptc::workload
