// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/import/recording.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace sptc::sim {

/// How a file that may be a recording is read.
struct RecordingOptions {
  std::string file;
  std::vector<std::string> dims{}, inputs{};
  std::string convention = "weight-first";
  bool strict = false;
  bool tf32 = false;

  void add_to(CLI::App& command);
  /// Reads the file and says on stderr what was taken and what was not. Throws InputError.
  Recording read() const;
  Recording read(InputStream& input) const;
};

}  // namespace sptc::sim
