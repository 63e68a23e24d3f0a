// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace sptc::cli {

/// Options of the commands that compare words of matrix instructions, as typed.
struct ComparisonOptions {
  std::string profile = "hardware";
  std::string format = "text";
  std::string out;

  void add_to(CLI::App& command);
  /// Throws InputError for an unknown format or profile, and where `out` cannot be written.
  void require_valid() const;
  bool is_json() const { return format == "json"; }
};

}  // namespace sptc::cli
