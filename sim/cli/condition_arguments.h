// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/simulation_options.h"

#include <CLI/CLI.hpp>

#include <string>

namespace sptc::sim {

/// Options of commands that launch kernels: under which conditions these run, as typed.
struct ConditionArguments {
  std::string l2 = "cold";
  std::string launch = "stream";
  std::string algorithm = "heuristic";
  std::string d_dtype;         ///< empty: as GemmProblem says
  std::string warmup, repeat;  ///< both empty: the steady state

  /// Declares all of them on `command`.
  void add_to(CLI::App& command);
  /// Writes them into `options`. Throws InputError.
  void set(SimulationOptions& options) const;
};

}  // namespace sptc::sim
