// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/coordinator.h"

namespace sptc::cli {

/// Draws the progress on a terminal, and prints a line now and then elsewhere.
class SweepProgressLine {
 public:
  explicit SweepProgressLine(bool quiet);
  ~SweepProgressLine();

  SweepProgressLine(const SweepProgressLine&) = delete;
  SweepProgressLine& operator=(const SweepProgressLine&) = delete;

  void update(const sweep::SweepProgress& progress);

 private:
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  double next_line_ = 0;
};

}  // namespace sptc::cli
