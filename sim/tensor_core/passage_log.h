// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/tensor_core/tensor_core.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sptc::tensor_core {

/// A stage at work on a step of an instruction; `end` is excluded.
struct LoggedStage {
  enum class Kind : std::uint8_t { kFetch, kSelect, kMultiply, kAlignAdd, kRound };
  Kind kind = Kind::kFetch;
  int step = 0;
  std::int64_t begin = 0, end = 0;  ///< cycles
};

/// One matrix instruction on its way through a tensor core.
struct LoggedMma {
  int partition = 0, warp_slot = 0;
  int accumulator = 0;  ///< first register of D
  std::int64_t issued = 0;
  std::int64_t done = -1;  ///< -1: not before the end of the log
  std::vector<LoggedStage> stages;
};

/// The cycles [first, last) of a log.
struct LogWindow {
  std::int64_t first = 0, last = 20'000;
};

/// Which stage of the tensor cores of one SM works on which instruction in which cycle. An
/// instruction is logged where it is issued in the window.
class PassageLog {
 public:
  explicit PassageLog(const LogWindow& window) : window_(window) {}

  /// Taps the wires of `core`, of its `issue` and of `done`. All must outlive the simulation.
  void observe(int partition, const base::Clock& clock, const TensorCoreSpec& spec,
               base::Wire<MmaIssue>& issue, TensorCore& core, base::Wire<MmaDoneToken>& done);

  const std::vector<LoggedMma>& instructions() const { return instructions_; }
  /// PTX name of the first instruction; empty: none was issued.
  const std::string& name() const { return name_; }
  const LogWindow& window() const { return window_; }

 private:
  void add(int partition, std::uint64_t id, const LoggedStage& stage);

  LogWindow window_;
  std::string name_;
  std::vector<LoggedMma> instructions_;
  std::map<std::pair<int, std::uint64_t>, std::size_t> under_way_;
};

}  // namespace sptc::tensor_core
