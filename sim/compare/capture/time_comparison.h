// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::compare::capture {

enum class Quantity { kTime, kPower, kClock };

/// One measured figure of a capture and what the simulator says.
struct TimedRow {
  std::string group;    ///< "latency", "throughput", "shared memory", "gemm", "power"
  std::string subject;  ///< instruction; of a GEMM its types and library
  std::string point;    ///< "warps 4, ilp 3, zeros"
  std::string unit;     ///< "cycles", "FMA/clk/SM", "B/clk/SM", "us"
  bool sparse = false;
  bool is_rate = false;  ///< more is faster
  double measured = 0;
  std::optional<double> simulated = std::nullopt;
  std::string reason = {};  ///< why it is not simulated
  Quantity quantity = Quantity::kTime;

  /// simulated / measured - 1.
  std::optional<double> deviation() const;
};

/// Rows that do not fit the others, and what they have in common.
struct TimeFinding {
  /// "clock", "instruction", "sparse", "one-time", "inconsistent-row"; of power and of the clock at
  /// its limit "common-power", "one-power", "common-clock", "one-clock".
  std::string_view cause;
  std::string text;
};

/// Compares every row with the middle of its group: all of a group off by one factor, all rows of
/// an instruction, all sparse rows, or single rows, where they are further off than the spread of
/// the others (and than 2 %).
std::vector<TimeFinding> explain_times(const std::vector<TimedRow>& rows);

}  // namespace sptc::compare::capture
