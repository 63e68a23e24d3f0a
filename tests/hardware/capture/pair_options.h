// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/pair_programme.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace sptc::hardware {

/// The options of hardware_capture that say which pairs are timed.
class PairOptions {
 public:
  void add_to(CLI::App& app);
  /// Throws InputError. `data`: the folder tests/ of the repository.
  PairProgramme programme(const std::filesystem::path& data, std::uint64_t seed, bool quick) const;

 private:
  std::vector<std::string> dtypes_{"f16", "bf16", "s8", "e4m3"};
  std::vector<std::string> d_dtypes_;
  std::vector<std::string> l2_{"warm", "cold", "rotate:6"};
  std::vector<std::string> launches_{"stream", "graph", "eager"};
  std::vector<std::string> algorithms_{"heuristic", "best"};
  int warmup_ = 25;
  int repeat_ = 50;
  std::string shapes_;
  double minutes_ = 0;
};

}  // namespace sptc::hardware
