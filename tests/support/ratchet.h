// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

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

/// An error that may only get smaller: at most the recorded one of that name, which has four
/// digits. scripts/update_errors.py writes smaller ones back, by way of $SPTC_ERRORS.
inline void expect_no_worse(const std::string& name, double error) {
  constexpr double kOfFourDigits = 1 + 5e-4;
  if (const char* const file = std::getenv("SPTC_ERRORS")) {
    std::ofstream(file, std::ios::app) << name + "," + std::to_string(error) + "\n";
  }
  std::printf("%s: %.4g\n", name.c_str(), error);
  const auto recorded = recorded_errors().find(name);
  ASSERT_NE(recorded, recorded_errors().end()) << "no row '" << name << "' in errors.csv";
  EXPECT_LE(error, recorded->second * kOfFourDigits)
      << name << ": was " << recorded->second
      << " (scripts/update_errors.py --accept records it where that is meant)";
}

}  // namespace sptc::support
