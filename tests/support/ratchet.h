// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace sptc::support {

/// The errors of tests/fidelity/errors.csv by name.
inline const std::map<std::string, double>& recorded_errors() {
  static const std::map<std::string, double> errors = [] {
    std::map<std::string, double> rows;
    std::ifstream file(SPTC_SOURCE_DIR "/tests/fidelity/errors.csv");
    std::string line;
    std::getline(file, line);  // name,error
    while (std::getline(file, line)) {
      const std::size_t comma = line.rfind(',');
      rows[line.substr(0, comma)] = std::stod(line.substr(comma + 1));
    }
    return rows;
  }();
  return errors;
}

/// An error [%] that may not get worse by more than 0.3 points than the recorded one of that name,
/// which has four digits. Says what moved. scripts/update_errors.py writes smaller ones back, by
/// way of $SPTC_ERRORS.
inline void expect_no_worse(const std::string& name, double error) {
  constexpr double kPoints = 0.3, kOfFourDigits = 5e-4;
  if (const char* const file = std::getenv("SPTC_ERRORS")) {
    std::ofstream(file, std::ios::app) << name + "," + std::to_string(error) + "\n";
  }
  const auto recorded = recorded_errors().find(name);
  ASSERT_NE(recorded, recorded_errors().end()) << "no row '" << name << "' in errors.csv";
  const bool moved = std::abs(error - recorded->second) > kOfFourDigits * recorded->second;
  std::printf("%s: %.4g%s\n", name.c_str(), error,
              moved ? (", moved from " + std::to_string(recorded->second)).c_str() : "");
  EXPECT_LE(error, recorded->second + kPoints)
      << name << ": was " << recorded->second << " (scripts/update_errors.py --accept records it where that is meant)";
}

}  // namespace sptc::support
