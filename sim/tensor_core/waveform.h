// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/tensor_core/operand_registers.h"
#include "sim/tensor_core/tensor_core.h"
#include "sim/tensor_core/vcd_dump.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::tensor_core {

/// Element of D of every fragment of an instruction.
struct WaveformElement {
  int row = 0, col = 0;
};

/// What a waveform taps of a sub-partition.
struct WaveformTaps {
  std::string name;  ///< "sub_partition0"
  const base::Clock& clock;
  const TensorCoreSpec& spec;
  int dispatch_queue = 0;  ///< instructions that may wait behind the scheduler
  base::Wire<MmaIssue>& issue;
  base::Wire<OperandsReadToken>& operands_read;
  TensorCore& core;
  base::Wire<MmaDoneToken>& done;
  const OperandRegisters& registers;
  std::function<std::int64_t(int warp_slot)> cta_of;
  std::function<int(int warp_slot)> warp_of;
};

/// Shows one element of D of every instruction on its way through the tensor cores of an SM: the
/// metadata of its row, which rows of B it selects, the operands that meet, their products and
/// largest exponent, the aligned addends and their sum, the rounded word. A signal changes when its
/// stage has worked and holds until the stage works again; `valid` is high in the cycle in which a
/// stage hands on. Groups and products that an instruction does not have, and values where only
/// time is simulated, are undefined.
class Waveform {
 public:
  Waveform(const LogWindow& window, const WaveformElement& element)
      : element_(element), dump_(window) {}
  Waveform(const Waveform&) = delete;
  Waveform& operator=(const Waveform&) = delete;

  /// All that `taps` names must outlive the simulation.
  void observe(const WaveformTaps& taps);
  /// Of the cycles [begin, end) of a tensor core: what it does or waits for.
  void show_stall(const std::string& partition, std::int64_t begin, std::string_view reason);
  /// Name of the operation whose instructions follow.
  void set_operation(std::string_view name) { operation_ = name; }

  const WaveformElement& element() const { return element_; }
  /// Value Change Dump.
  std::string text() const { return dump_.text(period_ps_); }
  /// For GTKWave: groups of the signals of `vcd_file`.
  std::string save_file(const std::string& vcd_file) const {
    return dump_.save_file(vcd_file, period_ps_);
  }

 private:
  class Partition;

  WaveformElement element_;
  VcdDump dump_;
  std::int64_t period_ps_ = 1;
  std::string operation_;
  std::vector<std::shared_ptr<Partition>> partitions_;
};

}  // namespace sptc::tensor_core
