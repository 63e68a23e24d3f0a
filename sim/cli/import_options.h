// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/importer/recording_reader.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace sptc::cli {

/// How a file that may be a recording is read.
struct RecordingOptions {
  std::string file;
  std::vector<std::string> dims{}, inputs{};
  std::string convention = "weight-first";
  bool strict = false;
  bool tf32 = false;

  void add_to(CLI::App& command);
  /// Declares --dim and --input alone.
  void add_extents_to(CLI::App& command);
  workload::ImportOptions import_options() const;
  /// Reads the file and says on stderr what was taken and what was not, after `adjust` has moved
  /// launches to those that are not taken. Throws InputError.
  workload::Recording read(const std::function<void(workload::Recording&)>& adjust = {}) const;
};

}  // namespace sptc::cli
